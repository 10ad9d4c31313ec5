"""Shapes and axes that may be known only at run time, and moving data of types that kernels do not take.

Moving data: most TensorFlow kernels are registered for the common types only. ``moving`` runs one on a carrier:

    moving(lambda x: tf.transpose(x, perm), data)                 # the 4-bit integers and float8 ride on wider types
    moving(lambda x: tf.tile(x, n), input, lacking=("uint16",))   # a type that this one kernel lacks rides on its bits

A carrier holds every value of the type, so nothing is rounded. Types that TensorFlow has no kernels for at all are
plain integers here already (see ``trueport.ir.ports.CONTAINERS``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from trueport.backends.tensorflow._tf import tf

__all__ = [
    "axis_mask",
    "known_entries",
    "moving",
    "normalized",
    "of_rank",
    "picked_entries",
    "rank_of",
    "shape_of",
]

Tensor = Any

_CARRIERS = {"int4": "int8", "uint4": "uint8", "float8_e4m3fn": "float16", "float8_e5m2": "float16"}
_BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def moving(move: Callable[..., Tensor], *tensors: Tensor, lacking: Collection[str] = ()) -> Tensor:
    """``move(*tensors)`` for an operation that only moves elements; on a carrier where its kernel lacks their type."""
    dtype = tensors[0].dtype
    if dtype.name in _CARRIERS:
        return tf.cast(move(*(tf.cast(tensor, _CARRIERS[dtype.name]) for tensor in tensors)), dtype)
    if dtype.name in lacking:
        return tf.bitcast(move(*(tf.bitcast(tensor, _BITS[dtype.size]) for tensor in tensors)), dtype)
    return move(*tensors)


def rank_of(tensor: Tensor) -> int | Tensor:
    """The rank: a number where it is known, else an int32 scalar."""
    rank = tensor.shape.rank
    return tf.rank(tensor) if rank is None else rank


def of_rank(tensor: Tensor, rank: int | None) -> Tensor:
    """The tensor with the rank that the operator gives it, where its own is not known."""
    if tensor.shape.rank is not None or rank is None:
        return tensor
    return tf.ensure_shape(tensor, [None] * rank)


def shape_of(tensor: Tensor) -> Tensor:
    """The shape, int64; a constant where it is known."""
    return tf.shape(tensor, out_type=tf.int64)


def known_entries(vector: Tensor) -> list[int | None] | None:
    """What is known of a vector on its way into a shape, entry by entry; None where not even its length is."""
    known = tf.get_static_value(vector)
    if known is not None:
        return list(known.tolist())
    inputs = vector.op.inputs
    if vector.op.type == "Shape" and inputs[0].shape.rank is not None:
        return list(inputs[0].shape.as_list())
    if vector.op.type == "Pack":
        return [None if value is None else int(value) for value in map(tf.get_static_value, inputs)]
    if vector.op.type == "ConcatV2":
        parts = [known_entries(part) for part in inputs[:-1]]
        return None if None in parts else [entry for part in parts for entry in part or ()]
    return None if vector.shape[0] is None else [None] * vector.shape[0]


def picked_entries(vector: Tensor, at: np.ndarray | slice) -> Tensor | None:
    """``vector[at]`` as a constant, where those entries are known; else None."""
    if not vector.dtype.is_integer:
        return None
    entries = known_entries(vector)
    chosen = None if entries is None else np.array(entries, object)[at]
    if chosen is None or None in np.ravel(chosen):
        return None
    return tf.constant(np.array(chosen, vector.dtype.as_numpy_dtype))


def normalized(axes: Sequence[int] | np.ndarray, rank: int) -> list[int]:
    """Axes counted from the front."""
    return [int(axis) + rank if axis < 0 else int(axis) for axis in axes]


def axis_mask(axes: Tensor, rank: int | Tensor) -> Tensor:
    """A bool vector of length ``rank``, true at the axes (which may be negative)."""
    axes = tf.reshape(axes, [-1])
    count = tf.cast(rank, axes.dtype)
    positive = tf.where(axes < 0, axes + count, axes)
    return tf.reduce_any(tf.range(count) == positive[:, tf.newaxis], axis=0)
