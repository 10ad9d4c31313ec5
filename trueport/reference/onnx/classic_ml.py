"""Operators of ai.onnx.ml in NumPy that ONNX's reference lacks, rounds, or computes in another way than runtimes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["CLASSIC_ML"]

Array = Any
_NEAR_ZERO = 1e-7
_WINITZKI = 0.147
"""The constant of the formula for the inverse error function that defines PROBIT in ONNX's runtimes."""
_ROUNDS, _TOLERANCE, _SURE = 100, 0.005, 1e-7
"""Of libsvm's coupling of probabilities: its steps, when it ends, and a pair's distance from 0 and 1."""


def _transformed(scores: Array, name: str) -> Array:
    if name == "LOGISTIC":
        return 0.5 * (1 + np.tanh(scores / 2))
    if name in ("SOFTMAX", "SOFTMAX_ZERO"):
        largest = scores.max(axis=1, keepdims=True)
        powers = np.exp(scores - largest)
        if name == "SOFTMAX":
            return powers / powers.sum(axis=1, keepdims=True)
        is_counted = np.abs(scores) > _NEAR_ZERO
        total = np.where(is_counted, powers, 0).sum(axis=1, keepdims=True)
        return np.where(is_counted, powers, scores * np.exp(-largest)) / total
    return _probit(scores) if name == "PROBIT" else scores


def _probit(p: Array) -> Array:
    x = 2 * p - 1
    log = np.log1p(-x * x)
    half = 2 / (math.pi * _WINITZKI) + 0.5 * log
    root = np.sqrt(half * half - log / _WINITZKI)
    size = np.sqrt(np.where(half > 0, -log / _WINITZKI / (half + root), root - half))
    return math.sqrt(2) * np.where(x < 0, -size, size)


def _labelled(index: Array, ints: Sequence[int] | None, strings: Sequence[str] | None) -> Array:
    return np.array(strings, object)[index] if strings else np.array(ints, np.int64)[index]


def _linear(X: Array, coefficients: Sequence[float], intercepts: Sequence[float] | None, count: int) -> Array:
    rows = np.atleast_2d(X).astype(np.float64)
    features = rows.shape[1]
    # Attributes are float32, and Python holds them as what they are.
    weights = np.array(coefficients, np.float64)[: count * features].reshape(count, features)
    return rows @ weights.T + (np.array(intercepts, np.float64) if intercepts else 0)


def _linear_regressor(X: Array, *, coefficients: Any, intercepts: Any, post_transform: str, targets: int) -> Array:
    return _transformed(_linear(X, coefficients or [], intercepts, targets), post_transform)


def _linear_classifier(
    X: Array,
    *,
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    coefficients: Sequence[float],
    intercepts: Sequence[float] | None,
    post_transform: str,
    multi_class: int,
) -> tuple[Array, Array]:
    count = len(intercepts) if intercepts else len(coefficients) // X.shape[-1]
    scores = _linear(X, coefficients, intercepts, count)
    if count > 1:
        label = _labelled(scores.argmax(axis=1), classlabels_ints, classlabels_strings)
        return label, _transformed(scores, post_transform)
    is_positive = (scores[:, 0] > 0).astype(np.int64)
    if len(classlabels_strings or classlabels_ints or ()) == 2:
        opposite = 1 - scores if post_transform in ("NONE", "PROBIT") else -scores
        both = _transformed(np.concatenate([opposite, scores], 1), post_transform)
        return _labelled(is_positive, classlabels_ints, classlabels_strings), both
    names = ["0", "1"] if classlabels_strings else None
    return _labelled(is_positive, [0, 1], names), _transformed(scores, post_transform)


def _normalizer(X: Array, *, norm: str) -> Array:
    """Divide rows by their largest element (not its magnitude), by the sum of magnitudes, or by the length."""
    x = X.astype(np.float64)
    if norm == "MAX":
        size = np.max(np.where(np.isnan(x), -np.inf, x), axis=-1, keepdims=True)
    elif norm == "L1":
        size = np.abs(x).sum(axis=-1, keepdims=True)
    else:
        size = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / np.where(size == 0, 1, size)


def _feature_vectorizer(*X: Array, inputdimensions: Sequence[int] | None) -> Array:
    columns = [np.atleast_2d(x).reshape(1 if x.ndim == 1 else len(x), -1).astype(np.float64) for x in X]
    if inputdimensions is not None:
        pairs = zip(columns, inputdimensions, strict=False)
        columns = [np.pad(x, [(0, 0), (0, max(width - x.shape[1], 0))])[:, :width] for x, width in pairs]
    return np.concatenate(columns, 1)


def _category_mapper(
    X: Array,
    *,
    cats_int64s: Sequence[int],
    cats_strings: Sequence[str],
    default_int64: int,
    default_string: str,
) -> Array:
    if X.dtype.kind in "OUS":
        numbers = dict(zip(cats_strings, cats_int64s, strict=True))
        return np.array([numbers.get(key, default_int64) for key in X.reshape(-1)], np.int64).reshape(X.shape)
    words = dict(zip(cats_int64s, cats_strings, strict=True))
    return np.array([words.get(int(key), default_string) for key in X.reshape(-1)], object).reshape(X.shape)


def _cast_map(X: Any, *, cast_to: str, map_form: str, max_map: int) -> Array:
    """Return a map's values in the order of their keys, or (SPARSE) each at its key."""
    convert, dtype, nothing = _CASTS[cast_to]
    values = {int(key): convert(value) for key, value in _rows(X)[0].items()}
    if map_form == "DENSE":
        return np.array([[values[key] for key in sorted(values)]], dtype)
    return np.array([[values.get(key, nothing) for key in range(max_map)]], dtype)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):f}"


_CASTS: Mapping[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "TO_FLOAT": (float, np.float64, 0.0),
    "TO_INT64": (lambda value: int(float(value)), np.int64, 0),
    "TO_STRING": (_text, object, "0.f"),
}
"""How an element is cast, the type of the result, and what stands where there is no key."""


def _rows(X: Any) -> list[Mapping[Any, Any]]:
    """Return maps as a list, however they came."""
    items = X.reshape(-1).tolist() if isinstance(X, np.ndarray) else X
    return list(items) if isinstance(items, (list, tuple)) else [items]


def _zip_map(X: Array, *, classlabels_int64s: Any, classlabels_strings: Any) -> Any:
    keys = classlabels_strings or classlabels_int64s
    return [dict(zip(keys, row.tolist(), strict=True)) for row in np.atleast_2d(X)]


def _scaler(X: Array, *, offset: Sequence[float] | None, scale: Sequence[float] | None) -> Array:
    return (X.astype(np.float64) - np.array(offset or [0.0])) * np.array(scale or [1.0])


def _dict_vectorizer(X: Any, *, int64_vocabulary: Any, string_vocabulary: Any) -> Array:
    (row,) = _rows(X)
    nothing = "" if any(isinstance(value, str) for value in row.values()) else 0
    values = [row.get(key, nothing) for key in string_vocabulary or int64_vocabulary]
    return np.array([values], object if nothing == "" else None)


def _label_encoder(X: Array, **tables: Any) -> Array:
    """Of equal keys the first counts."""
    keys = next(tables[name] for name in ("keys_strings", "keys_int64s", "keys_floats", "keys_tensor") if tables[name])
    kinds = (("strings", object), ("int64s", np.int64), ("floats", np.float64), ("tensor", None))
    kind, dtype = next((kind, dtype) for kind, dtype in kinds if tables[f"values_{kind}"] is not None)
    values, default = tables[f"values_{kind}"], tables[f"default_{kind.removesuffix('s')}"]
    if dtype is None:
        values = values.numpy().reshape(-1)
        dtype, default = values.dtype, default.numpy().reshape(-1)[0]
    listed = keys.numpy().reshape(-1).tolist() if hasattr(keys, "numpy") else keys
    found = {_key(key): value for key, value in reversed(list(zip(listed, values, strict=True)))}
    made = [found.get(_key(item), default) for item in X.reshape(-1).tolist()]
    return np.array(made, dtype).reshape(X.shape)


def _key(item: Any) -> Any:
    """Return what is looked up: NaN equals itself, and strings of tensors are bytes."""
    if isinstance(item, bytes):
        return item.decode()
    return "nan" if isinstance(item, float) and math.isnan(item) else item


def _one_hot(X: Array, *, cats_int64s: Sequence[int] | None, cats_strings: Sequence[str] | None, zeros: int) -> Array:
    """Of equal categories the last counts; numbers are cut to integers."""
    categories: Sequence[Any] = cats_strings or cats_int64s or ()
    positions = {category: position for position, category in enumerate(categories)}
    items = X.reshape(-1).tolist() if X.dtype.kind in "OUS" else X.reshape(-1).astype(np.int64).tolist()
    made = np.zeros((len(items), len(categories)))
    for row, item in enumerate(items):
        if item in positions:
            made[row, positions[item]] = 1
        elif not zeros:
            raise ValueError(f"{item!r} is no category, and zeros = 0")
    return made.reshape(*X.shape, len(categories))


def _svm_regressor(
    X: Array,
    *,
    coefficients: Sequence[float],
    kernel_params: Sequence[float] | None,
    kernel_type: str,
    n_supports: int,
    one_class: int,
    post_transform: str,
    rho: Sequence[float],
    support_vectors: Sequence[float] | None,
) -> Array:
    rows = np.atleast_2d(X).astype(np.float64)
    if n_supports:
        rows = _similarity(rows, np.array(support_vectors).reshape(n_supports, -1), kernel_type, kernel_params)
    scores = rows @ np.array(coefficients)[:, None] + rho[0]
    return np.where(scores > 0, 1.0, -1.0) if one_class else _transformed(scores, post_transform)


def _svm_classifier(
    X: Array,
    *,
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    coefficients: Sequence[float],
    kernel_params: Sequence[float] | None,
    kernel_type: str,
    post_transform: str,
    prob_a: Sequence[float] | None,
    prob_b: Sequence[float] | None,
    rho: Sequence[float],
    support_vectors: Sequence[float] | None,
    vectors_per_class: Sequence[int] | None,
) -> tuple[Array, Array]:
    rows = np.atleast_2d(X).astype(np.float64)
    labels = functools.partial(_labelled, ints=classlabels_ints, strings=classlabels_strings)
    if not vectors_per_class or not sum(vectors_per_class):
        return _linear_votes(rows, coefficients, rho, labels, post_transform)
    classes = len(vectors_per_class)
    vectors = np.array(support_vectors).reshape(sum(vectors_per_class), -1)
    similar = _similarity(rows, vectors, kernel_type, kernel_params)
    table = np.array(coefficients)[: (classes - 1) * len(vectors)].reshape(classes - 1, len(vectors))
    owners = np.repeat(np.arange(classes), vectors_per_class)
    votes, against = np.zeros((len(similar), classes)), np.zeros((len(similar), classes, classes))
    scores = []
    for number, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        weights = np.where(owners == i, table[j - 1], 0) + np.where(owners == j, table[i], 0)
        score = similar @ weights + rho[number]
        votes[:, i] += score > 0
        votes[:, j] += score <= 0
        scores.append(score)
        if prob_a and prob_b:
            chance = np.clip(1 / (1 + np.exp(score * prob_a[number] + prob_b[number])), _SURE, 1 - _SURE)
            against[:, i, j], against[:, j, i] = chance, 1 - chance
    made = np.stack(scores, 1)
    if prob_a and prob_b:
        made = np.array([_coupled(one) for one in against]).reshape(-1, classes)
    elif classes == 2:
        made = np.concatenate([-made, made], 1)
    return labels(votes.argmax(axis=1)), _transformed(made, post_transform)


def _linear_votes(
    rows: Array, coefficients: Sequence[float], rho: Sequence[float], labels: Callable[[Array], Array], transform: str
) -> tuple[Array, Array]:
    """Without support vectors the highest score wins; of two the second as soon as a score is positive."""
    weights = np.array(coefficients).reshape(-1, rows.shape[1])
    scores = rows @ weights.T + rho[0]
    best = scores.argmax(axis=1)
    if len(weights) == 2:
        highest = scores.max(axis=1)
        best = np.where(highest >= 0.5 if np.all(weights >= 0) else highest > 0, 1, best)
    return labels(best), _transformed(scores, transform)


def _similarity(rows: Array, vectors: Array, kind: str, params: Sequence[float] | None) -> Array:
    gamma, offset, degree = (params or [0.0, 0.0, 0.0])[:3]
    if kind == "RBF":
        return np.exp(-gamma * ((rows[:, None] - vectors[None]) ** 2).sum(axis=-1))
    products = rows @ vectors.T
    if kind == "POLY":
        return (products * gamma + offset) ** degree
    return np.tanh(products * gamma + offset) if kind == "SIGMOID" else products


def _coupled(against: Array) -> Array:
    """Return one probability per class from those of all pairs (Wu, Lin, Weng: the second method, as in libsvm)."""
    classes = len(against)
    q = -against * against.T
    np.fill_diagonal(q, (against**2).sum(axis=0))
    p = np.full(classes, 1 / classes)
    for _ in range(_ROUNDS):
        gradient = q @ p
        level = p @ gradient
        if np.max(np.abs(gradient - level)) < _TOLERANCE / classes:
            break
        for k in range(classes):
            step = (level - gradient[k]) / q[k, k]
            p[k] += step
            level = (level + step * (step * q[k, k] + 2 * gradient[k])) / (1 + step) ** 2
            gradient = (gradient + step * q[k]) / (1 + step)
            p /= 1 + step
    return p


CLASSIC_ML: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "CastMap": _cast_map,
        "CategoryMapper": _category_mapper,
        "DictVectorizer": _dict_vectorizer,
        "FeatureVectorizer": _feature_vectorizer,
        "LabelEncoder": _label_encoder,
        "LinearClassifier": _linear_classifier,
        "LinearRegressor": _linear_regressor,
        "Normalizer": _normalizer,
        "OneHotEncoder": _one_hot,
        "SVMClassifier": _svm_classifier,
        "SVMRegressor": _svm_regressor,
        "Scaler": _scaler,
        "ZipMap": _zip_map,
    }
)
"""By operator; one that returns None leaves the case to ONNX's reference."""
