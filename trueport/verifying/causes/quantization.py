"""Quantization read otherwise: another scale, zero point, axis or rounding, each with the value that explains it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import (
    ATTRIBUTE,
    NUMBER,
    OPERAND,
    Predict,
    formal,
    hypothesis,
    instead,
    text,
    with_attributes,
    with_operand,
)

__all__ = ["AXIS", "ROUNDING", "SCALE", "ZERO_POINT", "other_quantization", "role"]

SCALE, ZERO_POINT, AXIS, ROUNDING = (f"quantization {part}" for part in ("scale", "zero point", "axis", "rounding"))
_STEPS = (1, -1, 2, -2, 3, -3, 128, -128)
"""Zero points that are off by so much: counted from elsewhere, or of the other signedness."""
_WAYS: Mapping[str, Callable[[Any], Any]] = {
    "halves go away from zero": lambda v: np.sign(v) * np.floor(np.abs(v) + 0.5),
    "halves go up": lambda v: np.floor(v + 0.5),
    "it rounds down": np.floor,
    "it rounds up": np.ceil,
    "it rounds to zero": np.trunc,
}


def role(case: NodeCase, index: int) -> str | None:
    """The kind of cause that an input of a quantizing operator belongs to, by its formal name."""
    name = formal(case.node, index).lower()
    if name.endswith("zero_point"):
        return ZERO_POINT
    return SCALE if name.endswith("_scale") else None


def other_quantization(case: NodeCase) -> Iterator[Hypothesis]:
    """The same node with other parameters of quantization, solved for where that is possible."""
    roles = {index: kind for index in range(len(case.inputs)) if (kind := role(case, index))}
    for index, kind in roles.items():
        array = case.inputs[index]
        if isinstance(array, np.ndarray):
            yield from (_zero_points if kind == ZERO_POINT else _scales)(case, index, array)
    if roles:
        yield from _axes(case)
    if case.node.op_type == "QuantizeLinear" and not case.node.domain:
        for words, way in _WAYS.items():
            on = functools.partial(_quantized, way=way)
            yield hypothesis(case, ROUNDING, f"{words}, the source rounds halves to even", on, OPERAND + 2)


def _zero_points(case: NodeCase, index: int, array: np.ndarray) -> Iterator[Hypothesis]:
    if array.dtype.kind not in "iu":
        return
    wide, name = array.astype(np.int64), formal(case.node, index)
    for other in (*(wide + step for step in _STEPS), np.zeros_like(wide)):
        changed = other.astype(array.dtype)
        if np.array_equal(changed.astype(np.int64), other) and not np.array_equal(changed, array):
            step = int((other - wide).ravel()[0])
            words = f"{name} is off by {step:+d}: {text(changed)}, the source has {text(array)}"
            yield hypothesis(case, ZERO_POINT, words, _replaced(index, changed), OPERAND + min(abs(step), 8) / 4)


def _scales(case: NodeCase, index: int, array: np.ndarray) -> Iterator[Hypothesis]:
    name = formal(case.node, index)
    factors = _factors(case) if case.node.op_type in ("QuantizeLinear", "DequantizeLinear") else iter(())
    for factor in factors:
        changed = array * factor
        words = f"{name} is {text(float(changed.ravel()[0]))}, the source has {text(float(array.ravel()[0]))}"
        yield hypothesis(case, SCALE, words, _replaced(index, changed), NUMBER)
    if array.size > 1:
        words = f"one {name} for all channels: {text(float(array.ravel()[0]))}, the source has {array.size}"
        same = np.full_like(array, array.ravel()[0])
        yield hypothesis(case, AXIS, words, _replaced(index, same), OPERAND)


def _replaced(index: int, array: np.ndarray) -> Predict:
    """The operand as another constant."""
    return with_operand(index, lambda _: array)


def _factors(case: NodeCase) -> Iterator[float]:
    """By how much all scales would have to be multiplied, if that is what happened."""
    got, truth = np.asarray(case.target), np.asarray(case.truth)
    if got.shape != truth.shape or not truth.size:
        return
    if got.dtype.kind == "f":
        t, g = truth.astype(np.float64).ravel(), got.astype(np.float64).ravel()
        if np.vdot(t, t):
            yield float(np.vdot(t, g) / np.vdot(t, t))
        return
    low, high = _interval(case, got)
    if 0 < low <= high:
        # A short number between the two, as a person would have written it.
        middle = float(f"{np.sqrt(low * high):.4g}")
        yield middle if low <= middle <= high else float(np.sqrt(low * high))


def _interval(case: NodeCase, got: np.ndarray) -> tuple[float, float]:
    """Factors of the scale for which every element would be rounded to what the target gives."""
    x, scale, zero = _spread(case)
    steps = got.astype(np.float64) - zero
    info = np.iinfo(got.dtype)
    inside = (got > info.min) & (got < info.max) & (x != 0)
    real, n = np.abs(x / scale)[inside], np.abs(steps)[inside]
    least, most = n - 0.5, n + 0.5
    with np.errstate(all="ignore"):
        low = np.max(real / most, initial=0.0)
        high = np.min(np.where(least > 0, real / least, np.inf), initial=np.inf)
    return float(low), float(high)


def _spread(case: NodeCase) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The data, and scale and zero point in a shape that spreads over it; per tensor or per axis."""
    x, scale = case.inputs[0], np.asarray(case.inputs[1])
    given = case.inputs[2] if len(case.inputs) > 2 and case.inputs[2] is not None else np.zeros(())
    zero = np.asarray(given).astype(np.float64)
    if scale.ndim == 1 and scale.size > 1:
        shape = [1] * x.ndim
        shape[case.node.attributes["axis"].as_int() if "axis" in case.node.attributes else 1] = -1
        return x, scale.reshape(shape), zero.reshape(shape) if zero.size > 1 else zero
    return x, scale.reshape(()), zero.reshape(()) if zero.size == 1 else zero


def _quantized(case: NodeCase, way: Callable[[Any], Any]) -> Any:
    x, scale, zero = _spread(case)
    kind = case.node.outputs[0].dtype
    own = np.dtype(kind.numpy()) if kind is not None else np.asarray(case.target).dtype
    info = np.iinfo(own)
    return instead(case, np.clip(way(x / scale) + zero, info.min, info.max).astype(own))


def _axes(case: NodeCase) -> Iterator[Hypothesis]:
    now = case.node.attributes["axis"].as_int() if "axis" in case.node.attributes else 1
    rank = np.ndim(case.inputs[0])
    for axis in range(rank):
        if axis != now % max(rank, 1):
            words = f"scales go along axis {axis}, in the source along {now}"
            yield hypothesis(case, AXIS, words, with_attributes({"axis": axis}), ATTRIBUTE)
