"""Resampling along single axes by the formulas of PyTorch's CPU kernels.

Resize of ONNX derives scales and lengths in other ways than PyTorch: where they differ, each new sample is gathered
from the old ones by coordinates that are computed here. Where an axis has known lengths this is done in NumPy, and the
graph holds constants; else the same formula stands in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.frontends.torch.translate.recording import TorchTranslation
from trueport.ir.build import known_array
from trueport.ir.dtypes import numpy_dtype

__all__ = ["CUBIC", "LANCZOS", "LINEAR", "Axis", "Kernel", "axes_of", "is_small_image", "resample", "sizes_of"]

Value = ir.Value
_D = ir.DataType
_SMALL_IMAGE = 128
"""PyTorch has a kernel of its own for images whose new height and width add up to no more than this."""


@dataclass(frozen=True)
class Axis:
    """One axis that is resampled."""

    index: int
    old: int | None
    """its length; None where that is known only when the model runs"""
    new: int | None
    factor: float | None
    """the user's scale factor, which PyTorch derives coordinates from; None where they follow from both lengths"""
    lengths: tuple[Value, Value]
    """both lengths, int64 scalars"""

    @property
    def is_fixed(self) -> bool:
        return self.old is not None and self.new is not None

    @property
    def may_copy(self) -> bool:
        """True if a fractional factor can leave the length as it is: most kernels then copy, whatever the factor."""
        if self.factor is None or self.factor <= 1 or self.factor >= 2:
            return False
        return not self.is_fixed or self.old == self.new

    def ratio(self, align: bool, copies: bool) -> float:
        """Old samples per new one, for known lengths; ``copies``: the kernel copies an axis whose length stays."""
        assert self.old is not None and self.new is not None
        if align:
            return (self.old - 1) / (self.new - 1) if self.new > 1 else 0.0
        if self.factor is None:
            return self.old / self.new
        return 1.0 if copies and self.may_copy else 1.0 / self.factor


@dataclass(frozen=True)
class Kernel:
    """A filter."""

    name: str
    reach: int
    """half of its width, in samples"""
    coefficient: float = 0.0


LINEAR, CUBIC, LANCZOS = Kernel("linear", 1), Kernel("cubic", 2, -0.75), Kernel("lanczos", 3)


def axes_of(t: TorchTranslation, x: Value, output_size: Any, factors: Sequence[float | None] | None) -> list[Axis]:
    """The spatial axes of ``x[N, C, …]`` with their lengths, from a size or from factors."""
    made = []
    for position, index in enumerate(range(2, t.rank(x))):
        old = t.dims(x)[index]
        before = (
            t.op.Squeeze(t.op.Shape(x, start=index, end=index + 1), [0]) if old is None else t.op.const(np.array(old))
        )
        if output_size is not None:
            new, after = _entry(t, output_size, position)
        else:
            assert factors is not None, "PyTorch wants a size or factors"
            new, after = _scaled(t, old, before, float(factors[position] or 0))
        factor = factors[position] if factors is not None else None
        # Old files hold -1 for a factor that was not given.
        made.append(Axis(index, old, new, float(factor) if factor and factor > 0 else None, (before, after)))
    return made


def _entry(t: TorchTranslation, sizes: Any, position: int) -> tuple[int | None, Value]:
    """One entry of an output size: a list of numbers and values, or a vector of the graph."""
    if isinstance(sizes, ir.Value):
        known = known_array(sizes)
        if known is None:
            return None, t.op.Gather(t.int64(sizes), t.op.const(np.array(position)))
        entry: Any = int(known[position])
    else:
        entry = sizes[position]
    if isinstance(entry, ir.Value):
        known = known_array(entry)
        if known is None:
            return None, t.op.Reshape(t.int64(entry), t.op.const(np.zeros(0, np.int64)))
        entry = int(known.reshape(()))
    return int(entry), t.op.const(np.array(int(entry)))


def _scaled(t: TorchTranslation, old: int | None, before: Value, factor: float) -> tuple[int | None, Value]:
    """The length times a factor, by float64 as PyTorch has it, without its fraction."""
    if old is not None:
        new = int(old * factor)
        return new, t.op.const(np.array(new))
    if factor == int(factor):
        return None, t.op.Mul(before, t.op.const(np.array(int(factor))))
    exact = t.op.Mul(t.op.Cast(before, to=_D.DOUBLE), t.op.const(np.float64(factor)))
    return None, t.op.Cast(exact, to=_D.INT64)


def sizes_of(t: TorchTranslation, x: Value, axes: Sequence[Axis]) -> Value:
    """The whole new shape, as Resize takes it."""
    known = [axis.new for axis in axes]
    spatial = (
        t.op.const(np.array(known, np.int64))
        if None not in known
        else t.op.Concat(*(t.op.Unsqueeze(axis.lengths[1], [0]) for axis in axes), axis=0)
    )
    return t.op.Concat(t.op.Shape(x, start=0, end=2), spatial, axis=0)


def is_small_image(t: TorchTranslation, axes: Sequence[Axis]) -> bool | Value:
    """True for images that PyTorch has its kernel for small ones for; a value where sizes are not known."""
    if len(axes) != 2:
        return False
    if axes[0].new is not None and axes[1].new is not None:
        return axes[0].new + axes[1].new <= _SMALL_IMAGE
    return t.op.LessOrEqual(t.op.Add(axes[0].lengths[1], axes[1].lengths[1]), np.array(_SMALL_IMAGE))


def resample(
    t: TorchTranslation, x: Value, axes: Sequence[Axis], kernel: Kernel, align: bool, antialias: bool
) -> Value:
    """Sums of old samples along each axis, the last one first; ``x`` is float32 or float64."""
    for axis in reversed(axes):
        if axis.is_fixed:
            x = _by_matrix(t, x, axis, _matrix(axis, kernel, align, antialias))
        else:
            line = _Line(t, x, axis, align, _copies(kernel, antialias))
            x = line.filtered(x, kernel) if antialias else line.mixed(x, kernel)
    return x


def _copies(kernel: Kernel, antialias: bool) -> bool:
    """True if PyTorch's kernel copies an axis whose length stays, though a factor says otherwise."""
    return antialias or kernel is LINEAR


def _matrix(axis: Axis, kernel: Kernel, align: bool, antialias: bool) -> np.ndarray:
    """Weights of old samples, one row per new sample."""
    assert axis.old is not None and axis.new is not None
    old, ratio, steps = axis.old, axis.ratio(align, _copies(kernel, antialias)), np.arange(axis.new)
    made = np.zeros((axis.new, old))
    if antialias:
        stretch = max(ratio, 1.0)
        centres = ratio * (steps[:, None] + 0.5)
        samples = np.arange(old)
        first, last = (np.floor(centres + side * kernel.reach * stretch + 0.5) for side in (-1, 1))
        weights = _weight(kernel, (samples - centres + 0.5) / stretch, _ARRAYS)
        made = np.where((samples >= first) & (samples < last), weights, 0)
        return np.asarray(made / made.sum(axis=1, keepdims=True))
    at = ratio * steps if align else ratio * (steps + 0.5) - 0.5
    if kernel is LINEAR:
        at = np.clip(at, 0, old - 1)
    base = np.floor(at)
    for offset in range(1 - kernel.reach, 1 + kernel.reach):
        positions = np.clip(base + offset, 0, old - 1).astype(np.int64)
        np.add.at(made, (steps, positions), _weight(kernel, at - base - offset, _ARRAYS))
    return made


def _by_matrix(t: TorchTranslation, x: Value, axis: Axis, matrix: np.ndarray) -> Value:
    """Each new sample is a sum of its own few old ones, so that a NaN reaches no further than these."""
    used = matrix != 0
    first = used.argmax(axis=1)
    count = matrix.shape[1] - used[:, ::-1].argmax(axis=1) - first
    steps = np.arange(count.max())
    positions = first[:, None] + np.minimum(steps, count[:, None] - 1)
    weights = np.where(steps < count[:, None], np.take_along_axis(matrix, positions, axis=1), 0)
    if np.array_equal(positions, np.arange(matrix.shape[1])[:, None]) and np.all(weights == 1):
        return x
    return _summed(t, x, axis.index, t.op.const(positions), t.op.like(weights, x))


def _summed(t: TorchTranslation, x: Value, axis: int, positions: Value, weights: Value) -> Value:
    """Sums of gathered samples; ``positions`` and ``weights`` are [new, taps]."""
    taken = t.op.Gather(x, positions, axis=axis)
    behind = t.rank(x) - axis - 1
    shaped = t.op.Unsqueeze(weights, list(range(2, 2 + behind))) if behind else weights
    return t.op.ReduceSum(t.op.Mul(taken, shaped), [axis + 1], keepdims=0)


class _Line:
    """An axis whose lengths are known only when the model runs."""

    def __init__(self, t: TorchTranslation, x: Value, axis: Axis, align: bool, copies: bool) -> None:
        self._t, self._axis, self._align = t, axis, align
        self._may_copy = copies and axis.may_copy
        self._dtype = t.dtype(x)
        self._old, self._new = (t.op.Cast(length, to=self._dtype) for length in axis.lengths)
        steps = t.op.Range(np.array(0), axis.lengths[1], np.array(1))
        self._steps = t.op.Cast(steps, to=self._dtype)
        self._ratio = self._old_per_new()

    def _number(self, number: float) -> Value:
        return self._t.op.const(np.asarray(number, numpy_dtype(self._dtype)))

    def _old_per_new(self) -> Value:
        op, one = self._t.op, self._number(1)
        made: Value
        if self._align:
            gaps = op.Max(op.Sub(self._new, one), one)
            aligned = op.Div(op.Sub(self._old, one), gaps)
            made = op.Where(op.Greater(self._axis.lengths[1], np.array(1)), aligned, self._number(0))
        elif self._axis.factor is None:
            made = op.Div(self._old, self._new)
        else:
            made = self._number(1 / self._axis.factor)
            made = op.Where(op.Equal(*self._axis.lengths), one, made) if self._may_copy else made
        return made

    def _coordinates(self, centred: bool) -> Value:
        """Where new samples lie among the old ones: their centres, or the corners of their cells."""
        op, half = self._t.op, self._number(0.5)
        if self._align and centred:
            return op.Mul(self._steps, self._ratio)
        at = op.Mul(op.Add(self._steps, half), self._ratio)
        return op.Sub(at, half) if centred else at

    def mixed(self, x: Value, kernel: Kernel) -> Value:
        """The samples next to each coordinate; beyond the edge the edge's sample counts."""
        op, zero, last = self._t.op, self._number(0), self._t.op.Sub(self._old, self._number(1))
        at = self._coordinates(centred=True)
        if kernel is LINEAR:
            at = op.Min(op.Max(at, zero), last)
        base = op.Floor(at)
        share = op.Sub(at, base)
        total = None
        for offset in range(1 - kernel.reach, 1 + kernel.reach):
            inside = op.Min(op.Max(op.Add(base, self._number(offset)), zero), last)
            weight = _weight(kernel, op.Sub(share, self._number(offset)), _on_values(self._t, self._dtype))
            behind = self._t.rank(x) - self._axis.index - 1
            shaped = op.Unsqueeze(weight, list(range(1, 1 + behind))) if behind else weight
            term = op.Mul(op.Gather(x, op.Cast(inside, to=_D.INT64), axis=self._axis.index), shaped)
            total = term if total is None else op.Add(total, term)
        assert isinstance(total, ir.Value)
        return total

    def filtered(self, x: Value, kernel: Kernel) -> Value:
        """All samples under the filter, which is stretched where samples get fewer; its weights add up to one."""
        op, zero, half = self._t.op, self._number(0), self._number(0.5)
        stretch = op.Max(self._ratio, self._number(1))
        reach = op.Mul(stretch, self._number(kernel.reach))
        centres = op.Unsqueeze(self._coordinates(centred=False), [1])
        first = op.Max(op.Floor(op.Add(op.Sub(centres, reach), half)), zero)
        last = op.Min(op.Floor(op.Add(op.Add(centres, reach), half)), self._old)
        widest = op.Cast(op.Ceil(op.Add(op.Add(reach, reach), self._number(1))), to=_D.INT64)
        taps = op.Cast(op.Range(np.array(0), widest, np.array(1)), to=self._dtype)
        positions = op.Add(first, op.Unsqueeze(taps, [0]))
        inside = op.Less(positions, last)
        distance = op.Div(op.Add(op.Sub(positions, centres), half), stretch)
        weights = op.Where(inside, _weight(kernel, distance, _on_values(self._t, self._dtype)), zero)
        weights = op.Div(weights, op.ReduceSum(weights, [1], keepdims=1))
        bounded = op.Min(positions, op.Sub(last, self._number(1)))
        return _summed(self._t, x, self._axis.index, op.Cast(bounded, to=_D.INT64), weights)


@dataclass(frozen=True)
class _Arithmetic:
    """What filters are computed with: on arrays, or on values of the graph."""

    number: Callable[[float], Any]
    add: Callable[..., Any]
    sub: Callable[..., Any]
    mul: Callable[..., Any]
    abs: Callable[..., Any]
    less: Callable[..., Any]
    where: Callable[..., Any]
    maximum: Callable[..., Any]
    sinc: Callable[..., Any]
    """``sin(pi x) / (pi x)``, 1 at 0"""


_ARRAYS = _Arithmetic(float, np.add, np.subtract, np.multiply, np.abs, np.less, np.where, np.maximum, np.sinc)


def _on_values(t: TorchTranslation, dtype: ir.DataType) -> _Arithmetic:
    op = t.op

    def number(x: float) -> Value:
        return op.const(np.asarray(x, numpy_dtype(dtype)))

    def sinc(x: Value) -> Value:
        angle = op.Mul(x, number(np.pi))
        zero = op.Equal(angle, number(0))
        return op.Where(zero, number(1), op.Div(op.Sin(angle), op.Where(zero, number(1), angle)))

    return _Arithmetic(number, op.Add, op.Sub, op.Mul, op.Abs, op.Less, op.Where, op.Max, sinc)


def _weight(kernel: Kernel, distance: Any, on: _Arithmetic) -> Any:
    """The filter at a distance, in samples."""
    x = on.abs(distance)
    if kernel.name == "linear":
        return on.maximum(on.sub(on.number(1), x), on.number(0))
    inside = on.less(x, on.number(kernel.reach))
    if kernel.name == "lanczos":
        return on.where(inside, on.mul(on.sinc(x), on.sinc(on.mul(x, on.number(1 / 3)))), on.number(0))
    a = kernel.coefficient
    near = _polynomial(on, x, (a + 2, -(a + 3), 0, 1))
    far = _polynomial(on, x, (a, -5 * a, 8 * a, -4 * a))
    return on.where(on.less(x, on.number(1)), near, on.where(inside, far, on.number(0)))


def _polynomial(on: _Arithmetic, x: Any, coefficients: Sequence[float]) -> Any:
    made: Any = on.number(coefficients[0])
    for coefficient in coefficients[1:]:
        made = on.add(on.mul(made, x), on.number(coefficient))
    return made
