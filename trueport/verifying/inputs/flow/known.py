"""What is known of a value when a graph is followed for many candidate sizes at once: one number per candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "UNKNOWN",
    "Known",
    "Number",
    "common",
    "count_elements",
    "has_gaps",
    "is_varying",
    "plain",
    "relation",
    "remainder",
]

Number = Any
"""An integer or a float that is the same for all candidates, or an array with one per candidate."""


@dataclass(frozen=True)
class Known:
    """The shape of a value, and its elements or their bounds where they are made of sizes."""

    shape: tuple[Number | None, ...] | None = None
    """None as a dim: not known; None as the shape: not even the rank"""
    elements: tuple[Number, ...] | None = None
    """of a small tensor, in row-major order"""
    low: Number | None = None
    high: Number | None = None
    """the largest element, where the elements themselves are not kept"""

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def bounds(self) -> tuple[Number, Number] | None:
        """The smallest and the largest element."""
        if self.elements:
            lowest, highest = self.elements[0], self.elements[0]
            for element in self.elements[1:]:
                lowest, highest = np.minimum(lowest, element), np.maximum(highest, element)
            return lowest, highest
        return None if self.low is None or self.high is None else (self.low, self.high)


UNKNOWN = Known()


def plain(number: Number | None) -> Number | None:
    """Return the same number as Python's own where it is one for all candidates."""
    return number.item() if isinstance(number, np.generic | np.ndarray) and number.ndim == 0 else number


def is_varying(number: Number | None) -> bool:
    """True if it differs from candidate to candidate."""
    return isinstance(number, np.ndarray) and number.ndim == 1 and bool(np.any(number != number[:1]))


def common(number: Number) -> int:
    """Return an integer that is the same for all candidates as Python's own."""
    return int(np.asarray(number).flat[0])


def has_gaps(shape: Sequence[Number | None]) -> bool:
    """True if a dim is not known."""
    return any(dim is None for dim in shape)


def count_elements(shape: Sequence[Number | None] | None, default: float = 16.0) -> Any:
    """Return the product of the dims as a float; a dim that is not known counts as ``default``."""
    total: Any = 1.0
    for dim in shape or ():
        total = total * (default if dim is None else np.asarray(dim, np.float64))
    return total


def relation(number: Number, constant: int) -> np.ndarray:
    """Classify a number by a constant that it is compared with: far below, one below, equal, one above, far above."""
    return np.clip(np.asarray(number, np.float64) - constant, -2, 2).astype(np.int64) + 2


def remainder(number: Number, divisor: int) -> np.ndarray:
    """Classify a number by a divisor: below it, a multiple, one more, one less, or between."""
    rest = np.asarray(number, np.int64) % divisor
    kinds = np.select([rest == 0, rest == 1, rest == divisor - 1], [1, 2, 3], 4)
    return np.where(np.asarray(number) < divisor, 0, kinds)
