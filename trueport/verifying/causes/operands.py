"""Inputs that were taken otherwise: swapped, dropped, transposed, off by one; weights that are not the source's."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from trueport.reference.indices import readings
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.align.fingerprints import best_order
from trueport.verifying.causes.hypothesis import formal, with_input, with_inputs

__all__ = ["other_indices", "other_operands", "other_weights"]

_MOST = 16
"""Constants of the target that are tried."""

_MAX_RANK = 4


def other_operands(case: NodeCase) -> Iterator[Hypothesis]:
    """The same node with one input, or a pair of them, taken in another way."""
    yield from _swapped(case)
    yield from _dropped(case)
    for index, array in enumerate(case.inputs):
        value = case.node.inputs[index]
        if value is None or not isinstance(array, np.ndarray):
            continue
        name = formal(case.node, index)
        if value.const_value is not None:
            yield from _changed(case, index, name, array)
        yield from _turned(case, index, name, array, weight=value.const_value is not None)


def _swapped(case: NodeCase) -> Iterator[Hypothesis]:
    present = [i for i, array in enumerate(case.inputs) if isinstance(array, np.ndarray)]
    for a, b in itertools.combinations(present[:5], 2):
        one, other = case.inputs[a], case.inputs[b]
        if one.dtype == other.dtype and (one.shape == other.shape or {a, b} == {0, 1}):
            inputs = list(case.inputs)
            inputs[a], inputs[b] = other, one
            words = f"inputs {formal(case.node, a)} and {formal(case.node, b)} are swapped"
            yield Hypothesis("swapped", words, with_inputs(case, inputs))


def _dropped(case: NodeCase) -> Iterator[Hypothesis]:
    for index, array in enumerate(case.inputs):
        if index == 0 or not isinstance(array, np.ndarray):
            continue
        name = formal(case.node, index)
        yield Hypothesis("dropped", f"input {name} is ignored", with_input(case, index, None))
        if array.dtype.kind in "fiu":
            zeros, ones = np.zeros_like(array), np.ones_like(array)
            yield Hypothesis("dropped", f"input {name} is taken as zero", with_input(case, index, zeros))
            yield Hypothesis("dropped", f"input {name} is taken as one", with_input(case, index, ones))
        elif array.dtype == bool:
            kept = np.ones_like(array)
            yield Hypothesis("dropped", f"the mask {name} is ignored", with_input(case, index, kept))


def _changed(case: NodeCase, index: int, name: str, array: np.ndarray) -> Iterator[Hypothesis]:
    if array.dtype.kind in "iu" and array.size <= 64:
        for step in (1, -1):
            moved = (array.astype(np.int64) + step).astype(array.dtype)
            words = f"{name} is off by {step:+d}"
            yield Hypothesis("constant", words, with_input(case, index, moved))
        for place in range(min(array.size, 8)):
            for step in (1, -1):
                one = array.copy().ravel()
                one[place] += np.asarray(step).astype(one.dtype)
                words = f"element {place} of {name} is off by {step:+d}"
                yield Hypothesis("constant", words, with_input(case, index, one.reshape(array.shape)))
    if array.dtype.kind == "f":
        for kind in ("float16", "bfloat16"):
            narrow = _rounded(array, kind)
            yield Hypothesis("dtype", f"{name} is rounded to {kind}", with_input(case, index, narrow))


def _turned(case: NodeCase, index: int, name: str, array: np.ndarray, *, weight: bool) -> Iterator[Hypothesis]:
    """Transposed where the shape allows it, or flipped."""
    if not 2 <= array.ndim <= _MAX_RANK:
        return
    for perm in itertools.permutations(range(array.ndim)):
        if perm != tuple(range(array.ndim)) and array.transpose(perm).shape == array.shape:
            words = f"{name} is transposed by {list(perm)}"
            yield Hypothesis("layout", words, with_input(case, index, array.transpose(perm)))
    if weight:
        for axis in range(array.ndim):
            flipped = np.flip(array, axis)
            yield Hypothesis("layout", f"{name} is reversed along axis {axis}", with_input(case, index, flipped))


def _rounded(array: np.ndarray, kind: str) -> np.ndarray:
    import ml_dtypes

    narrow = np.float16 if kind == "float16" else ml_dtypes.bfloat16
    with np.errstate(all="ignore"):
        return array.astype(narrow).astype(np.float64)


def other_weights(case: NodeCase, stored: Iterable[tuple[str, Any]]) -> Iterator[Hypothesis]:
    """``stored``: constants of the target's part, by its names. One that differs counts if it explains the result."""
    theirs = [(name, array) for name, array in stored if np.asarray(array).dtype.kind == "f"][:_MOST]
    for index, value in enumerate(case.node.inputs):
        if value is None or value.const_value is None or np.asarray(case.inputs[index]).dtype.kind != "f":
            continue
        mine = np.asarray(value.const_value.numpy())
        for name, array in theirs:
            found = best_order(mine, array) if mine.size > 1 else None
            if found is None:
                continue
            other = np.transpose(array, np.argsort(found[0]))
            differ = np.argwhere(other != mine)
            if len(differ):
                place = tuple(int(i) for i in differ[0])
                words = f"weight {formal(case.node, index)} differs in {len(differ)} of {mine.size} elements"
                evidence = (
                    f"the target's {name!r}, put in its place, gives the target's numbers; "
                    f"first at {list(place)}: {other[place]!s}, the source has {mine[place]!s}"
                )
                yield Hypothesis("weight", words, with_input(case, index, other.astype(np.float64)), evidence)


def other_indices(case: NodeCase) -> Iterator[Hypothesis]:
    """The node with indices that other frameworks would make of its own."""
    sizes = {*np.shape(case.truth), *(np.shape(case.inputs[0]) if case.inputs else ())}
    for index, array in enumerate(case.inputs):
        if isinstance(array, np.ndarray):
            for words, moved in readings(formal(case.node, index), array, sizes):
                yield Hypothesis("indices", words, with_input(case, index, moved))
