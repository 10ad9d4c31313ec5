"""Why a source takes none or only some of the inputs that were made, and what to pass instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trueport.ir.ports import Port
from trueport.verifying.inputs.sizes import open_dims

__all__ = ["some_rejected", "why_rejected"]

_SHOWN = 3
"""reasons that are told"""


def why_rejected(reasons: Counter[str], ports: Sequence[Port]) -> str:
    """Return why all inputs were rejected and what to pass; nothing if none was."""
    if not reasons:
        return ""
    dims = list(open_dims(ports))
    sizes = f", or sizes that it takes with --dims {dims[0]}=… ({', '.join(dims)})" if dims else ""
    return (
        f"the source rejects all {reasons.total()} inputs: {_told(reasons)}; "
        f"pass inputs of your own with --data FILE{sizes}"
    )


def some_rejected(reasons: Counter[str], taken: int) -> tuple[str, ...]:
    """Return a sentence about inputs that were left out, where others were compared."""
    if not reasons or not taken:
        return ()
    return (f"the source rejects {reasons.total()} of {reasons.total() + taken} inputs: {_told(reasons)}",)


def _told(reasons: Counter[str]) -> str:
    told = [f"{why} ({count} ×)" if len(reasons) > 1 else why for why, count in reasons.most_common(_SHOWN)]
    more = len(reasons) - _SHOWN
    return "; ".join(told) + (f"; {more} other reasons" if more > 0 else "")
