"""ONNX Runtime's products with weights of few bits, quantized in blocks along the inner axis."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.backends.tensorflow.kernels.refusals import attribute, refused
from trueport.mapping.declare import maps
from trueport.mapping.examples import example

__all__: list[str] = []


@maps(
    "MatMulNBits",
    domain="com.microsoft",
    limits=[
        refused(
            "weights-prepacked",
            lambda node: bool(attribute(node, "weight_prepacked")),
            "has its weights in the order of a GPU kernel",
            "export the model with weight_prepacked=0",
            example=example(
                "(float[n, 16] x, uint8[2, 1, 8] w, float[2] s) => (float[n, 2] y)"
                "{ y = com.microsoft.MatMulNBits <K = 16, N = 2, block_size = 16, weight_prepacked = 1> (x, w, s) }"
            ),
        )
    ],
)
def mat_mul_nbits(
    t: Emission,
    A: Tensor,
    B: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    g_idx: Tensor | None,
    bias: Tensor | None,
    *,
    K: int,
    N: int,
    block_size: int,
    accuracy_level: int = 0,
    bits: int = 4,
    weight_prepacked: int = 0,
) -> Tensor:
    """``A @ Wᵀ`` with W [N, K] unpacked from bytes. ``accuracy_level`` allows less than float32; none is used."""
    blocks = -(-K // block_size)
    codes = tf.reshape(_unpacked(B, bits), [N, blocks * block_size])[:, :K]
    group = tf.range(K) // block_size if g_idx is None else g_idx
    scale = tf.gather(tf.reshape(scales, [N, blocks]), group, axis=1)
    zero = tf.gather(_zeros(zero_points, N, blocks, bits, A.dtype), group, axis=1)
    weights = (tf.cast(codes, A.dtype) - zero) * opaque(scale)
    wide = tf.float32 if A.dtype == tf.float16 else A.dtype
    rows = tf.matmul(tf.reshape(tf.cast(A, wide), [-1, K]), tf.cast(weights, wide), transpose_b=True)
    y = tf.ensure_shape(tf.reshape(rows, tf.concat([tf.shape(A)[:-1], [N]], 0)), [*A.shape[:-1], N])
    return tf.cast(y if bias is None else y + tf.cast(bias, wide), A.dtype)


def _unpacked(x: Tensor, bits: int) -> Tensor:
    """Each byte as its parts, the lowest first, along the last axis."""
    if bits == 8:
        return x
    parts = [
        tf.bitwise.bitwise_and(tf.bitwise.right_shift(x, tf.constant(at, x.dtype)), tf.constant(2**bits - 1, x.dtype))
        for at in range(0, 8, bits)
    ]
    return tf.reshape(tf.stack(parts, -1), [*x.shape[:-1], x.shape[-1] * len(parts)])


def _zeros(zero_points: Tensor | None, rows: int, blocks: int, bits: int, dtype: object) -> Tensor:
    """[rows, blocks]: packed like the weights, or as floats, or the middle."""
    if zero_points is None:
        return tf.fill([rows, blocks], tf.cast(2 ** (bits - 1), dtype))
    if zero_points.dtype != tf.uint8:
        return tf.reshape(zero_points, [rows, blocks])
    packed = tf.reshape(zero_points, [rows, -(-blocks * bits // 8)])
    return tf.cast(_unpacked(packed, bits)[:, :blocks], dtype)
