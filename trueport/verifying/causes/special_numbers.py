"""NaN, infinities and denormals that are treated otherwise."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import OPERAND, formal, hypothesis, with_operand
from trueport.verifying.locate.first_node import Cause

__all__ = ["other_special_numbers", "unusual_numbers"]

_TINY = float(np.finfo(np.float32).tiny)
_LARGEST = float(np.finfo(np.float32).max)


def other_special_numbers(case: NodeCase) -> Iterator[Hypothesis]:
    """The node with its special inputs taken as others."""
    for index, array in enumerate(case.inputs):
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            continue
        name = formal(case.node, index)
        for kind, words, where, _ in _exchanges(array):
            if np.any(where):
                place = [int(i) for i in np.argwhere(where)[0]]
                evidence = (
                    f"{int(np.sum(where))} such elements, first at {place}; so taken it gives the target's numbers"
                )
                on = with_operand(index, functools.partial(_exchanged, words=words))
                yield hypothesis(case, kind, f"{words} in {name}", on, OPERAND - 2, evidence)


def _exchanged(array: np.ndarray, words: str) -> np.ndarray:
    where, other = next((where, other) for _, said, where, other in _exchanges(array) if said == words)
    return np.where(where, other, array)


def _exchanges(array: np.ndarray) -> Iterator[tuple[str, str, Any, Any]]:
    nan = np.isnan(array)
    yield "nonfinite", "NaN is taken as zero", nan, 0.0
    yield "nonfinite", "NaN is passed over, as smaller than any number,", nan, -np.inf
    yield "nonfinite", "NaN is passed over, as larger than any number,", nan, np.inf
    yield "nonfinite", "infinity is taken as the largest number", np.isinf(array), np.sign(array) * _LARGEST
    small = (np.abs(array) < _TINY) & (array != 0)
    yield "denormal", "denormal numbers count as zero", small, np.copysign(0.0, array)


def unusual_numbers(case: NodeCase) -> Iterator[Cause]:
    """What only the results show: often a consequence, so this is asked last."""
    source, got = np.asarray(case.source), np.asarray(case.target)
    if source.dtype.kind != "f" or source.shape != got.shape:
        return
    odd = np.isfinite(source) != np.isfinite(got)
    if np.any(odd):
        place = tuple(int(i) for i in np.argwhere(odd)[0])
        evidence = f"first at {list(place)}: {got[place]}, the source has {source[place]}{_given(case, place)}"
        yield Cause("nonfinite", "NaN or infinity is treated otherwise", evidence)
    tiny = np.finfo(source.dtype).tiny
    differ = source != got
    small = np.abs(source[differ])
    if np.any(differ) and np.all((small > 0) & (small < tiny)):
        evidence = f"{int(np.sum(differ))} elements, all below {tiny:.3g}"
        yield Cause("denormal", "denormal numbers are flushed to zero", evidence)


def _given(case: NodeCase, place: tuple[int, ...]) -> str:
    """The inputs at the same place, where they have one."""
    shape = np.shape(case.source)
    same = [array[place] for array in case.inputs if isinstance(array, np.ndarray) and array.shape == shape]
    return f", of {', '.join(f'{value:g}' for value in same)}" if same else ""
