"""The float64 reference as a comparison asks it: as long as it answers, and the reason once it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from trueport.errors import NoOracle
from trueport.reference.base import NoReference, Oracle

__all__ = ["GuardedReference"]

_WITHOUT = "floats are compared with the source by declared bounds"


class GuardedReference:
    """An oracle that never raises: None is the answer where it can't evaluate the inputs.

    Once it fails before it has answered at all it is not asked again: its cost is that of a run of the model.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._why_not = oracle.name if isinstance(oracle, NoReference) else ""
        self._answers, self._failures = 0, Counter[str]()

    @property
    def name(self) -> str:
        """What it is, why there is none, or on how many inputs there is none, for the report."""
        if self._why_not or not self._failures:
            return self._why_not or self._oracle.name
        why, _ = self._failures.most_common(1)[0]
        count = self._failures.total()
        return f"{self._oracle.name}; none on {count} of {count + self._answers} inputs ({why}): there {_WITHOUT}"

    def __call__(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """Return the exact outputs and the noisy ones; None and nothing where a node has no reference."""
        if self._why_not:
            return None, []
        try:
            found = self._oracle.run(feeds)
        except NoOracle as error:
            why = f"no float64 reference for {error.where or 'the model'}: {error.why}"
            if self._answers:
                self._failures[why] += 1
            else:
                self._why_not = f"none: {why}; {_WITHOUT}"
            return None, []
        self._answers += 1
        return found

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return further noisy runs; none where rounding leads to a node without a reference."""
        try:
            return [] if self._why_not else self._oracle.more(feeds)
        except NoOracle:
            return []
