"""Products of matrices, Einstein sums, biases."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

RNG = np.random.default_rng(0)
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int32", "int64"]  # all that TensorFlow multiplies on CPU


def drawn(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    kind = tf.as_dtype(dtype)
    if kind.is_integer:
        # ONNX Runtime sums int64 over leading axes in double precision: below 2**53 that is exact.
        return RNG.integers(max(kind.min // 2, -(2**50)), min(kind.max // 2, 2**50), shape).astype(kind.as_numpy_dtype)
    if kind.is_complex:
        return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    return RNG.normal(size=shape).astype(kind.as_numpy_dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "complex64", "complex128"])
@pytest.mark.parametrize("flipped", [(False, False), (True, False), (False, True), (True, True)])
def test_mat_mul(dtype: str, flipped: tuple[bool, bool]) -> None:
    samples = []
    for n in (2, 5):
        a, b = (n, 3), (3, 4)
        shapes = (a[::-1] if flipped[0] else a, b[::-1] if flipped[1] else b)
        samples.append([drawn(shape, dtype) for shape in shapes])
    agree(lambda a, b: tf.raw_ops.MatMul(a=a, b=b, transpose_a=flipped[0], transpose_b=flipped[1]), *samples)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "int16", "complex64"])
@pytest.mark.parametrize("flipped", [(False, False), (True, True)])
def test_batch_mat_mul_broadcasts(dtype: str, flipped: tuple[bool, bool]) -> None:
    def flip(shape: tuple[int, ...], turn: bool) -> tuple[int, ...]:
        return (*shape[:-2], shape[-1], shape[-2]) if turn else shape

    samples = [
        [drawn(flip((n, 1, 2, 3), flipped[0]), dtype), drawn(flip((2, 3, 4), flipped[1]), dtype)] for n in (1, 3)
    ]
    agree(lambda x, y: tf.raw_ops.BatchMatMulV2(x=x, y=y, adj_x=flipped[0], adj_y=flipped[1]), *samples)


@pytest.mark.parametrize(
    "types",
    [
        ("int8", "int8", "int32"),
        ("uint8", "int8", "int32"),
        ("int8", "uint8", "int32"),
        ("float32", "float32", "float32"),
    ],
)
def test_batch_mat_mul_of_two_types(types: tuple[str, str, str]) -> None:
    samples = [[drawn((2, n, 4), types[0]), drawn((2, 4, 3), types[1])] for n in (1, 3)]
    written = agree(lambda x, y: tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=types[2]), *samples)
    assert op_types(written) == ["MatMulInteger" if types[2] == "int32" else "MatMul"]


def test_nothing_to_sum_gives_zeros() -> None:
    agree(lambda a, b: tf.matmul(a, b), [drawn((2, 0)), drawn((0, 3))], [drawn((3, 0)), drawn((0, 3))])


def test_infinities_and_nans() -> None:
    a = np.array([[np.inf, 1], [np.nan, 2], [0, 3]], np.float32)
    b = np.array([[0, 1, -1], [1, 1, 1]], np.float32)
    agree(lambda a, b: tf.matmul(a, b), [a, b], [a[:1], b])


@pytest.mark.parametrize(
    "dtype", [*FLOATS, *["int8", "int16", "uint8", "uint16", "uint32", "uint64"], *INTEGERS, "complex64"]
)
def test_bias_add(dtype: str) -> None:
    agree(lambda x, b: tf.nn.bias_add(x, b), *([drawn((n, 3, 4), dtype), drawn((4,), dtype)] for n in (1, 3)))


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_bias_add_to_leading_channels(rank: int) -> None:
    shape = (4, *range(2, rank))
    agree(lambda x, b: tf.nn.bias_add(x, b, data_format="NCHW"), *([drawn((n, *shape)), drawn((4,))] for n in (1, 3)))


EINSUMS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,kj->ik": [(2, 3), (4, 3)],
    "ji,jk->ki": [(3, 2), (3, 4)],
    "abc,cde->abde": [(2, 3, 4), (4, 2, 3)],
    "abcd,cde->abe": [(2, 3, 4, 5), (4, 5, 6)],
    "BTNH,BSNH->BNTS": [(2, 3, 4, 5), (2, 6, 4, 5)],
    "aecd,abcd->acbe": [(2, 3, 4, 5), (2, 6, 4, 5)],
    "acbe,aecd->abcd": [(2, 4, 6, 3), (2, 3, 4, 5)],
    "abcd,aecd->abe": [(2, 3, 4, 5), (2, 6, 4, 5)],
    "abcd,abef->cdef": [(2, 3, 4, 5), (2, 3, 2, 3)],
    "i,ij->j": [(3,), (3, 4)],
    "ij,j->i": [(2, 3), (3,)],
    "bij,bj->bi": [(2, 3, 4), (2, 4)],
    "bi,bij->bj": [(2, 3), (2, 3, 4)],
    "bi,bi->b": [(2, 3), (2, 3)],
    "i,i->": [(3,), (3,)],
    "ij,ij->": [(2, 3), (2, 3)],
    "i,j->ij": [(2,), (3,)],
    "i,j->ji": [(2,), (3,)],
    "bi,bj->bij": [(2, 3), (2, 4)],
    "ab,b->ba": [(2, 3), (3,)],
    "ijk,kl->l": [(2, 3, 4), (4, 5)],
    "abc->cab": [(2, 3, 4)],
    "abc->b": [(2, 3, 4)],
    "abc->": [(2, 3, 4)],
    "ii->i": [(3, 3)],
    "ii->": [(3, 3)],
    "bii->b": [(2, 3, 3)],
    "ii,ij->j": [(3, 3), (3, 2)],
    "...ij,...jk->...ik": [(2, 3, 4), (2, 4, 5)],
    "...ij,...kj->...ki": [(5, 2, 3, 4), (2, 5, 4)],
    "...ij,jk->...ik": [(5, 2, 3, 4), (4, 3)],
    "...i,...i->...": [(1, 2, 4), (3, 1, 4)],
    "...ij->...ji": [(2, 3, 4)],
    "i...->...": [(2, 3, 4)],
    "...i,...j->...ij": [(2, 3), (2, 4)],
}


@pytest.mark.parametrize("opened", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("equation", EINSUMS)
def test_einsum(equation: str, opened: bool) -> None:
    shapes = EINSUMS[equation]
    arrays = [drawn(shape) for shape in shapes]
    specs = [tf.TensorSpec([None] * len(shape) if opened else shape) for shape in shapes]
    function = tf.function(lambda *xs: tf.raw_ops.Einsum(inputs=xs, equation=equation), input_signature=specs)
    agree(function, arrays)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "complex64"])
@pytest.mark.parametrize("equation", ["ij,jk->ki", "ij,ij->i", "ij->j", "ii->i"])
def test_einsum_of_types(equation: str, dtype: str) -> None:
    shapes = EINSUMS.get(equation, [(3, 3), (3, 3)][: equation.count(",") + 1])
    agree(lambda *xs: tf.raw_ops.Einsum(inputs=xs, equation=equation), [drawn(shape, dtype) for shape in shapes])


def test_attention_is_matrix_products() -> None:
    layer = keras.layers.MultiHeadAttention(2, 3)
    q, v = keras.Input((4, 6)), keras.Input((5, 6))
    model = keras.Model([q, v], layer(q, v))
    written = agree(model, *([drawn((n, 4, 6)), drawn((n, 5, 6))] for n in (1, 3)))
    assert op_types(written).count("MatMul") == 6 and "Einsum" not in op_types(written)
