"""Lists of tensors whose length and shapes depend on data: ONNX sequences and optionals on TensorList."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Listing

__all__ = [
    "concat",
    "element_shape",
    "empty",
    "for_each",
    "from_flat",
    "from_rows",
    "get",
    "inner_list",
    "known",
    "length",
    "listing_of",
    "mapped",
    "push",
    "resized",
    "some",
    "stack",
    "to_flat",
]

_ANY_SHAPE = -1


def empty(dtype: Any) -> Listing:
    """A list of nothing."""
    return Listing(tf.raw_ops.EmptyTensorList(element_shape=_ANY_SHAPE, max_num_elements=-1, element_dtype=dtype))


def push(listing: Listing, tensor: Any) -> Listing:
    """The list with one more element at its end."""
    return Listing(tf.raw_ops.TensorListPushBack(input_handle=listing.handle, tensor=tensor))


def length(listing: Listing) -> Any:
    """The number of elements, int32."""
    elements = known(listing)
    if elements is not None:
        return tf.constant(len(elements))
    return tf.raw_ops.TensorListLength(input_handle=listing.handle)


def get(listing: Listing, index: Any, dtype: Any) -> Any:
    """The element at an index that is known to lie inside."""
    return tf.raw_ops.TensorListGetItem(
        input_handle=listing.handle,
        index=tf.cast(index, tf.int32),
        element_shape=tf.constant(_ANY_SHAPE),
        element_dtype=dtype,
    )


def some(value: Any, dtype: Any) -> Listing:
    """An optional that holds a tensor or a sequence, whose elements have this dtype.

    A sequence gets one element more at its end, an empty tensor: without it the optional holds nothing. A list of
    lists would say the same, but ONNX has none to come back to.
    """
    return push(value, tf.zeros([0], dtype)) if isinstance(value, Listing) else push(empty(dtype), value)


def inner_list(optional: Listing, dtype: Any) -> Listing:
    """The sequence inside an optional that has one."""
    handle = optional.handle
    if handle.graph is tf.compat.v1.get_default_graph() and handle.op.type == "TensorListPushBack":
        return Listing(handle.op.inputs[0])
    popped = tf.raw_ops.TensorListPopBack(input_handle=handle, element_shape=tf.constant([0]), element_dtype=dtype)
    return Listing(popped.output_handle)


def resized(listing: Listing, size: Any) -> Listing:
    """The first ``size`` elements."""
    return Listing(tf.raw_ops.TensorListResize(input_handle=listing.handle, size=tf.cast(size, tf.int32)))


def listing_of(tensors: Sequence[Any], dtype: Any) -> Listing:
    """A list of tensors known while the graph is built."""
    made = empty(dtype)
    for tensor in tensors:
        made = push(made, tensor)
    return made


def known(listing: Listing) -> list[Any] | None:
    """The elements where the list was built in this very function, else None.

    Exporters write split, cat and unbind with constant positions as sequences: read back from the chain
    of pushes they keep their static shapes, and nothing of the list is left to run.
    """
    found: list[Any] = []
    handle = listing.handle
    graph = tf.compat.v1.get_default_graph()
    while handle.graph is graph and handle.op.type == "TensorListPushBack":
        handle, tensor = handle.op.inputs
        found.append(tensor)
    return found[::-1] if handle.graph is graph and handle.op.type == "EmptyTensorList" else None


def from_rows(tensor: Any) -> Listing:
    """A list of the slices along the first axis."""
    return Listing(tf.raw_ops.TensorListFromTensor(tensor=tensor, element_shape=element_shape(tensor.shape[1:])))


def stack(listing: Listing, dtype: Any) -> Any:
    """The elements, all of one shape, along a new first axis."""
    return tf.raw_ops.TensorListStack(
        input_handle=listing.handle, element_shape=tf.constant(_ANY_SHAPE), element_dtype=dtype
    )


def concat(listing: Listing, dtype: Any, shape: Any = _ANY_SHAPE) -> Any:
    """The elements joined along their first axis."""
    return tf.raw_ops.TensorListConcatV2(
        input_handle=listing.handle,
        element_shape=tf.constant(shape),
        leading_dims=tf.zeros([0], tf.int64),
        element_dtype=dtype,
    )[0]


def mapped(listing: Listing, function: Callable[[Any], Any], dtype: Any) -> Listing:
    """The list of ``function(element)``, which keeps the dtype."""
    made: Listing = for_each(
        length(listing), lambda i, made: push(made, function(get(listing, i, dtype))), empty(dtype)
    )
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

    listing: Listing = for_each(tf.size(ranks), step, (empty(values.dtype), zero, zero))[0]
    return listing


def to_flat(listing: Listing, dtype: Any) -> list[Any]:
    """The inverse of :func:`from_flat`: values, shapes, ranks."""
    elements = known(listing)
    if elements is not None:
        return _flat_of_known(elements, dtype)

    def step(i: Any, state: Any) -> Any:
        values, shapes, ranks = state
        element = get(listing, i, dtype)
        shape = tf.shape(element, out_type=tf.int64)
        rank = tf.reshape(tf.size(shape, out_type=tf.int64), [1])
        return push(values, tf.reshape(element, [-1])), push(shapes, shape), push(ranks, rank)

    kinds = (dtype, tf.int64, tf.int64)
    parts = for_each(length(listing), step, tuple(empty(kind) for kind in kinds))
    joined = [concat(part, kind, [_ANY_SHAPE]) for part, kind in zip(parts, kinds, strict=True)]
    return [tf.ensure_shape(part, [None]) for part in joined]


def _flat_of_known(elements: Sequence[Any], dtype: Any) -> list[Any]:
    shapes = [tf.shape(element, out_type=tf.int64) for element in elements]
    raveled = [tf.reshape(element, [-1]) for element in elements]
    none = tf.zeros([0], tf.int64)
    ranks = tf.stack([tf.size(shape, out_type=tf.int64) for shape in shapes]) if shapes else none
    return [tf.concat([tf.zeros([0], dtype), *raveled], 0), tf.concat([none, *shapes], 0), ranks]


def element_shape(shape: Any) -> Any:
    """A static shape as TensorList's operators take it: -1 for what is not known."""
    return tf.constant(_ANY_SHAPE if shape.rank is None else [-1 if d is None else d for d in shape], tf.int32)
