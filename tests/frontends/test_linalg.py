"""Linear algebra in loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

RNG = np.random.default_rng(0)
BATCHES = [(), (2, 2)]


def square(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Well conditioned, in need of pivots."""
    n = shape[-1]
    made = RNG.normal(size=(*shape, n)) + 2 * np.eye(n)[RNG.permutation(n)]
    return made.astype(dtype)


def definite(*shape: int, dtype: str = "float32") -> np.ndarray:
    made = RNG.normal(size=(*shape, shape[-1]))
    return (made @ made.swapaxes(-1, -2) + np.eye(shape[-1])).astype(dtype)


OF_ONE: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray]]] = {
    "cholesky": (tf.linalg.cholesky, definite),
    "inverse": (tf.linalg.inv, square),
    "adjoint_inverse": (lambda x: tf.linalg.inv(x, adjoint=True), square),
    "det": (tf.linalg.det, square),
    "slogdet": (tf.linalg.slogdet, square),
    "lu": (tf.linalg.lu, square),
    "qr": (tf.linalg.qr, square),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_matrix(name: str, batch: tuple[int, ...], dtype: str) -> None:
    function, make = OF_ONE[name]
    agree(function, *([make(*(n * b for b in batch), n, dtype=dtype)] for n in (1, 5)))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 3)], ids=str)
def test_qr_of_rectangles(shape: tuple[int, ...], full: bool) -> None:
    agree(lambda x: tf.linalg.qr(x, full), [RNG.normal(size=shape).astype(np.float32)])


def test_qr_of_a_triangle_reflects_nothing() -> None:
    agree(tf.linalg.qr, [np.array([[1, 2], [0, -3]], np.float32)], [np.array([[0, 2], [0, 3]], np.float32)])


def test_a_singular_matrix_has_no_sign() -> None:
    agree(lambda x: tf.linalg.slogdet(x), [np.array([[1, 2], [2, 4]], np.float32)])


TURNS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize(
    ("lower", "adjoint", "batches"),
    [(*turn, ((3,), (3,))) for turn in TURNS]
    + [(True, False, batches) for batches in (((), ()), ((), (3,)), ((3,), ()), ((2, 1), (3,)))],
    ids=str,
)
def test_triangular_solve(lower: bool, adjoint: bool, batches: tuple[tuple[int, ...], ...]) -> None:
    agree(
        lambda a, b: tf.linalg.triangular_solve(a, b, lower, adjoint),
        *([square(*batches[0], n), RNG.normal(size=(*batches[1], n, 2)).astype(np.float32)] for n in (3, 4)),
    )


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_solve(adjoint: bool, batch: tuple[int, ...]) -> None:
    agree(
        lambda a, b: tf.linalg.solve(a, b, adjoint),
        *([square(*batch, n), RNG.normal(size=(*batch, n, 2)).astype(np.float32)] for n in (3, 4)),
    )


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_solve_of_other_magnitudes(scale: float) -> None:
    agree(tf.linalg.inv, *([square(n, 4) * np.float32(scale)] for n in (2, 3)))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_banded_triangular_solve(lower: bool, adjoint: bool) -> None:
    bands = RNG.uniform(1, 2, (3, 2, 5)).astype(np.float32)
    right = RNG.normal(size=(3, 5, 2)).astype(np.float32)
    agree(
        lambda a, b: tf.linalg.banded_triangular_solve(a, b, lower, adjoint),
        [bands, right],
        [bands[:2], right[:2]],
    )


@pytest.mark.parametrize("pivoting", [False, True])
def test_tridiagonal_solve(pivoting: bool) -> None:
    diagonals = RNG.normal(size=(3, 3, 5)).astype(np.float32) + np.array([[0], [4], [0]], np.float32)
    right = RNG.normal(size=(3, 5, 2)).astype(np.float32)
    agree(
        lambda a, b: tf.linalg.tridiagonal_solve(a, b, "compact", partial_pivoting=pivoting),
        [diagonals, right],
        [diagonals[:2], right[:2]],
    )


def test_tridiagonal_product() -> None:
    diagonals = RNG.normal(size=(3, 3, 5)).astype(np.float32)
    right = RNG.normal(size=(3, 5, 2)).astype(np.float32)
    agree(lambda a, b: tf.linalg.tridiagonal_matmul(a, b, "compact"), [diagonals, right], [diagonals[:2], right[:2]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_eigenvalues(size: int, dtype: str) -> None:
    samples = [[definite(n, size, dtype=dtype) - 2 * np.eye(size, dtype=dtype)] for n in (2, 3)]
    agree(lambda x: tf.linalg.eigvalsh(x), *samples)


def test_eigenvectors_up_to_their_signs() -> None:
    def parts(x: tf.Tensor) -> list[tf.Tensor]:
        values, vectors = tf.linalg.eigh(x)
        return [values, tf.abs(vectors), tf.matmul(vectors * values[..., None, :], vectors, transpose_b=True)]

    agree(parts, *([definite(n, 4)] for n in (2, 3)))


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 6)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(shape: tuple[int, int], full: bool) -> None:
    def parts(x: tf.Tensor) -> list[tf.Tensor]:
        values, left, right = tf.linalg.svd(x, full_matrices=full)
        count = min(shape)
        left, right = left[..., :count], right[..., :count]
        return [values, tf.abs(left), tf.abs(right), tf.matmul(left * values[..., None, :], right, transpose_b=True)]

    samples = [[RNG.normal(size=(n, *shape)).astype(np.float32)] for n in (2, 3)]
    agree(lambda x: tf.linalg.svd(x, compute_uv=False), *samples)
    agree(parts, *samples)


def test_all_left_vectors_are_orthogonal() -> None:
    agree(
        lambda x: tf.matmul(*[tf.linalg.svd(x, full_matrices=True)[1]] * 2, transpose_a=True),
        [RNG.normal(size=(2, 5, 3)).astype(np.float32)],
    )


def test_singular_values_of_a_singular_matrix() -> None:
    agree(lambda x: tf.linalg.svd(x, compute_uv=False), [np.array([[1, 2], [2, 4]], np.float32)])
    agree(lambda x: tf.linalg.svd(x, compute_uv=False), [np.zeros((3, 2), np.float32)])
