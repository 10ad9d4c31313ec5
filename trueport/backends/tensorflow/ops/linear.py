"""Products of matrices."""

from __future__ import annotations

from collections.abc import Callable

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.numeric import via, widened
from trueport.backends.tensorflow.kernels.rows import rows_times_matrix
from trueport.mapping.declare import maps

__all__: list[str] = []

_LARGE_BYTES = 1 << 20
"""Below this size a matrix stays in the processor's cache, and the order of its axes makes no difference."""


@maps("MatMul", audited=13)
def matmul(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return _multiplied(_matmul, A, B)


@maps("Gemm", audited=13, reordered=("B",))
def gemm(
    t: Emission,
    A: Tensor,
    B: Tensor,
    C: Tensor | None,
    *,
    alpha: float,
    beta: float,
    transA: int,
    transB: int,
) -> Tensor:
    b, turned = _right_side(t, bool(transB))

    def apply(a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
        y = _scaled(tf.matmul(a, b, transpose_a=bool(transA), transpose_b=turned), alpha)
        if c is None or beta == 0:
            return y
        return _plus_bias(y, _scaled(c, beta))

    return _multiplied(apply, A, b, *(() if C is None else (C,)))


def _right_side(t: Emission, turned: bool) -> tuple[Tensor, bool]:
    """The second matrix, and whether it must still be transposed.

    A large weight of its own is stored as ``[in, out]``, which TensorFlow's product reads faster.
    """
    value = t.node.inputs[1]
    weight = value.const_value if value is not None and len(value.uses()) == 1 else None
    moved = turned and weight is not None and weight.nbytes >= _LARGE_BYTES
    return (t.weight(1, [1, 0]), False) if moved else (t.weight(1), turned)


@maps("Einsum", audited=28)
def einsum(t: Emission, *Inputs: Tensor, equation: str) -> Tensor:
    return _multiplied(lambda *operands: tf.einsum(equation.replace(" ", ""), *operands), *Inputs)


@maps("Det", audited=22)
def det(t: Emission, X: Tensor) -> Tensor:
    return widened(tf.linalg.det, X)


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    """As NumPy multiplies: a vector is a row on the left, a column on the right."""
    if a.shape.rank == 1 and b.shape.rank == 1:
        return tf.reduce_sum(a * b)
    if a.shape.rank == 1:
        return tf.squeeze(tf.matmul(a[None], b), -2)
    if b.shape.rank == 1:
        return tf.linalg.matvec(a, b)
    if b.shape.rank == 2 and (a.shape.rank or 0) > 2:
        return rows_times_matrix(a, b)
    return tf.matmul(a, b)


def _plus_bias(y: Tensor, c: Tensor) -> Tensor:
    """A row of biases is added as such: TensorFlow fuses it, and fails when it has fused one of two dims."""
    row = tf.squeeze(c, 0) if c.shape.rank == 2 and c.shape[0] == 1 else c
    return tf.nn.bias_add(y, row) if row.shape.rank == 1 and row.shape[0] == y.shape[-1] is not None else y + c


def _scaled(x: Tensor, factor: float) -> Tensor:
    if factor == 1:
        return x
    if x.dtype.is_floating or factor == int(factor):
        return x * tf.cast(factor, x.dtype)
    return tf.cast(tf.cast(x, tf.float64) * factor, x.dtype)


def _multiplied(product: Callable[..., Tensor], *operands: Tensor) -> Tensor:
    """A sum of products in a type that TensorFlow has kernels for; integers wrap alike in all of one size."""
    dtype = operands[0].dtype
    if dtype.is_floating:
        return widened(product, *operands)
    return via(tf.int64 if dtype.size == 8 else tf.int32, product, *operands)
