"""Classic machine learning: scaling, imputing, linear models."""

from __future__ import annotations

import math

import numpy as np

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.scores import as_rows, labelled, transformed, two_columns
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []

_ML = "ai.onnx.ml"


@maps("Binarizer", domain=_ML, fidelity=BITWISE, audited=1)
def binarizer(t: Emission, X: Tensor, *, threshold: float) -> Tensor:
    if X.dtype.is_integer:
        # x > t is x > floor(t) among integers; a threshold beyond the type's range is met by all or by none.
        limits = np.iinfo(X.dtype.as_numpy_dtype)
        if not limits.min <= math.floor(threshold) <= limits.max:
            return tf.fill(tf.shape(X), tf.constant(int(threshold < 0), X.dtype))
        threshold = math.floor(threshold)
    return tf.cast(tf.constant(threshold, X.dtype) < X, X.dtype)


@maps("Imputer", domain=_ML, fidelity=BITWISE, audited=1)
def imputer(
    t: Emission,
    X: Tensor,
    *,
    imputed_value_floats: list[float] | None,
    imputed_value_int64s: list[int] | None,
    replaced_value_float: float,
    replaced_value_int64: int,
) -> Tensor:
    if X.dtype.is_floating:
        imputed = tf.constant(imputed_value_floats, X.dtype)
        missing = tf.math.is_nan(X) if math.isnan(replaced_value_float) else tf.equal(X, replaced_value_float)
    else:
        imputed = tf.constant(imputed_value_int64s, X.dtype)
        missing = tf.equal(X, tf.constant(replaced_value_int64, X.dtype))
    return tf.where(missing, imputed, X)


@maps("Scaler", domain=_ML, audited=1)
def scaler(t: Emission, X: Tensor, *, offset: list[float] | None, scale: list[float] | None) -> Tensor:
    dtype = tf.float64 if X.dtype == tf.float64 else tf.float32
    centred = tf.cast(X, dtype) - tf.constant(offset or [0.0], dtype)
    return tf.cast(centred * tf.constant(scale or [1.0], dtype), tf.float32)


@maps("Normalizer", domain=_ML, audited=1)
def normalizer(t: Emission, X: Tensor, *, norm: str) -> Tensor:
    x = tf.cast(X, tf.float32)
    if norm == "MAX":
        # Not of the magnitudes: the specification divides by max(X). NaN takes no part.
        known = tf.where(tf.math.is_nan(x), tf.constant(-math.inf), x)
        return x / _or_one(tf.reduce_max(known, -1, keepdims=True))
    if norm == "L1":
        return x / _or_one(tf.reduce_sum(tf.abs(x), -1, keepdims=True))
    squares = tf.square(x)
    size = tf.sqrt(squares / _or_one(tf.reduce_sum(squares, -1, keepdims=True)))
    return tf.where(x < 0, -size, size)


def _or_one(divisor: Tensor) -> Tensor:
    return tf.where(tf.equal(divisor, 0), tf.ones_like(divisor), divisor)


@maps("LinearRegressor", domain=_ML, audited=1)
def linear_regressor(
    t: Emission,
    X: Tensor,
    *,
    coefficients: list[float] | None,
    intercepts: list[float] | None,
    post_transform: str,
    targets: int,
) -> Tensor:
    return transformed(_linear(X, coefficients or [], intercepts, targets), post_transform)


@maps(
    "LinearClassifier",
    domain=_ML,
    audited=1,
    ignores={"multi_class": "runtimes do not read it: the scores are the same for one against all and multinomial"},
)
def linear_classifier(
    t: Emission,
    X: Tensor,
    *,
    classlabels_ints: list[int] | None,
    classlabels_strings: list[str] | None,
    coefficients: list[float],
    intercepts: list[float] | None,
    post_transform: str,
) -> tuple[Tensor, Tensor]:
    labels = len(classlabels_strings or classlabels_ints or ())
    count = len(intercepts) if intercepts else _rows_of(coefficients, X, labels)
    scores = _linear(X, coefficients, intercepts, count)
    if count > 1:
        best = tf.argmax(scores, 1)
        return labelled(best, classlabels_ints, classlabels_strings), transformed(scores, post_transform)
    positive = tf.cast(scores[:, 0] > 0, tf.int64)
    if labels == 2:
        both = two_columns(scores, post_transform, signed=False)
        return labelled(positive, classlabels_ints, classlabels_strings), both
    return labelled(positive, [0, 1], ["0", "1"] if classlabels_strings else None), transformed(scores, post_transform)


def _rows_of(coefficients: list[float], X: Tensor, labels: int) -> int:
    features = X.shape[-1] if X.shape.rank else None
    return len(coefficients) // features if features else labels


def _linear(X: Tensor, coefficients: list[float], intercepts: list[float] | None, count: int) -> Tensor:
    """Scores ``[N, count]``; coefficients beyond ``count`` rows of features are not read, as in ONNX Runtime."""
    rows = as_rows(X)
    features = size_of(of_rank(rows, 2), 1)
    weights = tf.reshape(tf.constant(coefficients, tf.float32)[: count * features], [count, features])
    scores = tf.matmul(rows, weights, transpose_b=True)
    return tf.nn.bias_add(scores, tf.constant(intercepts, tf.float32)) if intercepts else scores
