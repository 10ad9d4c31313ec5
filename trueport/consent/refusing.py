"""The one refusal of this package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueport.errors import Untrusted
from trueport.quoting import one_line

__all__ = ["refuse_without_trust"]

_SHOWN = 6
_CHARACTERS = 160
"""Of one reason: names in a file may be of any length."""


def refuse_without_trust(where: str | Path, reasons: Sequence[str], otherwise: str = "") -> None:
    """Raise `Untrusted` if there are reasons; each names what it found and says what that would do.

    ``otherwise``: what the user may do instead of trusting the file.
    """
    if not reasons:
        return
    distinct = list(dict.fromkeys(one_line(reason, _CHARACTERS) for reason in reasons))
    more = [f"{len(distinct) - _SHOWN} more"] * (len(distinct) > _SHOWN)
    raise Untrusted(
        "; ".join([*distinct[:_SHOWN], *more]),
        where=str(where),
        remedy="pass --trust (trust=True) if you know who made the file" + (f", or {otherwise}" if otherwise else ""),
    )
