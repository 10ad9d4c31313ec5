"""Operands of other numbers: rounded to narrower types, scaled or shifted by a number, some elements changed."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from trueport.operators.record import Kind
from trueport.operators.table import facts
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import (
    NUMBER,
    OPERAND,
    among,
    formal,
    hypothesis,
    is_constant,
    is_data,
    pause,
    text,
    with_operand,
    with_operands,
)
from trueport.verifying.causes.solving import REFUSED, decimals, is_overdetermined, solve

__all__ = ["fitted_elements", "fitted_operands", "narrowings", "rounded_operands"]

_NARROW = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
_LEVELS = {"int8": 127, "int4": 7}
_MAX_ELEMENTS = 256
"""Elements of an operand that are solved for one by one."""
_FEW = 4
"""Elements that may differ at once."""


def rounded_operands(case: NodeCase) -> Iterator[Hypothesis]:
    """One operand, or all, rounded to a narrower type; integers that pass through one."""
    yield from sorted(_integers_through_floats(case), key=lambda one: one.bits)
    floats = [i for i, a in enumerate(case.inputs) if isinstance(a, np.ndarray) and a.dtype.kind == "f" and a.size]
    for number, (kind, change) in enumerate(narrowings()):
        bits = OPERAND + among(len(floats)) + 1 + among(number + 1)
        for index in floats:
            words = f"{formal(case.node, index)} is rounded to {kind}"
            yield hypothesis(case, "dtype", words, with_operand(index, change), bits)
        if len(floats) > 1:
            words = f"its operands are rounded to {kind}"
            yield hypothesis(case, "dtype", words, with_operands(dict.fromkeys(floats, change)), bits)
    for index in floats:
        for axis in range(np.ndim(case.inputs[index])):
            for name, most in _LEVELS.items():
                words = f"{formal(case.node, index)} is rounded to {name}, with a scale for each element of axis {axis}"
                change = functools.partial(_to_levels, most=most, axis=axis)
                yield hypothesis(case, "dtype", words, with_operand(index, change), OPERAND + 6)


def _integers_through_floats(case: NodeCase) -> Iterator[Hypothesis]:
    """Integers that a float does not hold, cast to it and back."""
    whole = [i for i, a in enumerate(case.inputs) if isinstance(a, np.ndarray) and a.dtype.kind in "iu" and a.size]
    for number, kind in enumerate((np.float32, np.float64, np.float16, ml_dtypes.bfloat16)):
        change = functools.partial(_through, kind=kind)
        changed = [i for i in whole if is_data(case, i) and not np.array_equal(change(case.inputs[i]), case.inputs[i])]
        bits, name = OPERAND + 1 + among(number + 1), np.dtype(kind).name
        for index in changed:
            words = f"{formal(case.node, index)} passes through {name}: its integers are rounded to it and back"
            yield hypothesis(case, "dtype", words, with_operand(index, change), bits + among(len(whole)))
        if len(changed) > 1:
            words = f"its integer operands pass through {name}: they are rounded to it and back"
            yield hypothesis(case, "dtype", words, with_operands(dict.fromkeys(changed, change)), bits)


def _through(array: Any, kind: Any) -> Any:
    """Cast to a float and back; what the integers do not hold any more is their largest or smallest."""
    limits = np.iinfo(array.dtype)
    with np.errstate(all="ignore"):
        made = array.astype(kind).astype(np.float64)
        inside = (made > limits.min) & (made < limits.max)
        plain = np.where(inside, made, 0).astype(array.dtype)
    return np.where(inside, plain, np.where(made > 0, limits.max, limits.min)).astype(array.dtype)


def narrowings() -> Iterator[tuple[str, Any]]:
    """Yield narrower types with what rounds to each; to integers with one scale for all elements."""
    for name, kind in _NARROW.items():
        yield name, functools.partial(_narrowed, kind=kind)
    for name, most in _LEVELS.items():
        yield name, functools.partial(_to_levels, most=most, axis=None)


def _narrowed(array: Any, kind: Any) -> Any:
    return array.astype(kind).astype(array.dtype)


def _to_levels(array: Any, most: int, axis: int | None) -> Any:
    """Rounded to so many levels on either side of zero."""
    others = None if axis is None else tuple(i for i in range(array.ndim) if i != axis)
    largest = np.max(np.abs(array), axis=others, keepdims=True)
    scale = np.where(largest > 0, largest / most, 1.0)
    return np.rint(array / scale) * scale


def fitted_operands(case: NodeCase) -> Iterator[Hypothesis]:
    """One operand multiplied by a number, or with a number added."""
    yield pause(OPERAND + NUMBER)
    if np.asarray(case.target).dtype.kind not in "fiu" or not is_overdetermined(case, 1):
        return
    for index, array in enumerate(case.inputs):
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not array.size or not _is_free(case, index):
            continue
        name, bits = formal(case.node, index), OPERAND + NUMBER + among(len(case.inputs))
        ways = {"times": (_times, [[0.99], [2.0], [0.1], [-1.0]]), "plus": (_plus, [[1e-3], [1.0], [-1.0]])}
        for way, (change, starts) in ways.items():
            found = solve(
                case,
                lambda v, i=index, c=change: with_operand(i, functools.partial(c, number=v[0]))(case),  # type: ignore[misc]
                starts,
            )
            for value in decimals(found[0]) if found else ():
                words = (
                    f"{name} is {text(value)} times the source's"
                    if way == "times"
                    else f"{name} is off by {text(value)}"
                )
                on = with_operand(index, functools.partial(change, number=value))
                yield hypothesis(case, "operand", words, on, bits)


def _is_free(case: NodeCase, index: int) -> bool:
    """True if an operand may have any number: a bound of an element-wise operator asks for no memory."""
    value = case.node.inputs[index]
    if value is not None and value.name in case.inside:
        return False
    return is_data(case, index) or facts(case.node.op_type, case.node.domain).kind is Kind.ELEMENTWISE


def _times(array: Any, number: float) -> Any:
    return array * number


def _plus(array: Any, number: float) -> Any:
    return array + number


def fitted_elements(case: NodeCase) -> Iterator[Hypothesis]:
    """A constant with other numbers, where the result tells them apart: solved, then described."""
    yield pause(OPERAND + NUMBER + 2)
    for index, array in enumerate(case.inputs):
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not is_constant(case, index):
            continue
        if not is_data(case, index):
            continue
        if 2 <= array.size <= _MAX_ELEMENTS and np.size(case.target) > array.size:
            yield from _elements(case, index, array)


def _elements(case: NodeCase, index: int, array: np.ndarray) -> Iterator[Hypothesis]:
    """One after the other the elements that bring the result nearest to the target's."""
    slopes = _slopes(case, index, array)
    if slopes is None:
        return
    got, truth = (np.asarray(a, np.float64).ravel() for a in (case.target, case.truth))
    left = np.where(np.isfinite(got - truth), got - truth, 0.0)
    sizes = np.linalg.norm(slopes, axis=0)
    chosen: list[int] = []
    for _ in range(min(_FEW, array.size)):
        gains = np.abs(slopes.T @ left) / np.where(sizes > 0, sizes, np.inf)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        step, *_ = np.linalg.lstsq(slopes[:, chosen], np.where(np.isfinite(got - truth), got - truth, 0.0), rcond=None)
        left = np.where(np.isfinite(got - truth), got - truth, 0.0) - slopes[:, chosen] @ step
        if not is_overdetermined(case, len(chosen)):
            return
        yield from _with_elements(case, index, array, chosen, step)


def _with_elements(
    case: NodeCase, index: int, array: np.ndarray, chosen: list[int], step: np.ndarray
) -> Iterator[Hypothesis]:
    def change(given: Any, numbers: Any) -> Any:
        flat = np.array(given, np.float64).ravel()
        flat[chosen] = numbers
        return flat.reshape(np.shape(given))

    def predict(numbers: Any) -> Any:
        return with_operand(index, functools.partial(change, numbers=numbers))(case)

    found = solve(case, predict, [list(array.ravel()[chosen] + step)])
    if found is None:
        return
    numbers = [float(f"{value:.6g}") for value in found]
    places = [list(map(int, np.unravel_index(c, array.shape))) for c in chosen]
    said = "; ".join(
        f"element {place} is {text(new)}, the source has {text(float(array.ravel()[c]))}"
        for place, new, c in zip(places, numbers, chosen, strict=True)
    )
    words = f"weight {formal(case.node, index)} differs in {len(chosen)} of {array.size} elements: {said}"
    bits = OPERAND + NUMBER + (NUMBER + among(array.size)) * len(chosen)
    yield hypothesis(case, "weight", words, with_operand(index, functools.partial(change, numbers=found)), bits)


def _slopes(case: NodeCase, index: int, array: np.ndarray) -> np.ndarray | None:
    """How the result moves with each element of an operand."""
    truth = np.asarray(case.truth, np.float64)
    columns = []
    for place in range(array.size):
        moved = array.copy()
        small = 1e-5 * (abs(float(moved.ravel()[place])) + float(np.mean(np.abs(array)))) + 1e-9
        moved.ravel()[place] += small
        try:
            with np.errstate(all="ignore"):
                made = np.asarray(with_operand(index, lambda _, m=moved: m)(case), np.float64)  # type: ignore[misc]
        except REFUSED:
            return None
        if made.shape != truth.shape or made.shape != np.shape(case.target):
            return None
        slope = (made - truth).ravel() / small
        columns.append(np.where(np.isfinite(slope), slope, 0.0))
    return np.stack(columns, axis=1)
