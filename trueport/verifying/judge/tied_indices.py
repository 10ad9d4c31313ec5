"""Indices among equal elements: where the source leaves open which it gives, any of them is right.

An index is accepted if and only if the source's own elements at both indices are equal. All others are judged as they
are: an index that points at another value is a difference.
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


class Ties:
    """The choices that a source leaves open on one set of inputs; it is asked only where indices differ."""

    def __init__(self, source: Model, feeds: Mapping[str, Any]) -> None:
        self._source = source
        self._feeds = feeds
        self._choices: Mapping[str, Choice] | None = None

    def of(self, name: str, want: Any, got: Any) -> Settled:
        """Return how one output is judged."""
        if not (_is_index(want) and _is_index(got)) or want.shape != got.shape or np.array_equal(want, got):
            return Settled(None, want, got)
        if self._choices is None:
            self._choices = self._source.choices(self._feeds)
        return Settled(self._choices.get(name), want, got)


class Settled:
    """One output, in which a tied index is replaced by the source's."""

    def __init__(self, choice: Choice | None, want: Any, got: Any) -> None:
        self._choice = choice
        self._want = want
        self._got = got

    def array(self, value: Any) -> Any:
        """The same array with the source's index wherever that points at an equal element."""
        if self._choice is None or not _is_index(value) or value.shape != self._want.shape:
            return value
        return np.where(self._choice.tied(self._want, value), self._want, value).astype(value.dtype)

    def say(self, found: Judgement) -> Judgement:
        """Add to a judgement how many of the target's indices are tied; its figures are those of all indices."""
        if self._choice is None:
            return found
        tied = int(np.sum(self._choice.tied(self._want, self._got)))
        if not tied:
            return found
        words = (
            f"{tied} of {self._want.size} indices are others among equal elements: "
            f"{self._choice.operator} does not say which of them it gives"
        )
        why = words if found.why in ("", "equal") else f"{found.why}; {words}"
        return replace(found, why=why, metrics=measure(self._want, self._got))


def _is_index(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu"
