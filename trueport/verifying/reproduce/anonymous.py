"""Reproducers without anybody's weights: random numbers in their places, as far as the fault still shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from trueport.runtimes.parts import part_weights, replace_weights

__all__ = ["Anonymous", "anonymized"]

_TRIES = 5
_FEW = 4
"""Elements in which a weight may differ between source and target and still be called the same but for them."""
_LEAST = 2
"""Elements from which on a constant counts as a weight; a single number is a parameter."""

Relation = Callable[[np.ndarray], np.ndarray]


class Showing(Protocol):
    """What is asked of the parts of a reproducer."""

    @property
    def source(self) -> Path: ...
    @property
    def target(self) -> Path: ...
    @property
    def arrays(self) -> Mapping[str, np.ndarray]: ...
    def shows(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether the fault shows on inputs."""


@dataclass(frozen=True)
class Anonymous:
    """What became random, and what did not, with the reason."""

    inputs: Mapping[str, np.ndarray] = field(repr=False)
    weights: tuple[str, ...] = ()
    """replaced in both parts"""
    random_inputs: bool = False
    kept: Mapping[str, str] = field(default_factory=dict)
    """weights, or ``inputs``, that are the user's own still: why"""

    def __str__(self) -> str:
        done = [f"{len(self.weights)} weights", *(["inputs"] if self.random_inputs else [])]
        kept = "; ".join(f"{name}: {why}" for name, why in self.kept.items())
        return f"random numbers instead of {' and '.join(done)}" + (f"; NOT anonymous: {kept}" if kept else "")


def anonymized(pieces: Showing) -> Anonymous:
    """Replace weights, then inputs, in what stands on disk; whatever hides the fault is put back."""
    before = pieces.shows(pieces.arrays)
    if not before:
        everything = {"weights": "the part does not show the fault by itself", "inputs": "as before"}
        return Anonymous(pieces.arrays, kept=everything)
    weights, kept = _weights(pieces)
    for seed in range(_TRIES):
        inputs = {
            name: _random(array, np.random.default_rng([seed, i]))
            for i, (name, array) in enumerate(pieces.arrays.items())
        }
        if pieces.shows(inputs):
            return Anonymous(inputs, weights, True, kept)
    return Anonymous(pieces.arrays, weights, False, {**kept, "inputs": "with random ones the fault did not show"})


def _weights(pieces: Showing) -> tuple[tuple[str, ...], dict[str, str]]:
    mine, theirs = part_weights(pieces.source) or {}, part_weights(pieces.target)
    hidden = {name: array for name, array in mine.items() if array.dtype.kind == "f" and array.size >= _LEAST}
    foreign = (
        {} if theirs is None else {n: "only the target has it" for n, a in theirs.items() if _is_foreign(n, a, mine)}
    )
    # What the target does not have at all it does not use, unless it has it under another name.
    unused = [] if theirs is None or foreign else [name for name in hidden if name not in theirs]
    relations, kept = _relations({n: a for n, a in hidden.items() if n not in unused}, theirs)
    kept |= foreign
    names = [*relations, *unused]
    for seed in range(_TRIES if names else 0):
        drawn = {name: _random(mine[name], np.random.default_rng([seed, i])) for i, name in enumerate(names)}
        replace_weights(pieces.source, drawn)
        replace_weights(pieces.target, {name: relations[name](drawn[name]) for name in relations})
        if pieces.shows(pieces.arrays):
            return tuple(names), kept
    if names:
        replace_weights(pieces.source, {name: mine[name] for name in names})
        replace_weights(pieces.target, {name: (theirs or {})[name] for name in relations})
    return (), {**kept, **dict.fromkeys(names, "with random numbers the fault did not show")}


def _is_foreign(name: str, array: np.ndarray, mine: Mapping[str, np.ndarray]) -> bool:
    return name not in mine and array.dtype.kind == "f" and array.size >= _LEAST


def _relations(
    hidden: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray] | None
) -> tuple[dict[str, Relation], dict[str, str]]:
    """How the target's weights follow from the source's; a weight for which nothing is known stays."""
    found: dict[str, Relation] = {}
    kept: dict[str, str] = {}
    for name, array in hidden.items():
        other = None if theirs is None else theirs.get(name)
        if other is None:
            kept[name] = "the target holds it in a form of its own"
            continue
        relation = _relation(array, other)
        if relation is None:
            kept[name] = "the target's differs from it in a way that can't be carried over to random numbers"
        else:
            found[name] = relation
    return found, kept


def _relation(mine: np.ndarray, theirs: np.ndarray) -> Relation | None:
    if np.array_equal(mine, theirs):
        return lambda array: array
    for perm in itertools.permutations(range(mine.ndim)):
        if mine.transpose(perm).shape == theirs.shape and np.array_equal(mine.transpose(perm), theirs):
            return lambda array, order=perm: np.ascontiguousarray(array.transpose(order))  # type: ignore[misc]
    if mine.shape != theirs.shape:
        return None
    with np.errstate(all="ignore"):
        factors = (theirs.astype(np.float64) / mine)[mine != 0]
    if factors.size and np.allclose(factors, factors[0], rtol=1e-3):
        factor = float(np.median(factors))
        return lambda array: (array * factor).astype(array.dtype)
    differ = mine != theirs
    if np.sum(differ) <= _FEW:
        change = np.where(differ, theirs - mine, 0).astype(mine.dtype)
        return lambda array: array + change
    return None


def _random(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers of the same shape, type and size; integers of the same range, text of the same length."""
    if array.dtype.kind == "f":
        finite = array[np.isfinite(array)].astype(np.float64)
        mean, spread = (float(finite.mean()), float(finite.std())) if finite.size else (0.0, 1.0)
        drawn = rng.normal(mean, spread or abs(mean) or 1.0, size=array.shape)
        # What has one sign, such as a variance, keeps it.
        one_sign = finite.size > 0 and bool(np.all(finite > 0))
        return np.asarray(np.abs(drawn) if one_sign else drawn).astype(array.dtype)
    if array.dtype == bool:
        return rng.integers(0, 2, size=array.shape).astype(bool)
    if array.dtype.kind in "iu" and array.size:
        return rng.integers(int(array.min()), int(array.max()), size=array.shape, endpoint=True).astype(array.dtype)
    return array
