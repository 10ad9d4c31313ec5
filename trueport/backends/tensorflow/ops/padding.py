"""Tensors made larger or smaller at their ends."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.shapes import axis_mask, moving, normalized, rank_of, shape_of
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []

Amounts = np.ndarray | Tensor
"""``[rank, 2]``: how much to add before and after along each axis; negative amounts are cut off."""

_MIRROR_PAD_RANK = 5
"""The highest rank that the MirrorPad kernel takes."""


def _repeats(node: ir.Node) -> bool:
    return node.attributes.get_string("mode", "constant") != "constant"


@maps("Pad", needs=[known_rank(0, when=_repeats)], fidelity=BITWISE, audited=25)
def pad(
    t: Emission, data: Tensor, pads: Tensor, constant_value: Tensor | None, axes: Tensor | None, *, mode: str
) -> Tensor:
    amounts = _amounts(t, data, pads, axes)
    data = _cut(data, amounts)
    added = np.maximum(amounts, 0) if isinstance(amounts, np.ndarray) else tf.maximum(amounts, 0)
    if isinstance(added, np.ndarray) and not added.any():
        return tf.identity(data)
    if mode != "constant":
        return _repeated(t, data, added, mode)
    if constant_value is None:
        return moving(lambda x: tf.pad(x, added), data)
    fill = tf.reshape(constant_value, [])
    if data.dtype.is_floating and t.static(constant_value) is None:
        # The same as below, and with a gradient for the value.
        inside = tf.pad(tf.ones_like(data, tf.bool), added)
        return moving(lambda x, value: tf.where(inside, tf.pad(x, added), value), data, fill)
    return moving(lambda x, value: tf.pad(x, added, constant_values=value), data, fill)


def _amounts(t: Emission, data: Tensor, pads: Tensor, axes: Tensor | None) -> Amounts:
    known, known_axes = t.static(pads), t.static(axes)
    if known is not None and data.shape.rank is not None and (axes is None or known_axes is not None):
        amounts = np.zeros([data.shape.rank, 2], np.int64)
        at = range(data.shape.rank) if known_axes is None else normalized(known_axes, data.shape.rank)
        amounts[list(at)] = known.reshape(2, -1).T
        return amounts
    pairs = tf.transpose(tf.reshape(pads, [2, -1]))
    if axes is None:
        return tf.ensure_shape(pairs, [data.shape.rank, 2])
    rank = rank_of(data)
    order = tf.argsort(tf.where(axes < 0, axes + tf.cast(rank, axes.dtype), axes))
    at = tf.where(axis_mask(axes, rank))
    full = tf.scatter_nd(at, tf.gather(pairs, order), tf.cast([rank, 2], tf.int64))
    return tf.ensure_shape(full, [data.shape.rank, 2])


def _cut(data: Tensor, amounts: Amounts) -> Tensor:
    """The data without what negative amounts take off."""
    if isinstance(amounts, np.ndarray):
        if (amounts >= 0).all():
            return data
        taken = np.maximum(-amounts, 0)
        cuts = tuple(slice(before, -after or None) for before, after in taken.tolist())
        return moving(lambda x: x[cuts], data)
    taken = tf.maximum(-amounts, 0)
    sizes = tf.maximum(shape_of(data) - tf.reduce_sum(taken, 1), 0)
    return moving(lambda x: tf.slice(x, taken[:, 0], sizes), data)


def _repeated(t: Emission, data: Tensor, added: Amounts, mode: str) -> Tensor:
    """Padding with elements of the data itself."""
    rank = t.rank(data)
    if mode == "reflect" and isinstance(added, np.ndarray) and _mirrors_once(data, added):
        return moving(lambda x: tf.pad(x, added, "REFLECT"), data)
    for axis in range(rank):
        if isinstance(added, np.ndarray) and not added[axis].any():
            continue
        size = tf.cast(size_of(data, axis, tf.int64), tf.int64)
        places = tf.range(-added[axis, 0], size + added[axis, 1], dtype=tf.int64)
        sources = _SOURCES[mode](places, size)
        data = moving(functools.partial(_taken, at=sources, axis=axis), data)
    return data


def _taken(data: Tensor, at: Tensor, axis: int) -> Tensor:
    return tf.gather(data, at, axis=axis)


def _mirrors_once(data: Tensor, added: np.ndarray) -> bool:
    sizes = data.shape.as_list()
    return len(sizes) <= _MIRROR_PAD_RANK and all(
        size is not None and most < size for size, most in zip(sizes, added.max(1), strict=True) if most
    )


def _reflected(places: Tensor, size: Tensor) -> Tensor:
    last = size - 1
    return last - tf.abs(last - tf.math.floormod(places, tf.maximum(2 * last, 1)))


_SOURCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "reflect": _reflected,
    "edge": lambda places, size: tf.clip_by_value(places, 0, size - 1),
    "wrap": lambda places, size: tf.math.floormod(places, size),
}
"""Which element stands at a place that may lie outside."""


@maps("CenterCropPad", needs=[known_rank(0)], fidelity=BITWISE, audited=18)
def center_crop_pad(t: Emission, input_data: Tensor, shape: Tensor, *, axes: list[int] | None) -> Tensor:
    rank = t.rank(input_data)
    at = normalized(range(rank) if axes is None else axes, rank)
    whole = [size_of(input_data, axis, tf.int64) for axis in at]
    known = t.static(shape)
    if known is not None and all(isinstance(size, int) for size in whole):
        half = np.trunc((known - np.array(whole)) / 2).astype(np.int64)
        amounts = np.zeros([rank, 2], np.int64)
        amounts[at] = np.stack([half, known - np.array(whole) - half], 1)
        return moving(lambda x: tf.pad(x, np.maximum(amounts, 0)), _cut(input_data, amounts))
    missing = tf.cast(shape, tf.int64) - tf.stack(tf.nest.map_structure(lambda d: tf.cast(d, tf.int64), whole))
    # Both a crop's start and a padding's start are rounded down, towards no change.
    half = tf.sign(missing) * (tf.abs(missing) // 2)
    pairs = tf.stack([half, missing - half], 1)
    amounts = tf.scatter_nd(tf.constant(at, tf.int64)[:, tf.newaxis], pairs, tf.constant([rank, 2], tf.int64))
    return moving(lambda x: tf.pad(x, tf.maximum(amounts, 0)), _cut(input_data, amounts))
