"""The float64 reference as a comparison asks it: as long as it answers, and the reason once it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueport.errors import NoOracle
from trueport.reference.base import NoReference, Oracle

__all__ = ["GuardedReference"]

_WITHOUT = "floats are compared with the source by declared bounds"


class GuardedReference:
    """An oracle that never raises: None is the answer from the first inputs on that it can't evaluate."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._why_not = oracle.name if isinstance(oracle, NoReference) else ""

    @property
    def name(self) -> str:
        """What it is, or why there is none, for the report."""
        return self._why_not or self._oracle.name

    def __call__(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """Return the exact outputs and the noisy ones; None and nothing where a node has no reference."""
        if self._why_not:
            return None, []
        try:
            return self._oracle.run(feeds)
        except NoOracle as error:
            self._why_not = f"none: no float64 reference for {error.where or 'the model'}: {error.why}; {_WITHOUT}"
            return None, []

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return further noisy runs; none where rounding leads to a node without a reference."""
        try:
            return [] if self._why_not else self._oracle.more(feeds)
        except NoOracle:
            return []
