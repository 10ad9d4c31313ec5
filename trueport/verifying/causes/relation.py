"""How a constant of the target comes from the source's: scaled, shifted, rounded, put in another order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trueport.verifying.causes.hypothesis import text
from trueport.verifying.causes.numbers_of_operands import narrowings

__all__ = ["relation"]

_FEW = 24
"""Elements of an axis up to which a pair that changed places is looked for."""
_CLOSE = 1e-6


def relation(mine: np.ndarray, theirs: np.ndarray) -> str:
    """Return how all elements of one come from the other, in words; empty where nothing simple tells."""
    if mine.shape != theirs.shape or mine.size < 2 or not {mine.dtype.kind, theirs.dtype.kind} <= set("fiu"):
        return ""
    one, other = mine.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(all="ignore"):
        for words, change in _ways(one, other):
            if np.allclose(change(one), other, rtol=_CLOSE, atol=_CLOSE * float(np.max(np.abs(other)))):
                return words
    return ""


def _ways(one: np.ndarray, other: np.ndarray) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    if not np.any(other):
        yield "all are zero", np.zeros_like
    for perm in itertools.permutations(range(one.ndim)) if one.ndim <= 4 else ():
        if perm != tuple(range(one.ndim)) and one.transpose(perm).shape == one.shape:
            yield f"the source's are transposed by {list(perm)}", lambda a, p=perm: a.transpose(p)  # type: ignore[misc]
    for axis, size in enumerate(one.shape):
        yield f"the source's are reversed along axis {axis}", lambda a, axis=axis: np.flip(a, axis)  # type: ignore[misc]
        for step in (1, -1):
            words = f"the source's are shifted by {step:+d} along axis {axis}"
            yield words, lambda a, step=step, axis=axis: np.roll(a, step, axis)  # type: ignore[misc]
        order = _order(one, other, axis) if 1 < size <= _FEW else None
        if order is not None:
            words = f"the source's are in the order {text(order)} along axis {axis}"
            yield words, lambda a, order=order, axis=axis: np.take(a, order, axis)  # type: ignore[misc]
    for name, change in narrowings():
        yield f"the source's are rounded to {name}", change
    for words, change in (("square roots", np.sqrt), ("squares", np.square), ("reciprocals", np.reciprocal)):
        yield f"they are the {words} of the source's", change
    size = float(np.vdot(one, one))
    scale = float(np.vdot(one, other)) / size if size else 1.0
    yield f"all are {text(scale)} times the source's", lambda a: a * scale
    shift = float(np.mean(other - one))
    yield f"all are off by {text(shift)}", lambda a: a + shift


def _order(one: np.ndarray, other: np.ndarray, axis: int) -> list[int] | None:
    """The source's position of each of the target's slices along an axis."""
    mine, theirs = np.moveaxis(one, axis, 0), np.moveaxis(other, axis, 0)
    found = []
    for row in theirs:
        same = [index for index, own in enumerate(mine) if np.allclose(own, row, rtol=_CLOSE, atol=0, equal_nan=True)]
        if not same:
            return None
        found.append(same[0])
    return found
