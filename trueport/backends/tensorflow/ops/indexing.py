"""Parts of tensors picked by position."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.indices import dynamic_window, element_positions, from_front, static_window
from trueport.backends.tensorflow.kernels.shapes import picked_entries, shape_of
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []


@maps("Slice", fidelity=BITWISE, audited=13)
def slice_(
    t: Emission, data: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None, steps: Tensor | None
) -> Tensor:
    count = starts.shape[0]
    known_axes = np.arange(count or 0) if axes is None else t.static(axes)
    known_steps = np.ones(count or 0, np.int64) if steps is None else t.static(steps)
    if data.shape.rank is None or count is None or known_axes is None or known_steps is None:
        starts, ends = tf.cast(starts, tf.int64), tf.cast(ends, tf.int64)
        axes = tf.range(tf.size(starts, tf.int64)) if axes is None else tf.cast(axes, tf.int64)
        steps = tf.ones_like(starts) if steps is None else tf.cast(steps, tf.int64)
        return dynamic_window(starts, ends, axes, steps, data).of(data)
    bounds = _scalars(t, starts), _scalars(t, ends)
    if data.shape.rank == count == 1 and all(isinstance(bound[0], int) for bound in bounds):
        known = picked_entries(data, slice(bounds[0][0], bounds[1][0], int(known_steps[0])))
        if known is not None:
            return known
    return static_window(*bounds, known_axes.tolist(), known_steps.tolist(), data.shape.rank).of(data)


def _scalars(t: Emission, vector: Tensor) -> list[int | Tensor]:
    known = t.static(vector)
    return list(tf.unstack(tf.cast(vector, tf.int64)) if known is None else known.tolist())


@maps("Gather", fidelity=BITWISE, audited=13)
def gather(t: Emission, data: Tensor, indices: Tensor, *, axis: int) -> Tensor:
    at = t.static(indices) if data.shape.rank == 1 else None
    known = None if at is None else picked_entries(data, at)
    if known is not None:
        return known
    if at is not None and at.ndim == 0:
        # One entry of a shape as a slice: TensorFlow's shape inference sees through it, not through a gather.
        return data[int(at)]
    return tf.gather(data, from_front(indices, size_of(data, axis, tf.int64)), axis=axis)


@maps("GatherElements", fidelity=BITWISE, audited=13)
def gather_elements(t: Emission, data: Tensor, indices: Tensor, *, axis: int) -> Tensor:
    return tf.gather(tf.reshape(data, [-1]), element_positions(data, indices, axis))


def _has_batches(node: ir.Node) -> bool:
    return node.attributes.get_int("batch_dims", 0) > 0


@maps(
    "GatherND",
    fidelity=BITWISE,
    audited=13,
    needs=[known_rank(0, when=_has_batches), known_rank(1, of="its indices", when=_has_batches)],
)
def gather_nd(t: Emission, data: Tensor, indices: Tensor, *, batch_dims: int) -> Tensor:
    if batch_dims:
        t.rank(data)
        t.rank(indices, of="its indices")
    depth = size_of(indices, -1, tf.int64)
    sizes = shape_of(data)[batch_dims : batch_dims + depth]
    return tf.gather_nd(data, from_front(indices, sizes), batch_dims=batch_dims)
