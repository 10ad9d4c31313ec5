"""What Loop and Scan share: shapes that hold through every step, and outputs collected step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Listing
from trueport.backends.tensorflow.build.passage import narrowed, wide_dtype, widened
from trueport.backends.tensorflow.kernels.lists import element_shape

__all__ = ["Collected", "passing", "shapes_of_steps"]

Step = Callable[..., tuple[list[Any], list[Any]]]
"""``step(*carried) -> (carried, given)``"""


def passing(step: Step, carried: Sequence[Any]) -> tuple[Step, list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """A loop whose carried values pass in types that they can pass in: its step, its start, and the way back."""
    dtypes = [getattr(value, "dtype", None) for value in carried]

    def back(values: Sequence[Any]) -> list[Any]:
        return [v if dtype is None else narrowed(v, dtype) for v, dtype in zip(values, dtypes, strict=True)]

    def wide_step(*values: Any) -> tuple[list[Any], list[Any]]:
        after, given = step(*back(values))
        return [widened(value) for value in after], given

    return wide_step, [widened(value) for value in carried], back


def shapes_of_steps(step: Step, carried: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The most specific shapes that hold before and after each step, and those of what each step gives besides.

    The step is traced aside until the shapes it is given hold for its results too.
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
        shape, dtype = element_shape(self.shape), wide_dtype(self.dtype)
        if self.count is None:
            return Listing(tf.raw_ops.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=dtype))
        size = tf.cast(self.count, tf.int32)
        return Listing(tf.raw_ops.TensorListReserve(element_shape=shape, num_elements=size, element_dtype=dtype))

    def add(self, listing: Listing, index: Any, tensor: Any) -> Listing:
        """The list with the value of step ``index``."""
        item = widened(tensor)
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
        dtype = wide_dtype(self.dtype)
        stack = tf.raw_ops.TensorListStack(input_handle=listing.handle, element_shape=shape, element_dtype=dtype)
        known = None if self.count is None else tf.get_static_value(self.count)
        stack.set_shape(tf.TensorShape([known]).concatenate(self.shape))
        return narrowed(stack, self.dtype)
