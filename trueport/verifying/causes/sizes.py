"""Sizes read off the shape of the target's result: windows with their pads, integer operands and attributes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.attributes import bound_attributes, changed_attributes
from trueport.verifying.causes.hypothesis import (
    ATTRIBUTE,
    OPERAND,
    among,
    formal,
    hypothesis,
    is_constant,
    text,
    with_operand,
)

__all__ = ["other_windows", "sizes_of_the_result"]

_STEPS = (1, -1, 2, -2, 3, -3)
_MOST_AXES = 3
_MOST_ENTRIES = 8
"""Integers of an operand or an attribute that may be sizes."""
_LARGEST = 1 << 22
"""Elements of a result up to which sizes are tried."""


def other_windows(case: NodeCase) -> Iterator[Hypothesis]:
    """A window of another extent, with pads that go along so that the result keeps its size."""
    has = bound_attributes(case)
    pads, window = has.get("pads"), has.get("kernel_shape")
    if window is None or has.get("auto_pad") not in (None, "NOTSET") or not 1 <= len(window) <= _MOST_AXES:
        return
    before = list(pads) if pads else [0] * (2 * len(window))
    spread = list(has.get("dilations") or [1] * len(window))
    listed = []
    for name, now in (("kernel_shape", list(window)), ("dilations", spread)):
        for moved in filter(_is_positive, _moved(now)) if name in has else ():
            new = {"kernel_shape": list(window), "dilations": spread, name: moved}
            gained = [
                (w - 1) * d - (v - 1) * e
                for w, d, v, e in zip(new["kernel_shape"], new["dilations"], window, spread, strict=True)
            ]
            listed += [{name: moved, "pads": other} for other in _grown(before, gained) if other != before]
    for number, values in enumerate(listed):
        yield changed_attributes(case, values, 2 * ATTRIBUTE + among(number + 1))


def _moved(now: Sequence[int]) -> Iterator[list[int]]:
    """One entry changed by any small number, then all of them by the same, then two each by its own."""
    for step in _STEPS:
        for index in range(len(now)):
            yield [n + step if i == index else n for i, n in enumerate(now)]
    for step in _STEPS if len(now) > 1 else ():
        yield [n + step for n in now]
    for one, other in itertools.combinations(range(len(now)), 2):
        for steps in itertools.permutations(_STEPS[:4], 2):
            yield [n + dict(zip((one, other), steps, strict=True)).get(i, 0) for i, n in enumerate(now)]


def _is_positive(values: Sequence[int]) -> bool:
    return min(values) > 0


def _grown(pads: list[int], gained: Sequence[int]) -> Iterator[list[int]]:
    """Pads that make room for what a window has gained: on both sides, or behind, or before."""
    seen: list[list[int]] = []
    for share in (lambda n: n // 2, lambda n: n - n // 2, lambda n: 0, lambda n: n):
        first = [share(n) for n in gained]
        other = [
            p + n for p, n in zip(pads, [*first, *(n - f for n, f in zip(gained, first, strict=True))], strict=True)
        ]
        if min(other) >= 0 and other not in seen:
            seen.append(other)
            yield other


def sizes_of_the_result(case: NodeCase) -> Iterator[Hypothesis]:
    """Integers with which the result has the target's shape: sums, quotients and sizes that the shapes tell."""
    mine, theirs = np.shape(case.truth), np.shape(case.target)
    if mine == theirs or not isinstance(case.truth, np.ndarray) or np.size(case.target) > _LARGEST:
        return
    found = []
    for index, array in enumerate(case.inputs):
        if not _holds_sizes(case, index):
            continue
        name, now = formal(case.node, index), [int(n) for n in array.ravel()]
        told = (v for v in _told(now, mine, theirs) if not _is_a_step(now, v) and _is_small(case, now, v))
        for number, values in enumerate(told):
            words = f"operand {name!r} is {text(values)}, the source has {text(now)}: its result has another shape"
            change = functools.partial(_replaced, values=tuple(values))
            bits = OPERAND + 1 + among(len(case.inputs)) + among(number + 1)
            found.append(hypothesis(case, "constant", words, with_operand(index, change), bits))
    found += [
        changed_attributes(case, {name: values}, ATTRIBUTE + 1 + among(number + 1))
        for name, listed in _lists(bound_attributes(case)).items()
        for number, values in enumerate(_told(listed, mine, theirs))
    ]
    yield from sorted(found, key=lambda one: one.bits)


def _is_a_step(now: Sequence[int], values: Sequence[int]) -> bool:
    """Whether one of them is off by 1 or 2, which is tried for every constant."""
    off = [abs(v - n) for n, v in zip(now, values, strict=True) if v != n]
    return len(off) == 1 and off[0] <= 2


def _is_small(case: NodeCase, now: Sequence[int], values: Sequence[int]) -> bool:
    """Whether a result of such sizes can be computed: it grows as they do, at most."""
    growth = np.prod([max(1.0, v / max(n, 1)) for n, v in zip(now, values, strict=True)])
    return bool(np.size(case.truth) * growth <= _LARGEST)


def _holds_sizes(case: NodeCase, index: int) -> bool:
    array = case.inputs[index]
    whole = isinstance(array, np.ndarray) and array.dtype.kind in "iu" and 1 <= array.size <= _MOST_ENTRIES
    return whole and is_constant(case, index)


def _lists(has: Mapping[str, Any]) -> dict[str, list[int]]:
    lists = {name: list(value) for name, value in has.items() if isinstance(value, (list, tuple))}
    return {n: v for n, v in lists.items() if 1 <= len(v) <= _MOST_ENTRIES and all(isinstance(i, int) for i in v)}


def _told(now: list[int], mine: Sequence[int], theirs: Sequence[int]) -> Iterator[list[int]]:
    """What a list of integers may be, by two shapes: as a whole, if it has an entry for each axis, then by entries."""
    seen = [now]
    wholes = _by_axes(now, mine, theirs) if len(mine) == len(theirs) else []
    if len(now) == len(theirs):
        wholes.append(list(theirs))
    if len(mine) == len(theirs) and len(now) == 2 * len(mine):
        gained = [t - m for m, t in zip(mine, theirs, strict=True)]
        wholes += _grown_by([*gained, *[0] * len(mine)], now), _grown_by([*[0] * len(mine), *gained], now)
    entries = [
        [value if i == place else n for i, n in enumerate(now)]
        for place, old in enumerate(now)
        for value in _entry(old, mine, theirs)
    ]
    for values in (*wholes, *entries):
        if values not in seen:
            seen.append(values)
            yield values


def _by_axes(now: list[int], mine: Sequence[int], theirs: Sequence[int]) -> list[list[int]]:
    if len(now) != len(mine):
        return []
    pairs = list(zip(now, mine, theirs, strict=True))
    times = [n * t // m if m and n * t % m == 0 else n for n, m, t in pairs]
    parts = [n * m // t if t and n * m % t == 0 else n for n, m, t in pairs]
    return [times, [n + t - m for n, m, t in pairs], parts]


def _grown_by(gained: Sequence[int], now: Sequence[int]) -> list[int]:
    return [n + g for n, g in zip(now, gained, strict=True)]


def _entry(old: int, mine: Sequence[int], theirs: Sequence[int]) -> Iterator[int]:
    """What one integer may be: a size of the target, or what a size has gained, or by how often it has grown."""
    pairs = [(m, t) for m, t in zip(mine, theirs, strict=True) if m != t] if len(mine) == len(theirs) else []
    for m, t in pairs:
        yield from (t, old + t - m, old - t + m)
        if m and old * t % m == 0:
            yield old * t // m
    yield from theirs


def _replaced(given: Any, values: tuple[int, ...]) -> Any:
    return np.asarray(values, np.asarray(given).dtype).reshape(np.shape(given))
