"""What Loop and Scan share: shapes that hold through every step, and outputs collected step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Listing
from trueport.backends.tensorflow.lists import element_shape

__all__ = ["Collected", "listable", "listable_dtype", "shapes_of_steps", "unlisted"]

_BITS = ("float8_e4m3fn", "float8_e5m2")
_NIBBLES = {"int4": "int8", "uint4": "uint8"}


def listable(tensor: Any) -> Any:
    """The tensor in a type that TensorList's kernels take."""
    if tensor.dtype.name in _BITS:
        return tf.bitcast(tensor, tf.uint8)
    return tf.cast(tensor, _NIBBLES.get(tensor.dtype.name, tensor.dtype))


def unlisted(tensor: Any, dtype: Any) -> Any:
    """The inverse of :func:`listable`."""
    return tf.bitcast(tensor, dtype) if dtype.name in _BITS else tf.cast(tensor, dtype)


def shapes_of_steps(step: Callable[..., tuple[Any, Any]], carried: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The most specific shapes that hold before and after each step, and those of what each step gives besides.

    ``step(*carried) -> (carried, given)`` is traced aside until the shapes it is given hold for its results too.
    """
    shapes = tf.nest.map_structure(lambda x: x.shape, list(carried))
    while True:
        specs = tf.nest.map_structure(lambda x, s: tf.TensorSpec(s, x.dtype), list(carried), shapes)
        after, given = tf.function(step, autograph=False).get_concrete_function(*specs).structured_outputs
        merged = tf.nest.map_structure(lambda s, x: s.most_specific_compatible_shape(x.shape), shapes, list(after))
        if str(merged) == str(shapes):
            return shapes, list(given)
        shapes = merged


@dataclass(frozen=True)
class Collected:
    """One value per step, stacked along a new first axis at the end."""

    dtype: Any
    shape: Any
    """what is known of one step's shape"""
    count: Any
    """the number of steps, or None where it shows only at the end"""

    def start(self) -> Listing:
        """An empty list, or one with all its places reserved."""
        shape, dtype = element_shape(self.shape), listable_dtype(self.dtype)
        if self.count is None:
            return Listing(tf.raw_ops.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=dtype))
        size = tf.cast(self.count, tf.int32)
        return Listing(tf.raw_ops.TensorListReserve(element_shape=shape, num_elements=size, element_dtype=dtype))

    def add(self, listing: Listing, index: Any, tensor: Any) -> Listing:
        """The list with the value of step ``index``."""
        item = listable(tensor)
        if self.count is None:
            return Listing(tf.raw_ops.TensorListPushBack(input_handle=listing.handle, tensor=item))
        index = tf.cast(index, tf.int32)
        return Listing(tf.raw_ops.TensorListSetItem(input_handle=listing.handle, index=index, item=item))

    def stacked(self, listing: Listing) -> Any:
        """All values; without any step, dims that are not known are 0."""
        shape = element_shape(self.shape)
        if not self.shape.is_fully_defined():
            empty = tf.equal(tf.raw_ops.TensorListLength(input_handle=listing.handle), 0)
            nothing = tf.maximum(shape, 0) if self.shape.rank is not None else tf.zeros([0], tf.int32)
            shape = tf.cond(empty, lambda: nothing, lambda: shape)
        dtype = listable_dtype(self.dtype)
        stack = tf.raw_ops.TensorListStack(input_handle=listing.handle, element_shape=shape, element_dtype=dtype)
        known = None if self.count is None else tf.get_static_value(self.count)
        stack.set_shape(tf.TensorShape([known]).concatenate(self.shape))
        return unlisted(stack, self.dtype)


def listable_dtype(dtype: Any) -> Any:
    """The dtype that :func:`listable` gives."""
    return tf.uint8 if dtype.name in _BITS else tf.as_dtype(_NIBBLES.get(dtype.name, dtype))
