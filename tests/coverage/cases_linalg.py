"""tf.linalg, tf.random and tf.quantization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.coverage.case import Cannot, Case, NoGraph

__all__ = ["CASES"]

RNG = np.random.default_rng(6)


def noise(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def square(n: int, size: int = 3) -> np.ndarray:
    return noise(n, size, size) + 3 * np.eye(size, dtype=np.float32)


def definite(n: int, size: int = 3) -> np.ndarray:
    made = noise(n, size, size)
    return made @ made.swapaxes(-1, -2) + np.eye(size, dtype=np.float32)


SQUARES = [[square(2)], [square(3)]]
DEFINITE = [[definite(2)], [definite(3)]]
PAIRS = [[noise(2, 3), noise(3, 4)], [noise(5, 3), noise(3, 4)]]
SYSTEMS = [[square(n), noise(n, 3, 2)] for n in (2, 3)]
VECTORS = [[noise(n, 3), noise(n, 3, 2)] for n in (2, 3)]
DIAGONALS = [[noise(n, 3, 4) + np.array([[0], [4], [0]], np.float32), noise(n, 4, 2)] for n in (2, 3)]
RANDOM = {"ignore_values": True}


def of(name: str, function: Callable[..., Any], samples: Any = SQUARES, label: str = "", **options: Any) -> Case:
    return Case(f"tf.{name}", lambda: function, samples, options, label)


L = tf.linalg

FUNCTIONS = [
    of("linalg.matmul", L.matmul, PAIRS),
    of(
        "linalg.matmul",
        lambda x, y: L.matmul(x, y, transpose_a=True, transpose_b=True),
        [[noise(3, 2), noise(4, 3)]],
        "turned",
    ),
    of("linalg.matvec", lambda x, y: L.matvec(x, y[:, 0]), PAIRS),
    of("linalg.einsum", lambda x, y: L.einsum("ij,jk->ki", x, y), PAIRS),
    of("linalg.tensordot", lambda x, y: L.tensordot(x, y, 1), PAIRS),
    of("linalg.cross", lambda x: L.cross(x, x[:, ::-1]), SQUARES),
    of("linalg.trace", L.trace),
    of("linalg.norm", L.norm),
    of("linalg.norm", lambda x: L.norm(x, 1, -1), label="sum"),
    of("linalg.normalize", lambda x: L.normalize(x, axis=-1)),
    of("linalg.l2_normalize", lambda x: L.l2_normalize(x, -1)),
    of("linalg.global_norm", lambda x, y: L.global_norm([x, y]), PAIRS),
    of("linalg.cholesky", L.cholesky, DEFINITE),
    of("linalg.cholesky_solve", lambda x: L.cholesky_solve(L.cholesky(x), x[..., :2]), DEFINITE),
    of("linalg.det", L.det),
    of("linalg.slogdet", L.slogdet),
    of("linalg.logdet", L.logdet, DEFINITE),
    of("linalg.inv", L.inv),
    of("linalg.solve", L.solve, SYSTEMS),
    of("linalg.triangular_solve", L.triangular_solve, SYSTEMS),
    of("linalg.banded_triangular_solve", lambda a, b: L.banded_triangular_solve(a[:, 1:], b), DIAGONALS),
    of("linalg.tridiagonal_solve", lambda a, b: L.tridiagonal_solve(a, b, "compact"), DIAGONALS),
    of("linalg.tridiagonal_matmul", lambda a, b: L.tridiagonal_matmul(a, b, "compact"), DIAGONALS),
    of("linalg.lu", L.lu),
    of("linalg.lu_reconstruct", lambda x: L.lu_reconstruct(*L.lu(x))),
    of("linalg.lu_solve", lambda x: L.lu_solve(*L.lu(x), x[..., :2])),
    of("linalg.lu_matrix_inverse", lambda x: L.lu_matrix_inverse(*L.lu(x))),
    of("linalg.qr", L.qr),
    of("linalg.lstsq", lambda x, y: L.lstsq(x, y), SYSTEMS),
    of("linalg.eigh", lambda x: L.eigh(x)[0], DEFINITE),
    of("linalg.eigvalsh", L.eigvalsh, DEFINITE),
    of("linalg.svd", lambda x: L.svd(x, compute_uv=False)),
    of("linalg.pinv", L.pinv),
    of("linalg.matrix_rank", L.matrix_rank),
    of("linalg.expm", L.expm),
    of("linalg.eigh_tridiagonal", lambda x: L.eigh_tridiagonal(x[0, 0], x[0, 1, 1:])),
    Cannot("tf.linalg.eig", lambda: L.eig, SQUARES, "general eigenvalues take an iteration without a known end", "Eig"),
    Cannot("tf.linalg.eigvals", lambda: L.eigvals, SQUARES, "general eigenvalues take such an iteration", "Eig"),
    Cannot("tf.linalg.sqrtm", lambda: L.sqrtm, DEFINITE, "it takes a Schur form, an iteration", "MatrixSquareRoot"),
    Cannot(
        "tf.linalg.logm",
        lambda: lambda x: L.logm(tf.cast(x, tf.complex64)),
        DEFINITE,
        "it takes a Schur form, an iteration",
        "MatrixLogarithm",
    ),
]


def product(name: str, make: Callable[..., Any], samples: Any = VECTORS, label: str = "", **options: Any) -> Case:
    """An operator that is made of the first input and multiplied with the last."""
    return of(f"linalg.{name}", lambda *xs: make(*xs[:-1]).matmul(xs[-1]), samples, label, **options)


OPERATORS = [
    NoGraph("tf.linalg.LinearOperator", "the base class of the others"),
    product("LinearOperatorFullMatrix", L.LinearOperatorFullMatrix, SYSTEMS),
    product("LinearOperatorAdjoint", lambda x: L.LinearOperatorAdjoint(L.LinearOperatorFullMatrix(x)), SYSTEMS),
    product(
        "LinearOperatorBlockDiag",
        lambda x: L.LinearOperatorBlockDiag([L.LinearOperatorDiag(x[:, 0]), L.LinearOperatorFullMatrix(x)]),
        [[square(n), noise(n, 6, 2)] for n in (2, 3)],
    ),
    product(
        "LinearOperatorBlockLowerTriangular",
        lambda x: L.LinearOperatorBlockLowerTriangular(
            [[L.LinearOperatorDiag(x[:, 0])], [L.LinearOperatorFullMatrix(x), L.LinearOperatorDiag(x[:, 1])]]
        ),
        [[square(n), noise(n, 6, 2)] for n in (2, 3)],
    ),
    product(
        "LinearOperatorComposition", lambda x: L.LinearOperatorComposition([L.LinearOperatorFullMatrix(x)] * 2), SYSTEMS
    ),
    product("LinearOperatorDiag", L.LinearOperatorDiag),
    product("LinearOperatorHouseholder", L.LinearOperatorHouseholder),
    product("LinearOperatorIdentity", lambda x: L.LinearOperatorIdentity(3, tf.shape(x)[:1])),
    product("LinearOperatorScaledIdentity", lambda x: L.LinearOperatorScaledIdentity(3, x[:, 0])),
    product("LinearOperatorInversion", lambda x: L.LinearOperatorInversion(L.LinearOperatorFullMatrix(x)), SYSTEMS),
    product(
        "LinearOperatorKronecker",
        lambda x: L.LinearOperatorKronecker([L.LinearOperatorFullMatrix(x), L.LinearOperatorFullMatrix(x[:, :2, :2])]),
        [[square(n), noise(n, 6, 2)] for n in (2, 2)],
    ),
    product(
        "LinearOperatorLowRankUpdate",
        lambda x: L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag(x[:, 0]), x[..., :2]),
        SYSTEMS,
    ),
    product("LinearOperatorLowerTriangular", L.LinearOperatorLowerTriangular, SYSTEMS),
    product(
        "LinearOperatorPermutation",
        lambda x: L.LinearOperatorPermutation(tf.argsort(x, axis=-1), dtype=tf.float32),
    ),
    product("LinearOperatorToeplitz", lambda x: L.LinearOperatorToeplitz(x, x)),
    product("LinearOperatorTridiag", lambda x: L.LinearOperatorTridiag(x, "compact"), DIAGONALS),
    product("LinearOperatorZeros", lambda x: L.LinearOperatorZeros(3, batch_shape=tf.shape(x)[:1])),
    product(
        "LinearOperatorCirculant",
        lambda x: L.LinearOperatorCirculant(tf.cast(x, tf.complex64), input_output_dtype=tf.float32),
    ),
    product(
        "LinearOperatorCirculant2D",
        lambda x: L.LinearOperatorCirculant2D(tf.cast(x, tf.complex64), input_output_dtype=tf.float32),
        [[noise(n, 2, 2), noise(n, 4, 2)] for n in (2, 3)],
    ),
    product(
        "LinearOperatorCirculant3D",
        lambda x: L.LinearOperatorCirculant3D(tf.cast(x, tf.complex64), input_output_dtype=tf.float32),
        [[noise(n, 2, 2, 2), noise(n, 8, 2)] for n in (2, 3)],
    ),
]

SHAPES = [[np.array([2, 3], np.int32)], [np.array([4, 3], np.int32)]]
LOGITS = [[noise(2, 4)], [noise(3, 4)]]
SEED = np.array([1, 2], np.int32)
R = tf.random

RANDOMS = [
    of("random.uniform", R.uniform, SHAPES, **RANDOM),
    of("random.uniform", lambda s: R.uniform(s, 1, 9, tf.int32), SHAPES, "integers", **RANDOM),
    of("random.normal", R.normal, SHAPES, **RANDOM),
    of("random.truncated_normal", R.truncated_normal, SHAPES, **RANDOM),
    of("random.shuffle", R.shuffle, LOGITS, **RANDOM),
    of("random.categorical", lambda x: R.categorical(x, 5), LOGITS, **RANDOM),
    of("random.stateless_uniform", lambda s: R.stateless_uniform(s, SEED), SHAPES, **RANDOM),
    of("random.stateless_uniform", lambda x: x + R.stateless_uniform([4], SEED), LOGITS, "known"),
    of("random.stateless_normal", lambda s: R.stateless_normal(s, SEED), SHAPES, **RANDOM),
    of("random.stateless_truncated_normal", lambda s: R.stateless_truncated_normal(s, SEED), SHAPES, **RANDOM),
    of("random.stateless_categorical", lambda x: R.stateless_categorical(x, 5, SEED), LOGITS, **RANDOM),
    of("random.split", lambda x: x + R.stateless_normal([4], R.split(SEED, 2)[1]), LOGITS),
    of("random.fold_in", lambda x: x + R.stateless_normal([4], R.fold_in(SEED, 3)), LOGITS),
    Case("tf.random.Generator", lambda: R.Generator.from_seed(1).normal, SHAPES, RANDOM),
    *(
        NoGraph(f"tf.random.{name}", why)
        for name, why in {
            "Algorithm": "a type",
            "create_rng_state": "makes the first value of a variable",
            "get_global_generator": "gives a generator",
            "set_global_generator": "sets a generator",
            "set_seed": "sets a seed",
            "all_candidate_sampler": "draws classes for a training loss",
            "fixed_unigram_candidate_sampler": "draws classes for a training loss",
            "learned_unigram_candidate_sampler": "draws classes for a training loss",
            "log_uniform_candidate_sampler": "draws classes for a training loss",
            "uniform_candidate_sampler": "draws classes for a training loss",
        }.items()
    ),
    *(
        Cannot(f"tf.random.{name}", lambda f=function: f, SHAPES, "ONNX draws uniform and normal numbers only", says)
        for name, function, says in (
            ("gamma", lambda s: R.gamma(s, 2.0), "RandomGamma"),
            ("poisson", lambda s: R.poisson(s, 2.0), "RandomPoisson"),
            ("stateless_gamma", lambda s: R.stateless_gamma(s, SEED, 2.0), "StatelessRandomGamma"),
            ("stateless_poisson", lambda s: R.stateless_poisson(s, SEED, 2.0), "StatelessRandomPoisson"),
            (
                "stateless_binomial",
                lambda s: R.stateless_binomial(s, SEED, [5.0, 5.0, 5.0], [0.5, 0.5, 0.5]),
                "StatelessRandomBinomial",
            ),
            (
                "stateless_parameterized_truncated_normal",
                lambda s: R.stateless_parameterized_truncated_normal(s, SEED),
                "StatelessParameterizedTruncatedNormal",
            ),
        )
    ),
]

Z = tf.quantization
REALS = [[np.linspace(-3.17, 4.26, 6, dtype=np.float32)], [np.linspace(-1.3, 1.2, 5, dtype=np.float32)]]
CHANNELS = [[noise(2, 3)], [noise(4, 3)]]
LOW, HIGH = np.array([-1, -2, -3], np.float32), np.array([1, 3, 2], np.float32)


def requantized(x: tf.Tensor) -> tf.Tensor:
    return Z.dequantize(*Z.quantize(x, -2.0, 3.0, tf.qint8))


def joined(x: tf.Tensor) -> tf.Tensor:
    made = [Z.quantize(part, -1.0, 2.0, tf.quint8) for part in (x, 2 * x)]
    return Z.dequantize(*Z.quantized_concat(0, *zip(*made, strict=True)))


QUANTIZED = [
    of("quantization.quantize", requantized, REALS),
    of("quantization.dequantize", requantized, REALS),
    of("quantization.quantized_concat", joined, REALS),
    of("quantization.fake_quant_with_min_max_args", lambda x: Z.fake_quant_with_min_max_args(x, -2, 3), REALS),
    of("quantization.fake_quant_with_min_max_vars", lambda x: Z.fake_quant_with_min_max_vars(x, -2.0, 3.0), REALS),
    of(
        "quantization.fake_quant_with_min_max_vars_per_channel",
        lambda x: Z.fake_quant_with_min_max_vars_per_channel(x, LOW, HIGH),
        CHANNELS,
    ),
    of("quantization.quantize_and_dequantize", lambda x: Z.quantize_and_dequantize(x, -2.0, 3.0), REALS),
    of("quantization.quantize_and_dequantize_v2", lambda x: Z.quantize_and_dequantize_v2(x, -2.0, 3.0), REALS),
    *(
        NoGraph(f"tf.quantization.fake_quant_with_min_max_{name}_gradient", "used in training only")
        for name in ("args", "vars", "vars_per_channel")
    ),
]

CASES: list[Case | Cannot | NoGraph] = [*FUNCTIONS, *OPERATORS, *RANDOMS, *QUANTIZED]
