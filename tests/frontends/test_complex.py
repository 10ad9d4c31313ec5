"""Complex tensors: data movement, arithmetic, functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree
from trueport.fidelity import Verdict
from trueport.pipeline import convert_file

_RNG = np.random.default_rng(0)
_DTYPES = (np.complex64, np.complex128)


def _z(*shape: int, dtype: Any = np.complex64) -> np.ndarray:
    return (_RNG.normal(size=shape) + 1j * _RNG.normal(size=shape)).astype(dtype)


def _two(*shape: int, dtype: Any = np.complex64) -> list[list[np.ndarray]]:
    """The same value at two sizes of the first dim."""
    return [[_z(*shape, dtype=dtype)], [_z(shape[0] + 1, *shape[1:], dtype=dtype)]]


_MOVES: dict[str, Callable[[Any], Any]] = {
    "identity": lambda z: tf.identity(z),
    "reshape": lambda z: tf.reshape(z, [-1, 2]),
    "transpose": lambda z: tf.transpose(z, [2, 0, 1]),
    "conjugate transpose": lambda z: tf.transpose(z, [2, 0, 1], conjugate=True),
    "concat": lambda z: tf.concat([z, z + 1j], 1),
    "stack": lambda z: tf.stack([z, tf.math.conj(z)], -1),
    "unstack": lambda z: tf.unstack(z, axis=1),
    "split": lambda z: tf.split(z, 2, axis=-1),
    "split at": lambda z: tf.split(z, [1, 3], axis=-1),
    "strided slice": lambda z: z[:, ::-2, tf.newaxis, 1:],
    "slice": lambda z: tf.slice(z, [0, 1, 0], [1, 2, -1]),
    "gather": lambda z: tf.gather(z, [2, 0], axis=1),
    "gather nd": lambda z: tf.gather_nd(z, [[0, 1], [1, 2]]),
    "pad": lambda z: tf.pad(z, [[0, 0], [1, 0], [0, 2]]),
    "pad with a value": lambda z: tf.pad(z, [[0, 0], [1, 0], [0, 2]], constant_values=1 - 2j),
    "mirror pad": lambda z: tf.pad(z, [[0, 0], [1, 0], [0, 2]], "REFLECT"),
    "reverse": lambda z: tf.reverse(z, [1]),
    "tile": lambda z: tf.tile(z, [1, 2, 1]),
    "expand": lambda z: tf.expand_dims(z, 1),
    "squeeze": lambda z: tf.squeeze(z[:, :1], 1),
    "roll": lambda z: tf.roll(z, 1, 2),
    "broadcast": lambda z: tf.broadcast_to(z[:, :1], [*tf.unstack(tf.shape(z)[:1]), 5, 4]),
    "zeros": lambda z: tf.raw_ops.ZerosLike(x=z),
    "ones": lambda z: tf.raw_ops.OnesLike(x=z),
    "fill": lambda z: tf.fill(tf.shape(z), tf.constant(2 - 1j, z.dtype)),
    "select": lambda z: tf.where(tf.math.real(z) > 0, z, tf.math.conj(z)),
    "diagonal": lambda z: tf.linalg.diag_part(z),
    "sizes": lambda z: (tf.shape(z), tf.size(z), tf.rank(z)),
    "parts": lambda z: (tf.math.real(z), tf.math.imag(z), tf.math.conj(z)),
    "made": lambda z: tf.complex(tf.math.imag(z), tf.math.real(z)),
    "made of two shapes": lambda z: tf.complex(tf.math.imag(z), tf.math.real(z)[:, :1]),
    "where": lambda z: tf.where(z * tf.constant([0, 1, 0, 1j], z.dtype)),
    "equal": lambda z: (tf.equal(z, tf.math.conj(z)), tf.not_equal(z, z)),
    "constant": lambda z: z * 0 + tf.constant([1j, 2, 3 - 1j, 4], z.dtype),
}


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("name", _MOVES)
def test_moves(name: str, dtype: Any) -> None:
    agree(_MOVES[name], *_two(2, 3, 4, dtype=dtype))


_SUMS: dict[str, Callable[[Any], Any]] = {
    "add": lambda z: z + (1 - 2j),
    "sub": lambda z: z - tf.math.conj(z),
    "neg": lambda z: -z,
    "add n": lambda z: tf.add_n([z, z, tf.math.conj(z)]),
    "sum": lambda z: tf.reduce_sum(z, 1),
    "mean": lambda z: tf.reduce_mean(z, [1, 2], keepdims=True),
    "cumsum": lambda z: tf.cumsum(z, 1),
    "matmul": lambda z: tf.matmul(z, z, transpose_b=True),
    "matmul adjoint": lambda z: tf.matmul(z, z, adjoint_a=True),
    "matmul of two dims": lambda z: tf.matmul(z[0], z[0], adjoint_b=True),
    "einsum": lambda z: tf.einsum("bij,bkj->bik", z, z),
    "einsum of one": lambda z: tf.einsum("bij->bi", z),
}


@pytest.mark.parametrize("name", _SUMS)
def test_sums(name: str) -> None:
    agree(_SUMS[name], *_two(2, 3, 4))


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "mul": lambda z: z * tf.math.conj(z) * (2 - 1j),
    "div": lambda z: (z + 1) / (z - 2j),
    "divide no nan": lambda z: tf.math.divide_no_nan(z, z - z[0]),
    "multiply no nan": lambda z: tf.math.multiply_no_nan(z, z - z[0]),
    "xdivy": lambda z: tf.math.xdivy(z - z[0], z),
    "square": tf.square,
    "squared difference": lambda z: tf.math.squared_difference(z, tf.math.conj(z) + 1),
    "abs": tf.abs,
    "angle": tf.math.angle,
    "reciprocal": tf.math.reciprocal,
    "sign": tf.sign,
    "exp": tf.exp,
    "expm1": tf.math.expm1,
    "log": tf.math.log,
    "log1p": tf.math.log1p,
    "sqrt": tf.sqrt,
    "rsqrt": tf.math.rsqrt,
    "pow": lambda z: tf.pow(z, 1.5 - 0.5j),
    "pow of zero": lambda z: tf.pow(z * tf.constant([0, 1, 0, 1, 0], z.dtype), tf.constant([1j, 2, -2, 0, 3], z.dtype)),
    "sin": tf.sin,
    "cos": tf.cos,
    "sinh": tf.sinh,
    "cosh": tf.cosh,
    "tanh": tf.tanh,
    "tan": tf.tan,
    "sigmoid": tf.sigmoid,
    "norm": lambda z: tf.norm(z, axis=-1),
    "euclidean norm": lambda z: tf.raw_ops.EuclideanNorm(input=z, axis=[1], keep_dims=True),
}


@pytest.mark.parametrize("name", _FUNCTIONS)
@pytest.mark.parametrize("dtype", _DTYPES)
def test_functions(name: str, dtype: Any) -> None:
    agree(_FUNCTIONS[name], *_two(4, 5, dtype=dtype))


_EDGES = np.array(
    [
        complex(re, im)
        for re in (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e38, 1e-30)
        for im in (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, -3e38, 1e-30)
    ],
    np.complex64,
)


@pytest.mark.parametrize("function", [tf.abs, tf.math.angle], ids=["abs", "angle"])
def test_edges(function: Any) -> None:
    agree(function, [_EDGES], [_EDGES[::2]])


def test_division_does_not_overflow() -> None:
    big = np.array([1e30 + 2e30j, 1e-30 - 1e-30j, 0, 1], np.complex64)
    agree(lambda x, y: x / y, [big, big], [big[:2], big[:2]])


@pytest.mark.parametrize(
    ("source", "target"), [("float32", "complex64"), ("int32", "complex128"), ("bool", "complex64")]
)
def test_casts_of_real_tensors(source: str, target: str) -> None:
    x = np.array([0, 1, 2]).astype(source)
    agree(lambda x: tf.cast(x, target), [x], [x[:2]])


@pytest.mark.parametrize("target", ["complex64", "complex128", "float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("dtype", _DTYPES)
def test_casts(dtype: Any, target: str) -> None:
    agree(lambda z: tf.cast(z, target), [np.array([0, 1.5j, -2.5 + 1j], dtype)], [np.array([1j], dtype)])


def test_a_complex_variable_and_a_captured_tensor() -> None:
    weight = tf.Variable(_z(3))
    fixed = tf.constant(_z(3))
    agree(lambda z: z * weight + fixed, [_z(2, 3)], [_z(4, 3)])


@pytest.mark.parametrize("dtype", _DTYPES)
def test_complex_inputs_and_outputs_are_compared_after_the_conversion(dtype: Any, tmp_path: Any) -> None:
    function = tf.function(
        lambda z: {"w": z * (1 - 2j), "size": tf.abs(z)}, input_signature=[tf.TensorSpec([None, 3], dtype, name="z")]
    )
    report = convert_file(function, tmp_path / "model.onnx")
    assert report.comparison is not None and report.comparison.verdict == Verdict.FAITHFUL
