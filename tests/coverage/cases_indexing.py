"""Indexing, scatters, choices, order, counts, segments, embeddings and sparse tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.coverage.case import Cannot, Case, NoGraph

RNG = np.random.default_rng(31)
SHAPE = (4, 5)


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def whole(limit: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
    return RNG.integers(0, limit, size=shape).astype(dtype)


def parts(count: int, dtype: Any = np.float32, limit: int = 9) -> list[Any]:
    """The components of a sparse tensor in its usual order."""
    chosen = np.sort(RNG.choice(int(np.prod(SHAPE)), size=count, replace=False))
    rows = np.stack(np.unravel_index(chosen, SHAPE), axis=-1)
    return [rows.astype(np.int64), whole(limit, count).astype(dtype), np.array(SHAPE, np.int64)]


def of_parts(function: Callable[..., Any], count: int = 1) -> Callable[[], Any]:
    """Makes the function over components of sparse tensors, then plain ones; sparse results come as components."""

    def over_parts(*inputs: Any) -> Any:
        given = [tf.SparseTensor(*inputs[3 * i : 3 * i + 3]) for i in range(count)]
        return tuple(tf.nest.flatten(function(*given, *inputs[3 * count :]), expand_composites=True))

    return lambda: over_parts


def plain(function: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: function


def sparse(
    name: str, function: Callable[..., Any], samples: Sequence[Any] | None = None, count: int = 1, label: str = ""
) -> Case:
    default = [[item for _ in range(count) for item in parts(n)] for n in (3, 9)]
    return Case(f"tf.sparse.{name}", of_parts(function, count), samples or default, label=label)


def model(*layers: Any) -> Callable[[], Any]:
    return lambda: keras.Sequential(layers)


ROWS = [[floats(n, 4)] for n in (2, 5)]
KEYS = [[whole(6, n)] for n in (4, 9)]
SORTED_IDS = np.array([0, 0, 1, 3, 3, 4], np.int32)
SEGMENTS = [[floats(n, 3), SORTED_IDS[:n]] for n in (4, 6)]

_ORDER: list[Case | Cannot | NoGraph] = [
    Case("keras.ops.argmax", plain(lambda x: keras.ops.argmax(x, axis=-1)), ROWS),
    Case("keras.ops.argmin", plain(lambda x: keras.ops.argmin(x, axis=0, keepdims=True)), ROWS),
    Case("keras.ops.argpartition", plain(lambda x: keras.ops.argpartition(x, 2)), [[floats(n)] for n in (4, 9)]),
    Case("keras.ops.argsort", plain(lambda x: keras.ops.argsort(x, axis=-1)), ROWS),
    Case("keras.ops.nanargmax", plain(lambda x: keras.ops.nanargmax(x, axis=1)), ROWS),
    Case("keras.ops.nanargmin", plain(lambda x: keras.ops.nanargmin(x, axis=1)), ROWS),
    Case("keras.ops.sort", plain(lambda x: keras.ops.sort(x, axis=0)), ROWS),
    Case("keras.ops.top_k", plain(lambda x: keras.ops.top_k(x, 2)), ROWS),
    Case(
        "keras.ops.in_top_k",
        plain(lambda i, p: keras.ops.in_top_k(i, p, 2)),
        [[whole(4, n), floats(n, 4)] for n in (2, 5)],
    ),
    Case("keras.ops.unique", plain(lambda x: keras.ops.unique(x, return_inverse=True, return_counts=True)), KEYS),
    Case(
        "keras.ops.searchsorted",
        plain(lambda s, v: keras.ops.searchsorted(s, v)),
        [[np.sort(floats(5)), floats(n)] for n in (2, 5)],
    ),
    Case("keras.ops.digitize", plain(lambda x: keras.ops.digitize(x, np.array([-1.0, 0.0, 1.0]))), ROWS),
    NoGraph("keras.ops.isin", "Keras asks a tensor's size in Python: TensorFlow itself can't trace it"),
    Case("tf.math.argmax", plain(lambda x: tf.math.argmax(x, 1)), ROWS),
    Case("tf.math.argmin", plain(lambda x: tf.math.argmin(x, 0, tf.int32)), ROWS),
    Case("tf.math.top_k", plain(lambda x: tf.math.top_k(x, 3)), ROWS),
    Case("tf.nn.top_k", plain(lambda x: tf.nn.top_k(x, 1)), ROWS),
    Case(
        "tf.math.in_top_k", plain(lambda i, p: tf.math.in_top_k(i, p, 2)), [[whole(4, n), floats(n, 4)] for n in (2, 5)]
    ),
    Case("tf.nn.in_top_k", plain(lambda i, p: tf.nn.in_top_k(i, p, 1)), [[whole(4, n), floats(n, 4)] for n in (2, 5)]),
    Case("tf.math.is_non_decreasing", plain(tf.math.is_non_decreasing), [[np.sort(floats(4))], [floats(5)]]),
    Case("tf.math.is_strictly_increasing", plain(tf.math.is_strictly_increasing), [[np.sort(floats(4))], [floats(5)]]),
    Case("tf.math.approx_max_k", plain(lambda x: tf.math.approx_max_k(x, 2)), ROWS),
    NoGraph(
        "tf.math.approx_min_k",
        "TensorFlow has no kernel for it on CPUs to compare with; it is mapped like approx_max_k",
    ),
    Case("tf.nn.approx_max_k", plain(lambda x: tf.nn.approx_max_k(x, 2)), ROWS),
    NoGraph(
        "tf.nn.approx_min_k", "TensorFlow has no kernel for it on CPUs to compare with; it is mapped like approx_max_k"
    ),
]

_COUNTS = [
    Case("keras.ops.bincount", plain(lambda x: keras.ops.bincount(x, minlength=3)), KEYS),
    Case(
        "keras.ops.bincount",
        plain(lambda x, w: keras.ops.bincount(x, w)),
        [[whole(6, n, 3), floats(n, 3)] for n in (2, 3)],
        label="weights",
    ),
    Case("keras.ops.histogram", plain(lambda x: keras.ops.histogram(x, 5, (-2.0, 2.0))), [[floats(n)] for n in (4, 9)]),
    Case(
        "tf.math.bincount",
        plain(lambda x: tf.math.bincount(x, minlength=3, axis=-1)),
        [[whole(6, n, 3)] for n in (2, 3)],
    ),
    Case("tf.math.bincount", plain(lambda x: tf.math.bincount(x)), KEYS, label="all"),
    Case(
        "tf.math.confusion_matrix",
        plain(lambda a, b: tf.math.confusion_matrix(a, b, 6)),
        [[whole(6, n), whole(6, n)] for n in (4, 9)],
    ),
]

_INDEXING = [
    Case(
        "keras.ops.take",
        plain(lambda x, i: keras.ops.take(x, i, axis=1)),
        [[floats(n, 4), whole(4, 3)] for n in (2, 5)],
    ),
    Case(
        "keras.ops.take",
        plain(lambda x, i: keras.ops.take(x, i)),
        [[floats(n, 4), whole(4, 3)] for n in (2, 5)],
        label="flat",
    ),
    Case(
        "keras.ops.take_along_axis",
        plain(lambda x, i: keras.ops.take_along_axis(x, i, axis=1)),
        [[floats(n, 4), whole(4, n, 2)] for n in (2, 5)],
    ),
    Case("keras.ops.where", plain(lambda x: keras.ops.where(x > 0, x, 0.0)), ROWS),
    Case("keras.ops.nonzero", plain(lambda x: keras.ops.nonzero(x > 0)), ROWS),
    Case("keras.ops.select", plain(lambda x: keras.ops.select([x > 1, x > 0], [x, -x], 5.0)), ROWS),
    Case("keras.ops.one_hot", plain(lambda i: keras.ops.one_hot(i, 5)), [[whole(7, n) - 1] for n in (4, 9)]),
    Case("keras.ops.multi_hot", plain(lambda i: keras.ops.multi_hot(i, 5)), [[whole(5, n, 3)] for n in (2, 4)]),
    Case(
        "keras.ops.scatter",
        plain(lambda i, v: keras.ops.scatter(i, v, (4, 2))),
        [[whole(4, n, 1), floats(n, 2)] for n in (3, 6)],
    ),
    Case(
        "keras.ops.scatter_update",
        plain(lambda x, v: keras.ops.scatter_update(x, [[1], [0]], v)),
        [[floats(n, 2), floats(2, 2)] for n in (3, 6)],
    ),
    Case(
        "keras.ops.scatter_update",
        plain(lambda x, v: keras.ops.scatter_update(x, [[1], [1]], v, "add")),
        [[floats(n, 2), floats(2, 2)] for n in (3, 6)],
        label="add",
    ),
    Case(
        "keras.layers.Embedding",
        model(keras.Input((3,)), keras.layers.Embedding(7, 4)),
        [[whole(7, n, 3, dtype=np.float32)] for n in (2, 5)],
    ),
    Case(
        "keras.layers.Embedding",
        model(keras.Input((3,), dtype="int32"), keras.layers.Embedding(7, 4, mask_zero=True)),
        [[whole(7, n, 3)] for n in (2, 5)],
        label="masked",
    ),
    Case(
        "keras.layers.ReversibleEmbedding",
        model(keras.Input((3,), dtype="int32"), keras.layers.ReversibleEmbedding(7, 4)),
        [[whole(7, n, 3)] for n in (2, 5)],
    ),
    Case("tf.nn.embedding_lookup", lambda: _looked_up(tf.nn.embedding_lookup), [[whole(7, n, 3)] for n in (2, 5)]),
    Case(
        "tf.nn.embedding_lookup",
        lambda: _looked_up(lambda e, i: tf.nn.embedding_lookup(e, i, max_norm=1.0)),
        [[whole(7, n, 3)] for n in (2, 5)],
        label="norm",
    ),
    Case(
        "tf.math.invert_permutation",
        plain(tf.math.invert_permutation),
        [[RNG.permutation(n).astype(np.int32)] for n in (3, 6)],
    ),
]


def _looked_up(lookup: Callable[..., Any]) -> Callable[..., Any]:
    table = tf.Variable(floats(7, 4))
    return lambda *inputs: lookup(table, *inputs)


def _sparse_lookup(lookup: Callable[..., Any]) -> Callable[[], Any]:
    def function(indices: Any, values: Any, shape: Any) -> Any:
        return lookup(table, tf.SparseTensor(indices, values, shape), None, combiner="mean")

    table = tf.Variable(floats(7, 4))
    return lambda: function


_IDS = [[np.array([[0, 0], [1, 2], [1, 3], [2, 0], [3, 4]])[:n], whole(7, n), np.array(SHAPE)] for n in (3, 5)]
_EMBEDDINGS = [
    Case("tf.nn.embedding_lookup_sparse", _sparse_lookup(tf.nn.embedding_lookup_sparse), _IDS),
    Case("tf.nn.safe_embedding_lookup_sparse", _sparse_lookup(tf.nn.safe_embedding_lookup_sparse), _IDS),
]

_RUNNING = [
    Case("keras.ops.cumsum", plain(lambda x: keras.ops.cumsum(x, axis=1)), ROWS),
    Case("keras.ops.cumprod", plain(lambda x: keras.ops.cumprod(x, axis=0)), ROWS),
    Case("keras.ops.nancumsum", plain(lambda x: keras.ops.nancumsum(x, axis=1)), ROWS),
    Case("keras.ops.nancumprod", plain(lambda x: keras.ops.nancumprod(x, axis=1)), ROWS),
    Case("tf.math.cumsum", plain(lambda x: tf.math.cumsum(x, 1, exclusive=True)), ROWS),
    Case("tf.math.cumprod", plain(lambda x: tf.math.cumprod(x, 0, reverse=True)), ROWS),
    Case("tf.math.cumulative_logsumexp", plain(lambda x: tf.math.cumulative_logsumexp(x, 1)), ROWS),
]


def _six(name: str) -> Callable[[], Any]:
    return lambda: lambda x, i: getattr(keras.ops, name)(x, i, 6)


def _unsorted(name: str) -> Callable[[], Any]:
    return lambda: lambda x, i: getattr(tf.math, name)(x, i[::-1] - 1, 5)


_ROWS_OF = [[floats(5, 3), whole(5, n), SORTED_IDS[:n]] for n in (4, 6)]
_KINDS = ("sum", "max", "min", "prod", "mean", "sqrt_n")
_SEGMENTS = [
    *(Case(f"keras.ops.segment_{kind}", _six(f"segment_{kind}"), SEGMENTS) for kind in _KINDS[:4]),
    *(Case(f"tf.math.segment_{kind}", plain(getattr(tf.math, f"segment_{kind}")), SEGMENTS) for kind in _KINDS[:5]),
    *(Case(f"tf.math.unsorted_segment_{kind}", _unsorted(f"unsorted_segment_{kind}"), SEGMENTS) for kind in _KINDS),
    Case("tf.sparse.segment_sum", plain(tf.sparse.segment_sum), _ROWS_OF),
    Case("tf.sparse.segment_mean", plain(tf.sparse.segment_mean), _ROWS_OF),
    Case("tf.sparse.segment_sqrt_n", plain(tf.sparse.segment_sqrt_n), _ROWS_OF),
]

_DENSE = [[*parts(n), floats(*SHAPE)] for n in (3, 9)]
_NUMBERS = [parts(n, np.int64) for n in (3, 9)]
_SPARSE: list[Case | Cannot | NoGraph] = [
    NoGraph("tf.sparse.SparseTensor", "a type: it holds three tensors"),
    sparse("add", tf.sparse.add, count=2),
    sparse("add", tf.sparse.add, _DENSE, label="dense"),
    sparse("bincount", lambda x: tf.sparse.bincount(x, axis=-1), _NUMBERS),
    sparse("concat", lambda x, y: tf.sparse.concat(1, [x, y]), count=2),
    sparse("expand_dims", lambda x: tf.sparse.expand_dims(x, -1)),
    sparse("fill_empty_rows", lambda x: tf.sparse.fill_empty_rows(x, 7.0)),
    sparse("map_values", lambda x: tf.sparse.map_values(tf.square, x)),
    sparse("maximum", tf.sparse.maximum, count=2),
    sparse("minimum", tf.sparse.minimum, count=2),
    sparse("reduce_max", lambda x: tf.sparse.reduce_max(x, 1)),
    sparse("reduce_sum", lambda x: tf.sparse.reduce_sum(x, [0], keepdims=True)),
    sparse("reorder", tf.sparse.reorder),
    sparse("reset_shape", lambda x: tf.sparse.reset_shape(x)),
    sparse("reset_shape", lambda x: tf.sparse.reset_shape(x, [6, 7]), label="given"),
    sparse("reshape", lambda x: tf.sparse.reshape(x, [2, -1])),
    sparse("retain", lambda x: tf.sparse.retain(x, x.values > 4)),
    sparse("slice", lambda x: tf.sparse.slice(x, [1, 1], [2, 3])),
    sparse("softmax", tf.sparse.softmax),
    sparse("sparse_dense_matmul", lambda x, y: tf.sparse.sparse_dense_matmul(x, y, adjoint_b=True), _DENSE),
    sparse("split", lambda x: tf.sparse.split(x, 2, axis=1)),
    sparse("to_dense", tf.sparse.to_dense),
    sparse("to_indicator", lambda x: tf.sparse.to_indicator(x, 9), _NUMBERS),
    sparse("transpose", tf.sparse.transpose),
    sparse(
        "sampled_addmm",
        lambda x, a, b: tf.sparse.sampled_addmm(x.indices, x.values, tf.cast(x.dense_shape, tf.int32), a, b),
        [[*parts(n), floats(4, 3), floats(3, 5)] for n in (3, 9)],
    ),
    Case(
        "tf.sparse.mask",
        plain(lambda x, i: tf.sparse.mask(tf.IndexedSlices(x, i), [1, 2]).values),
        [[floats(n, 3), np.arange(n, dtype=np.int32)] for n in (3, 5)],
    ),
    Case(
        "tf.sparse.eye",
        plain(lambda n: tuple(tf.nest.flatten(tf.sparse.eye(n, 3), expand_composites=True))),
        [[np.int32(2)], [np.int32(5)]],
    ),
    Case(
        "tf.sparse.from_dense",
        plain(lambda x: tuple(tf.nest.flatten(tf.sparse.from_dense(x), expand_composites=True))),
        [[whole(2, n, 3, dtype=np.float32)] for n in (2, 4)],
    ),
    Cannot(
        "tf.sparse.cross",
        of_parts(lambda x, y: tf.sparse.cross([x, y]), 2),
        [[*parts(n, np.int64), *parts(n, np.int64)] for n in (3, 9)],
        "joins every pair of a row's features to strings",
        "SparseCrossV2",
    ),
    Cannot(
        "tf.sparse.cross_hashed",
        of_parts(lambda x, y: tf.sparse.cross_hashed([x, y], 10), 2),
        [[*parts(n, np.int64), *parts(n, np.int64)] for n in (3, 9)],
        "ONNX has no fingerprint hash",
        "SparseCross",
    ),
]

_LABELS: list[Case | Cannot | NoGraph] = [
    Case(
        "tf.nn.collapse_repeated",
        plain(lambda x, n: tf.nn.collapse_repeated(x, n)),
        [[whole(3, n, 6), whole(6, n) + 1] for n in (2, 4)],
    ),
    Case("tf.nn.ctc_unique_labels", plain(tf.nn.ctc_unique_labels), [[whole(3, n, 6) + 1] for n in (2, 4)]),
    Cannot(
        "tf.nn.isotonic_regression",
        plain(lambda x: tf.nn.isotonic_regression(x)),
        ROWS,
        "neighbours are pooled until all are in order, a search that ONNX has no operator for",
        "IsotonicRegression",
    ),
]


def _encoding(mode: str) -> Callable[[], Any]:
    layer = keras.layers.CategoryEncoding(5, output_mode=mode)
    return model(keras.Input((3,), dtype="int32"), layer)


_LAYERS = [
    *(
        Case("keras.layers.CategoryEncoding", _encoding(mode), [[whole(5, n, 3)] for n in (2, 4)], label=mode)
        for mode in ("multi_hot", "count")
    ),
    Case(
        "keras.layers.CategoryEncoding",
        model(keras.Input((1,), dtype="int32"), keras.layers.CategoryEncoding(5, output_mode="one_hot")),
        [[whole(5, n, 1)] for n in (2, 4)],
        label="one_hot",
    ),
    *(
        Case(
            "keras.layers.Discretization",
            model(keras.Input((4,)), keras.layers.Discretization([-1.0, 0.0, 1.5], output_mode=mode)),
            ROWS,
            label=mode,
        )
        for mode in ("int", "multi_hot", "count")
    ),
]

CASES: list[Case | Cannot | NoGraph] = [
    *_ORDER,
    *_COUNTS,
    *_INDEXING,
    *_EMBEDDINGS,
    *_RUNNING,
    *_SEGMENTS,
    *_SPARSE,
    *_LABELS,
    *_LAYERS,
]
