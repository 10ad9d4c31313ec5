"""Support vector machines."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.scores import as_rows, labelled, transformed, two_columns
from trueport.mapping.declare import maps

__all__: list[str] = []

_ML = "ai.onnx.ml"
_SURE = 1e-7
"""No pair's probability comes nearer to 0 or 1."""
_ROUNDS = 100
_TOLERANCE = 0.005


@maps("SVMRegressor", domain=_ML, audited=1)
def svm_regressor(
    t: Emission,
    X: Tensor,
    *,
    coefficients: list[float],
    kernel_params: list[float] | None,
    kernel_type: str,
    n_supports: int,
    one_class: int,
    post_transform: str,
    rho: list[float],
    support_vectors: list[float] | None,
) -> Tensor:
    rows = as_rows(X)
    if n_supports:
        vectors = np.array(support_vectors, np.float32).reshape(n_supports, -1)
        rows = _kernel(rows, vectors, kernel_type, kernel_params)
    scores = tf.matmul(rows, tf.constant(coefficients, tf.float32)[:, tf.newaxis]) + rho[0]
    if one_class:
        return tf.where(scores > 0, tf.ones_like(scores), -tf.ones_like(scores))
    return transformed(scores, post_transform)


@maps("SVMClassifier", domain=_ML, audited=1)
def svm_classifier(
    t: Emission,
    X: Tensor,
    *,
    classlabels_ints: list[int] | None,
    classlabels_strings: list[str] | None,
    coefficients: list[float],
    kernel_params: list[float] | None,
    kernel_type: str,
    post_transform: str,
    prob_a: list[float] | None,
    prob_b: list[float] | None,
    rho: list[float],
    support_vectors: list[float] | None,
    vectors_per_class: list[int] | None,
) -> tuple[Tensor, Tensor]:
    classes = len(classlabels_strings or classlabels_ints or ())
    rows = as_rows(X)
    if not sum(vectors_per_class or ()):
        weights = np.array(coefficients, np.float32).reshape(classes, -1)
        scores = tf.matmul(rows, tf.constant(weights), transpose_b=True) + rho[0]
        best = _best_linear(scores, weights, classes)
        return labelled(best, classlabels_ints, classlabels_strings), transformed(scores, post_transform)
    assert vectors_per_class is not None
    vectors = np.array(support_vectors, np.float32).reshape(sum(vectors_per_class), -1)
    weights = _pair_weights(coefficients, vectors_per_class)
    # Runtimes add these products in double precision, and the votes hang on the sign of the sums.
    kernels = tf.cast(_kernel(rows, vectors, kernel_type, kernel_params), tf.float64)
    sums = tf.matmul(kernels, tf.constant(weights)) + tf.constant(rho[: weights.shape[1]], tf.float64)
    best = tf.argmax(_votes(sums > 0, classes), 1)
    scores = tf.cast(sums, tf.float32)
    if prob_a and prob_b:
        result = transformed(_coupled(_pair_probabilities(scores, prob_a, prob_b, classes), classes), post_transform)
    elif classes == 2:
        result = two_columns(scores, post_transform, signed=True)
    else:
        result = transformed(scores, post_transform)
    return labelled(best, classlabels_ints, classlabels_strings), result


def _kernel(rows: Tensor, vectors: np.ndarray, kind: str, params: list[float] | None) -> Tensor:
    """``k(x, v)`` for each row and each support vector."""
    gamma, offset, degree = (params or [0.0, 0.0, 0.0])[:3]
    if kind == "RBF":
        return tf.exp(-gamma * _squared_distances(rows, vectors))
    products = tf.matmul(rows, tf.constant(vectors), transpose_b=True)
    if kind == "POLY":
        base = products * gamma + offset
        # Small whole powers as runtimes take them: exact for negative bases too.
        return base ** int(degree) if degree in (2, 3) else tf.pow(base, degree)
    return tf.tanh(products * gamma + offset) if kind == "SIGMOID" else products


def _squared_distances(rows: Tensor, vectors: np.ndarray) -> Tensor:
    """By the binomial formula, in double precision so that nothing is lost where the terms cancel."""
    x, v = tf.cast(rows, tf.float64), vectors.astype(np.float64)
    squares = tf.reduce_sum(x * x, 1, keepdims=True) + np.sum(v * v, 1)
    return tf.cast(tf.maximum(squares - 2 * tf.matmul(x, tf.constant(v), transpose_b=True), 0), tf.float32)


def _pair_weights(coefficients: list[float], per_class: list[int]) -> np.ndarray:
    """``[vectors, pairs]``: for the pair (i, j) the vectors of i weigh as in row j - 1, those of j as in row i."""
    classes, vectors = len(per_class), sum(per_class)
    table = (
        np.array(coefficients, np.float32).astype(np.float64)[: (classes - 1) * vectors].reshape(classes - 1, vectors)
    )
    ends = np.cumsum(per_class)
    spans = [slice(end - count, end) for end, count in zip(ends, per_class, strict=True)]
    pairs = list(itertools.combinations(range(classes), 2))
    weights = np.zeros([vectors, len(pairs)])
    for column, (i, j) in enumerate(pairs):
        weights[spans[i], column] = table[j - 1, spans[i]]
        weights[spans[j], column] = table[i, spans[j]]
    return weights


def _votes(first_wins: Tensor, classes: int) -> Tensor:
    pairs = list(itertools.combinations(range(classes), 2))
    for_first, for_second = (tf.constant(np.eye(classes, dtype=np.int32)[[pair[k] for pair in pairs]]) for k in (0, 1))
    won = tf.cast(first_wins, tf.int32)
    return tf.matmul(won, for_first) + tf.matmul(1 - won, for_second)


def _best_linear(scores: Tensor, weights: np.ndarray, classes: int) -> Tensor:
    """The class with the highest score; of two, the second as soon as any score is positive (above 1/2)."""
    best = tf.argmax(scores, 1)
    if classes != 2:
        return best
    highest = tf.reduce_max(scores, 1)
    second = highest >= 0.5 if np.all(weights >= 0) else highest > 0
    return tf.where(second, tf.ones_like(best), best)


def _pair_probabilities(scores: Tensor, prob_a: list[float], prob_b: list[float], classes: int) -> Tensor:
    """``r[n, i, j]``, the probability of i against j; 0 on the diagonal."""
    count = classes * (classes - 1) // 2
    a, b = (tf.constant(p[:count], tf.float32) for p in (prob_a, prob_b))
    first = tf.clip_by_value(1 - tf.sigmoid(scores * a + b), _SURE, 1 - _SURE)
    cells = tf.concat([first, 1 - first, tf.zeros_like(first[:, :1])], 1)
    place = np.full([classes, classes], 2 * count)
    for pair, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        place[i, j], place[j, i] = pair, count + pair
    return tf.gather(cells, place, axis=1)


def _coupled(r: Tensor, classes: int) -> Tensor:
    """One probability per class out of those of all pairs (Wu, Lin, Weng: the second method, as libsvm has it)."""
    flipped = tf.transpose(r, [0, 2, 1])
    q = tf.linalg.set_diag(-r * flipped, tf.reduce_sum(flipped * flipped, 2))
    tolerance = _TOLERANCE / classes

    def measures(p: Tensor) -> tuple[Tensor, Tensor]:
        qp = tf.linalg.matvec(q, p)
        return qp, tf.reduce_sum(p * qp, 1)

    def is_settled(p: Tensor) -> Tensor:
        qp, pqp = measures(p)
        return tf.reduce_max(tf.abs(qp - pqp[:, tf.newaxis]), 1) < tolerance

    def improve(p: Tensor) -> Tensor:
        qp, pqp = measures(p)
        for k in range(classes):
            diff = (pqp - qp[:, k]) / q[:, k, k]
            p += diff[:, tf.newaxis] * np.eye(classes, dtype=np.float32)[k]
            pqp = (pqp + diff * (diff * q[:, k, k] + 2 * qp[:, k])) / (1 + diff) / (1 + diff)
            qp = (qp + diff[:, tf.newaxis] * q[:, k]) / (1 + diff)[:, tf.newaxis]
            p /= (1 + diff)[:, tf.newaxis]
        return p

    def body(i: Tensor, p: Tensor, settled: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        better = tf.where(settled[:, tf.newaxis], p, improve(p))
        return i + 1, better, settled | is_settled(better)

    start: Any = tf.fill([tf.shape(r)[0], classes], 1 / classes)
    state = (tf.constant(0), start, is_settled(start))
    return tf.while_loop(lambda i, _, settled: (i < _ROUNDS) & ~tf.reduce_all(settled), body, state)[1]
