"""ONNX Runtime's forerunners of operators that ONNX has by now, and a few that it has not."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.numeric import widened
from trueport.backends.tensorflow.ops.generate import range_, trilu
from trueport.backends.tensorflow.ops.grid_sample import grid_sample
from trueport.backends.tensorflow.ops.indexing import gather_nd
from trueport.backends.tensorflow.ops.padding import pad
from trueport.backends.tensorflow.ops.selection import unique
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []

_MS = "com.microsoft"


@maps("Trilu", domain=_MS, fidelity=BITWISE)
def runtime_trilu(t: Emission, X: Tensor, k: Tensor | None, *, upper: int = 1) -> Tensor:
    return trilu(t, X, k, upper=upper)


@maps("GatherND", domain=_MS, fidelity=BITWISE)
def runtime_gather_nd(t: Emission, data: Tensor, indices: Tensor) -> Tensor:
    return gather_nd(t, data, indices, batch_dims=0)


@maps("ExpandDims", domain=_MS, fidelity=BITWISE)
def expand_dims(t: Emission, X: Tensor, axis: Tensor) -> Tensor:
    return tf.expand_dims(X, tf.reshape(axis, []))


@maps("Pad", domain=_MS, fidelity=BITWISE)
def runtime_pad(t: Emission, data: Tensor, pads: Tensor, value: Tensor | None, *, mode: str = "constant") -> Tensor:
    """The pads may come as a matrix of one row."""
    return pad(t, data, tf.reshape(pads, [-1]), value, None, mode=mode)


@maps("Unique", domain=_MS, fidelity=BITWISE)
def runtime_unique(t: Emission, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    values, _, inverse, counts = unique(t, x, axis=None, sorted=0)
    return values, inverse, counts


@maps("Range", domain=_MS)
def runtime_range(t: Emission, start: Tensor, limit: Tensor, delta: Tensor | None) -> Tensor:
    return range_(t, start, limit, tf.ones([], start.dtype) if delta is None else delta, stash_type=1)


@maps("GridSample", domain=_MS)
def runtime_grid_sample(
    t: Emission,
    X: Tensor,
    Grid: Tensor,
    *,
    align_corners: int = 0,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
) -> Tensor:
    name = mode.removeprefix("bi")
    return grid_sample(t, X, Grid, align_corners=align_corners, mode=name, padding_mode=padding_mode)


@maps("Inverse", domain=_MS)
def inverse(t: Emission, X: Tensor) -> Tensor:
    """The error grows with the condition of the matrix, in every runtime."""
    return widened(tf.linalg.inv, X)


@maps("CDist", domain=_MS)
def cdist(t: Emission, A: Tensor, B: Tensor, *, metric: str = "sqeuclidean") -> Tensor:
    """By squares and products, not by differences: one matrix product, as the runtime does it."""
    squares = [tf.reduce_sum(tf.square(x), 1) for x in (A, B)]
    distance = squares[0][:, tf.newaxis] + squares[1] - 2 * tf.matmul(A, B, transpose_b=True)
    distance = tf.maximum(distance, tf.zeros([], A.dtype))
    return tf.sqrt(distance) if metric == "euclidean" else distance
