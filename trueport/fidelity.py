"""The words every stage speaks: how true a translation is, and how far its numbers may stray."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "AGAINST_DATA",
    "AGAINST_INPUT",
    "AGAINST_LARGEST",
    "AGAINST_ONE",
    "AGAINST_PLACES",
    "AGAINST_RESULT",
    "AGAINST_STEPS",
    "AGAINST_TERMS",
    "APPROXIMATE",
    "BITWISE",
    "EXACT",
    "LOSSY",
    "UNSUPPORTED",
    "Against",
    "ErrorBound",
    "Fidelity",
    "Limit",
    "Loss",
    "Verdict",
    "accumulation",
    "ulps",
]


class Fidelity(enum.IntEnum):
    """How much of an operator survives, best first; a model's fidelity is the maximum over its nodes."""

    BITWISE = 0
    """the same bits"""
    EXACT = 1
    """the same function, rounded elsewhere: within the declared error bound"""
    APPROXIMATE = 2
    """another formula: bound and reason given"""
    LOSSY = 3
    """information goes: reason given"""
    UNSUPPORTED = 4
    """there is no translation"""


BITWISE, EXACT, APPROXIMATE, LOSSY, UNSUPPORTED = Fidelity


class Verdict(enum.Enum):
    """What a comparison after the conversion says."""

    FAITHFUL = "faithful"
    """as near to the truth as the source itself is"""
    PRECISION_CHANGE = "precision change"
    """not that near, but the target was made narrower on purpose, and that explains it"""
    WITHIN_TOLERANCE = "within tolerance"
    """not that near, but within what the user allows; given only where a tolerance was"""
    DEPARTS = "departs"


class Against(enum.Enum):
    """What rounding inside an operator is relative to: the numbers that its usual formula adds up on the way."""

    RESULT = "result"
    TERMS = "terms"
    """sums, linear in each input: the sum of the terms' magnitudes, which is the operator on absolute values"""
    ONE = "one"
    """made of numbers near one: exp(x) - 1 and log(1 + x) lose what is small, bounded functions what is in a tail"""
    INPUT = "input"
    """the first input times a number between zero and one"""
    LARGEST = "largest"
    """each number along the last axis is made from the largest of them"""
    STEPS = "steps"
    """whatever its steps add up: those of the function by which ONNX defines it, each by its own declaration"""
    DATA = "data"
    """sums inside that may cancel: as if every number that goes in, weights as well, were off by as much"""
    PLACES = "places"
    """mixes neighbours by their nearness to a place, which is rounded as well: the more, the farther away it is"""


AGAINST_RESULT, AGAINST_TERMS, AGAINST_ONE, AGAINST_INPUT = tuple(Against)[:4]
AGAINST_LARGEST, AGAINST_STEPS, AGAINST_DATA, AGAINST_PLACES = tuple(Against)[4:]


@dataclass(frozen=True)
class ErrorBound:
    """A distance from the exactly rounded result that the target may show, in units of the last place.

    ``ulps`` holds for each element. ``per_term`` is added for every term that an element sums up, and
    a bound that has it is relative to the sum of the terms' magnitudes, not to a result that may cancel.
    ``against`` says for verification what the rounding of any implementation is relative to.
    """

    ulps: float
    per_term: float = 0.0
    against: Against = AGAINST_RESULT

    def allowed(self, terms: int = 1) -> float:
        """The bound in ulps for an element made of ``terms`` terms."""
        return self.ulps + self.per_term * terms

    def __str__(self) -> str:
        return f"{self.ulps:g} ulp" + (f" + {self.per_term:g} per term" if self.per_term else "")


def ulps(count: float, against: Against = AGAINST_RESULT) -> ErrorBound:
    """Each element lies within ``count`` units of the last place."""
    return ErrorBound(count, against=against)


def accumulation(ulps: float = 2, per_term: float = 1.0, against: Against = AGAINST_RESULT) -> ErrorBound:
    """A sum of many terms, added in any order."""
    return ErrorBound(ulps, per_term, against)


@dataclass(frozen=True)
class Limit:
    """A case in which a mapping does less than it promises in general.

    ``when`` looks at the node alone, so that it can be asked before anything is converted.
    """

    label: str
    when: Callable[[Any], bool]
    effect: Fidelity
    because: str
    remedy: str = ""
    example: Callable[[], Any] = field(kw_only=True)
    """builds a model that shows the limit; the tests check that it still does"""


@dataclass(frozen=True)
class Loss:
    """Something of the source that the target does not hold."""

    where: str
    what: str
    because: str
    fidelity: Fidelity = LOSSY

    def __str__(self) -> str:
        return f"{self.where}: {self.what}: {self.because}"
