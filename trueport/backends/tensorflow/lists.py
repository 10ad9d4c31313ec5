"""Lists of tensors whose length and shapes depend on data: ONNX sequences and optionals on TensorList."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Listing

__all__ = ["empty", "for_each", "from_flat", "get", "length", "listing_of", "push", "to_flat"]

_ANY_SHAPE = -1


def empty(dtype: Any) -> Listing:
    """A list of nothing."""
    return Listing(
        tf.raw_ops.EmptyTensorList(element_shape=_ANY_SHAPE, max_num_elements=-1, element_dtype=dtype)
    )


def push(listing: Listing, tensor: Any) -> Listing:
    """The list with one more element at its end."""
    return Listing(tf.raw_ops.TensorListPushBack(input_handle=listing.handle, tensor=tensor))


def length(listing: Listing) -> Any:
    """The number of elements, int32."""
    return tf.raw_ops.TensorListLength(input_handle=listing.handle)


def get(listing: Listing, index: Any, dtype: Any) -> Any:
    """The element at an index that is known to lie inside."""
    return tf.raw_ops.TensorListGetItem(
        input_handle=listing.handle,
        index=tf.cast(index, tf.int32),
        element_shape=tf.constant(_ANY_SHAPE),
        element_dtype=dtype,
    )


def listing_of(tensors: Sequence[Any], dtype: Any) -> Listing:
    """A list of tensors known while the graph is built."""
    made = empty(dtype)
    for tensor in tensors:
        made = push(made, tensor)
    return made


def for_each(count: Any, step: Callable[..., Any], start: Any) -> Any:
    """``state = step(i, state)`` for i in range(count); tensors in the state may change their shape."""
    count = tf.cast(count, tf.int32)

    def anything(state: Any) -> Any:
        return tf.nest.map_structure(lambda x: tf.TensorShape(None if x.dtype != tf.variant else []), state)

    _, final = tf.while_loop(
        lambda i, _: i < count,
        lambda i, state: (i + 1, step(i, state)),
        (tf.constant(0), start),
        shape_invariants=(tf.TensorShape([]), anything(start)),
    )
    return final


def from_flat(values: Any, shapes: Any, ranks: Any) -> Listing:
    """A list from its elements raveled and joined, their dims joined, and their ranks."""
    zero = tf.constant(0, tf.int64)

    def step(i: Any, state: Any) -> Any:
        made, at, dims_at = state
        rank = ranks[i]
        shape = shapes[dims_at : dims_at + rank]
        size = tf.reduce_prod(shape)
        element = tf.reshape(values[at : at + size], shape)
        return push(made, element), at + size, dims_at + rank

    return for_each(tf.size(ranks), step, (empty(values.dtype), zero, zero))[0]


def to_flat(listing: Listing, dtype: Any) -> list[Any]:
    """The inverse of :func:`from_flat`: values, shapes, ranks."""

    def step(i: Any, state: Any) -> Any:
        values, shapes, ranks = state
        element = get(listing, i, dtype)
        shape = tf.shape(element, out_type=tf.int64)
        return (
            tf.concat([values, tf.reshape(element, [-1])], 0),
            tf.concat([shapes, shape], 0),
            tf.concat([ranks, tf.reshape(tf.size(shape, out_type=tf.int64), [1])], 0),
        )

    none = tf.zeros([0], tf.int64)
    start = (tf.constant([], dtype), none, none)
    values, shapes, ranks = for_each(length(listing), step, start)
    for part in (values, shapes, ranks):
        part.set_shape([None])
    return [values, shapes, ranks]
