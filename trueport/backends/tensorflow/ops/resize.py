"""Resize: every axis by itself, or one of TensorFlow's image operators where that is the same function."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.clustering import outside_clusters
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.resampling import (
    Axis,
    coordinates,
    mixed_strings,
    nearest,
    settled,
    taps,
    weighted_sum,
)
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []


_MIXED = mixed_strings(
    "nearest",
    '(string[2,2] x) => (string[4,4] y) { s = Constant<value_floats=[2.0,2.0]>() y = Resize<mode="linear">(x, "", s) }',
)


@maps("Resize", needs=[known_rank(0)], audited=19, limits=[_MIXED])
def resize(
    t: Emission,
    X: Tensor,
    roi: Tensor | None,
    scales: Tensor | None,
    sizes: Tensor | None,
    *,
    antialias: int,
    axes: list[int] | None,
    coordinate_transformation_mode: str,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
    keep_aspect_ratio_policy: str,
    mode: str,
    nearest_mode: str,
) -> Tensor:
    cropping = coordinate_transformation_mode == "tf_crop_and_resize"
    resized = _axes(t, X, roi if cropping else None, scales, sizes, axes, keep_aspect_ratio_policy)
    truncate = mode == "linear" and not antialias
    exact = X.dtype in (tf.float64, tf.complex128) or (X.dtype.is_integer and not truncate)
    precision = tf.float64 if exact and mode != "nearest" else tf.float32
    options = (mode, cubic_coeff_a, bool(antialias), bool(exclude_outside))

    def sample(axis: Axis, data: Tensor) -> Tensor:
        known = (axis.length, axis.resized, axis.scale, axis.start, axis.end)
        ties = mode == "nearest"
        x = settled(known, lambda: coordinates(axis, coordinate_transformation_mode, precision, exact_ties=ties))
        if mode == "nearest":
            made = tf.gather(data, settled(known, lambda: nearest(axis, x, nearest_mode)), axis=axis.index)
        else:
            made = weighted_sum(data, axis.index, settled(known, lambda: taps(axis, x, *options)))
        return _extrapolated(made, axis, x, extrapolation_value) if cropping else made

    def work(data: Tensor, axes: list[Axis]) -> Tensor:
        if options == ("linear", cubic_coeff_a, False, False) and _is_bilinear(
            data, axes, coordinate_transformation_mode
        ):
            target = [axis.resized for axis in axes]
            return tf.raw_ops.ResizeBilinear(images=data, size=target, **_BILINEAR[coordinate_transformation_mode])
        # The last axis first: what follows then moves longer runs.
        for axis in sorted(axes, key=lambda axis: -axis.index):
            data = _unless_same(axis, data, sample)
        return data

    if mode == "nearest":
        return _channels_behind(X, resized, work)
    return _in_floats(X, lambda data: _channels_behind(data, resized, work), precision, truncate)


def _axes(
    t: Emission,
    X: Tensor,
    roi: Tensor | None,
    scales: Tensor | None,
    sizes: Tensor | None,
    axes: list[int] | None,
    policy: str,
) -> list[Axis]:
    """The axes that change, with all numbers that are known."""
    rank = t.rank(X)
    order = [axis % rank for axis in axes] if axes is not None else list(range(rank))
    count, lengths = len(order), [size_of(X, axis) for axis in order]
    if sizes is None:
        factors = _entries(t, scales, count)
        widths = [_float(factor) * _float(length) for factor, length in zip(factors, lengths, strict=True)]
        targets = [_whole(width) for width in widths]
    else:
        targets = _entries(t, sizes, count)
        if policy == "stretch":
            targets = [lengths[i] if _stays(t, axis) else targets[i] for i, axis in enumerate(order)]
        factors = [_ratio(target, length) for target, length in zip(targets, lengths, strict=True)]
        widths = targets
    if sizes is not None and policy != "stretch":
        factors = [_extreme(factors, largest=policy == "not_smaller")] * count
        widths = [_float(factors[0]) * _float(length) for length in lengths]
        targets = [_whole(width + np.float32(0.5)) for width in widths]
    bounds = _entries(t, roi, 2 * count) if roi is not None else [None] * 2 * count
    made = zip(order, lengths, targets, factors, widths, bounds[:count], bounds[count:], strict=True)
    return [Axis(*fields) for fields in made if roi is not None or tf.is_tensor(fields[3]) or fields[3] != 1]


def _entries(t: Emission, vector: Tensor, count: int) -> list[Any]:
    known = t.static(vector)
    if known is not None:
        return [int(x) if known.dtype.kind == "i" else np.float32(x) for x in known]
    dtype = tf.int32 if vector.dtype.is_integer else tf.float32
    return list(tf.unstack(tf.cast(vector, dtype), count))


def _stays(t: Emission, axis: int) -> bool:
    """Whether shape inference gave the dimension the same symbol before and after."""
    before, after = t.node.inputs[0], t.node.outputs[0]
    if before is None or before.shape is None or after.shape is None:
        return False
    here = before.shape[axis]
    return isinstance(here, ir.SymbolicDim) and here.value is not None and here == after.shape[axis]


def _float(x: Any) -> Any:
    return tf.cast(x, tf.float32) if tf.is_tensor(x) else np.float32(x)


def _ratio(target: Any, length: Any) -> Any:
    if target is length or (not tf.is_tensor(target) and not tf.is_tensor(length) and target == length):
        return np.float32(1)
    return _float(target) / _float(length)


def _whole(x: Any) -> Any:
    return tf.cast(tf.math.floor(x), tf.int32) if tf.is_tensor(x) else int(np.floor(x))


def _extreme(factors: list[Any], largest: bool) -> Any:
    if any(tf.is_tensor(factor) for factor in factors):
        return (tf.reduce_max if largest else tf.reduce_min)(tf.stack(factors))
    return (max if largest else min)(factors)


def _unless_same(axis: Axis, data: Tensor, sample: Callable[[Axis, Tensor], Tensor]) -> Tensor:
    """An axis whose scale is only known at run time is often the batch or the channels: then nothing is done."""
    if not tf.is_tensor(axis.scale) or axis.start is not None:
        return sample(axis, data)

    def sampled() -> Tensor:
        with outside_clusters():  # the scope around a node does not reach into a branch
            return sample(axis, data)

    made = tf.cond(tf.equal(axis.scale, 1.0), lambda: data, sampled)
    made.set_shape([None if i == axis.index else d for i, d in enumerate(data.shape)])
    return made


def _extrapolated(made: Tensor, axis: Axis, x: Tensor, value: float) -> Tensor:
    outside = (x < 0) | (x > tf.cast(axis.length, x.dtype) - 1)
    outside = tf.reshape(outside, [-1, *[1] * (made.shape.rank - axis.index - 1)])
    return tf.where(outside, tf.cast(value, made.dtype), made)


def _channels_behind(X: Tensor, axes: list[Axis], work: Callable[[Tensor, list[Axis]], Tensor]) -> Tensor:
    """Images with their channels in front are turned around: gathering single pixels costs more than two transposes."""
    if X.shape.rank != 4 or X.shape[1] == 1 or {axis.index for axis in axes} != {2, 3}:
        return work(X, axes)
    behind = [dataclasses.replace(axis, index=axis.index - 1) for axis in sorted(axes, key=lambda axis: axis.index)]
    return tf.transpose(work(tf.transpose(X, [0, 2, 3, 1]), behind), [0, 3, 1, 2])


def _is_bilinear(X: Tensor, axes: list[Axis], transform: str) -> bool:
    """Whether TensorFlow's kernel is the same function.

    It derives the scale from the two lengths, so the output's must be exactly the scaled input's.
    """
    image = X.shape.rank == 4 and [axis.index for axis in axes] == [1, 2] and X.dtype == tf.float32
    if not image or transform not in _BILINEAR:
        return False
    if transform == "pytorch_half_pixel" and any(tf.is_tensor(a.resized) or a.resized == 1 for a in axes):
        return False
    return all(axis.width is axis.resized or _divides(axis) for axis in axes)


def _divides(axis: Axis) -> bool:
    if tf.is_tensor(axis.width):
        return not tf.is_tensor(axis.scale) and bool(axis.scale == np.floor(axis.scale))
    return bool(axis.width == axis.resized)


def _in_floats(X: Tensor, work: Callable[[Tensor], Tensor], precision: Any, truncate: bool) -> Tensor:
    """Half precision in float32, integers in floats.

    ONNX Runtime cuts the fraction of linear interpolation off; the other modes it does not have for integers,
    and the reference evaluator rounds.
    """
    if X.dtype.is_complex:
        return tf.complex(work(tf.math.real(X)), work(tf.math.imag(X)))
    if X.dtype == precision:
        return work(X)
    made = work(tf.cast(X, tf.float64 if X.dtype.is_integer and X.dtype.size > 2 else precision))
    if X.dtype.is_integer:
        return tf.saturate_cast(made if truncate else tf.round(made), X.dtype)
    return tf.cast(made, X.dtype)


_BILINEAR = {
    "half_pixel": {"half_pixel_centers": True},
    "pytorch_half_pixel": {"half_pixel_centers": True},
    "asymmetric": {},
    "align_corners": {"align_corners": True},
}
