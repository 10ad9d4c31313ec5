"""Elements and slices written into a copy of a tensor."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.indices import element_positions, from_front
from trueport.backends.tensorflow.kernels.refusals import refused
from trueport.backends.tensorflow.kernels.shapes import moving, of_rank, shape_of
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.fidelity import BITWISE, Limit
from trueport.ir.dtypes import COMPLEX
from trueport.mapping.declare import maps
from trueport.mapping.examples import example
from trueport.mapping.needs import known_rank

__all__: list[str] = []


def _is_unordered(node: ir.Node) -> bool:
    """True if strings are to be combined, or complex numbers compared."""
    reduction = node.attributes.get_string("reduction", "none")
    dtype = node.inputs[0].dtype if node.inputs[0] is not None else None
    return (dtype == ir.DataType.STRING and reduction != "none") or (dtype in COMPLEX and reduction in ("max", "min"))


def _unordered(shown: str) -> Limit:
    """The schemas allow every reduction of every type; ``shown`` by a graph."""
    return refused(
        "scatter-reduction",
        _is_unordered,
        "strings have no sum, product, maximum or minimum here, complex numbers no maximum or minimum",
        'take reduction "none", or scatter real and imaginary parts apart',
        example=example(shown),
    )


@maps(
    "ScatterElements",
    audited=18,
    limits=[
        _unordered(
            "(complex64[4] x, int64[2] i, complex64[2] u) => (complex64[4] y) "
            '{ y = ScatterElements<reduction = "max">(x, i, u) }'
        )
    ],
)
def scatter_elements(
    t: Emission, data: Tensor, indices: Tensor, updates: Tensor, *, axis: int, reduction: str
) -> Tensor:
    data = of_rank(data, indices.shape.rank)
    positions = tf.reshape(element_positions(data, indices, axis), [-1, 1])
    flat = _scattered(tf.reshape(data, [-1]), positions, tf.reshape(updates, [-1]), reduction)
    return _shaped_like(flat, data)


@maps(
    "ScatterND",
    audited=18,
    limits=[
        _unordered(
            "(complex64[4] x, int64[2, 1] i, complex64[2] u) => (complex64[4] y) "
            '{ y = ScatterND<reduction = "min">(x, i, u) }'
        )
    ],
)
def scatter_nd(t: Emission, data: Tensor, indices: Tensor, updates: Tensor, *, reduction: str) -> Tensor:
    depth = size_of(indices, -1, tf.int64)
    indices = from_front(indices, shape_of(data)[:depth])
    return _scattered(data, indices, updates, reduction)


@maps("TensorScatter", needs=[known_rank(0, of="its cache")], fidelity=BITWISE, audited=24)
def tensor_scatter(
    t: Emission, past_cache: Tensor, update: Tensor, write_indices: Tensor | None, *, axis: int, mode: str
) -> Tensor:
    rank = t.rank(past_cache, of="its cache")
    axis %= rank
    steps = tf.reshape(tf.range(size_of(update, axis, tf.int64), dtype=tf.int64), [-1] + [1] * (rank - axis - 1))
    if write_indices is not None:
        steps += tf.reshape(write_indices, [-1] + [1] * (rank - 1))
    if mode == "circular":
        steps = tf.math.floormod(steps, tf.cast(size_of(past_cache, axis, tf.int64), tf.int64))
    indices = tf.broadcast_to(steps, shape_of(update))
    positions = tf.reshape(element_positions(past_cache, indices, axis), [-1, 1])
    flat = moving(
        lambda data, updates: tf.tensor_scatter_nd_update(data, positions, updates),
        tf.reshape(past_cache, [-1]),
        tf.reshape(update, [-1]),
    )
    return _shaped_like(flat, past_cache)


def _shaped_like(flat: Tensor, data: Tensor) -> Tensor:
    return tf.ensure_shape(tf.reshape(flat, shape_of(data)), data.shape)


def _scattered(data: Tensor, indices: Tensor, updates: Tensor, reduction: str) -> Tensor:
    if data.dtype == tf.bool and reduction != "none":
        # As 0 and 1, a sum is a maximum and a product a minimum.
        counted = {"add": "max", "mul": "min"}.get(reduction, reduction)
        numbers = _scattered(tf.cast(data, tf.uint8), indices, tf.cast(updates, tf.uint8), counted)
        return tf.cast(numbers, tf.bool)
    return _WRITERS[reduction](data, indices, updates)


def _multiplied(data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """TensorFlow scatters no products: those of each slice are made first, then multiplied in."""
    depth = size_of(indices, -1, tf.int64)
    sizes = shape_of(data)
    strides = tf.math.cumprod(sizes[:depth], exclusive=True, reverse=True)
    rows = tf.reshape(tf.reduce_sum(indices * strides, -1), [-1])
    slices = tf.reshape(updates, tf.concat([tf.shape(rows, out_type=tf.int64), sizes[depth:]], 0))
    factors = tf.math.unsorted_segment_prod(slices, rows, tf.reduce_prod(sizes[:depth]))
    return data * tf.reshape(factors, sizes)


def _extreme(scatter: Callable[..., Tensor], data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """TensorFlow passes over a NaN among the updates; it is marked and put in."""
    written = scatter(data, indices, updates)
    if not data.dtype.is_floating:
        return written
    marks = tf.cast(tf.math.is_nan(updates), tf.int8)
    marked = tf.tensor_scatter_nd_max(tf.zeros_like(data, tf.int8), indices, marks)
    return tf.where(marked > 0, tf.constant(float("nan"), data.dtype), written)


_WRITERS = {
    "none": lambda data, indices, updates: tf.tensor_scatter_nd_update(data, indices, updates),
    "add": lambda data, indices, updates: tf.tensor_scatter_nd_add(data, indices, updates),
    "max": lambda data, indices, updates: _extreme(tf.tensor_scatter_nd_max, data, indices, updates),
    "min": lambda data, indices, updates: _extreme(tf.tensor_scatter_nd_min, data, indices, updates),
    "mul": _multiplied,
}
