"""Indices among equal elements: where the source leaves open which it gives, any of them is right.

An index is accepted if and only if the source's own elements at both indices are equal. All others are judged as they
are: an index that points at another value is a difference. Where the source leaves open the order of what it chooses,
rows are compared as sets; where indices and values of one call are outputs, they must be in one order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trueport.ir.choices import Choice
from trueport.runtimes.base import Model
from trueport.verifying.judge.metrics import measure
from trueport.verifying.judge.output import Judgement

__all__ = ["Settled", "Ties"]


_FAR = 1e-3
"""Of an output's size: a distance beyond which floats are looked at for another order."""


class Ties:
    """The choices that a source leaves open on one set of inputs; it is asked only where outputs differ."""

    def __init__(self, source: Model, feeds: Mapping[str, Any], got: Mapping[str, Any]) -> None:
        self._source = source
        self._feeds = feeds
        self._got = got
        self._choices: Mapping[str, Choice] | None = None

    def of(self, name: str, want: Any) -> Settled:
        """Return how one output is judged."""
        got = self._got[name]
        if not (_may_be_tied(want, got) or _may_be_reordered(want, got)):
            return Settled(None, want, got)
        if self._choices is None:
            self._choices = self._source.choices(self._feeds)
        choice = self._choices.get(name)
        if choice is not None and choice.is_unordered and not self._is_paired(choice, got):
            choice = None
        return Settled(choice, want, got)

    def _is_paired(self, choice: Choice, got: np.ndarray) -> bool:
        """True if the target's values and indices of one call, where both are outputs, are in one order."""
        assert self._choices is not None
        for name, other in self._choices.items():
            if other.call == choice.call and other.is_value != choice.is_value:
                values, indices = (got, self._got[name]) if choice.is_value else (self._got[name], got)
                if not choice.is_paired(values, indices):
                    return False
        return True


class Settled:
    """One output, in which a tied index is replaced by the source's, and a row of open order is in the source's."""

    def __init__(self, choice: Choice | None, want: Any, got: Any) -> None:
        self._choice = choice
        self._want = want
        self._got = got

    def array(self, value: Any) -> Any:
        """The same array with the source's index wherever that points at an equal element, or in its order."""
        if self._choice is None or not isinstance(value, np.ndarray) or value.shape != self._want.shape:
            return value
        if self._choice.is_value:
            return self._choice.aligned(self._want, value) if self._choice.rows.shape == value.shape else value
        if not _is_index(value):
            return value
        return np.where(self._choice.tied(self._want, value), self._want, value).astype(value.dtype)

    def say(self, found: Judgement) -> Judgement:
        """Add to a judgement how many of the target's indices are tied; its figures are those of all indices."""
        if self._choice is None:
            return found
        tied = int(np.sum(self.array(self._got) != self._got))
        if not tied:
            return found
        noun = "elements" if self._choice.is_value else "indices"
        words = f"{tied} of {self._want.size} {noun} are " + (
            f"in another order: {self._choice.operator} does not say in which it gives them"
            if self._choice.is_unordered
            else f"others among equal elements: {self._choice.operator} does not say which of them it gives"
        )
        why = words if found.why in ("", "equal") else f"{found.why}; {words}"
        return replace(found, why=why, metrics=measure(self._want, self._got))


def _is_index(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu"


def _may_be_tied(want: Any, got: Any) -> bool:
    return _is_index(want) and _is_index(got) and want.shape == got.shape and not np.array_equal(want, got)


def _may_be_reordered(want: Any, got: Any) -> bool:
    """True for floats that differ by far more than their sorted elements do."""
    if not (isinstance(want, np.ndarray) and isinstance(got, np.ndarray)) or want.dtype.kind != "f":
        return False
    if want.shape != got.shape or want.ndim == 0 or got.dtype != want.dtype or not want.size:
        return False
    size = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
    ordered = np.sort(want, axis=None), np.sort(got, axis=None)
    near, alike = (np.allclose(a, b, 0.0, _FAR * size, equal_nan=True) for a, b in ((want, got), ordered))
    return bool(alike) and not near
