"""Strings, lookup tables, and the layers that prepare features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.coverage.case import Cannot, Case, NoGraph

_BYTES = "ONNX has no operator that looks into a string: only whole ones are compared, matched, split and joined"
_HASH = "ONNX has no hash function, and no operator that gives the bytes of a string"


def _s(*items: Any) -> np.ndarray:
    return np.array(items, object)


_WORDS = [
    [_s("a b", "Cat, dog!", "")],
    [
        _s("b"),
    ],
]
_TABLE = [[_s(["a", "b"], ["q", "a"])], [_s(["c", ""])]]
_IDS = [[np.array([[1, 2, 7], [3, 0, 1]])], [np.array([[2, 2, 2]])]]


def _case(name: str, function: Callable[..., Any], samples: Any = _WORDS, label: str = "") -> Case:
    return Case(name, lambda: function, samples, label=label)


def _cannot(name: str, function: Callable[..., Any], why: str = _BYTES, samples: Any = _WORDS) -> Cannot:
    return Cannot(name, lambda: function, samples, why)


def _layer(layer: Any, dtype: str = "string", *shape: int | None) -> Callable[[], Any]:
    """The layer as a model; it is made when it is needed."""

    def make() -> Any:
        inputs = keras.Input(shape or (None,), dtype=dtype)
        return keras.Model(inputs, layer()(inputs))

    return make


_STRINGS: list[Case | Cannot | NoGraph] = [
    _case("tf.strings.as_string", tf.strings.as_string, _IDS),
    _case("tf.strings.join", lambda x: tf.strings.join([x, x, "!"], "-")),
    _case("tf.strings.lower", tf.strings.lower),
    _case("tf.strings.upper", tf.strings.upper),
    _case("tf.strings.reduce_join", lambda x: tf.strings.reduce_join(x, separator="+")),
    _case("tf.strings.regex_full_match", lambda x: tf.strings.regex_full_match(x, r"[a-z ]+")),
    _case("tf.strings.regex_replace", lambda x: tf.strings.regex_replace(x, "[,!]", "")),
    _case("tf.strings.split", tf.strings.split),
    _case("tf.strings.split", lambda x: tf.strings.split(x, ",").to_tensor("?"), label="dense"),
    _case("tf.strings.to_number", tf.strings.to_number, [[_s("1.5", "-2")], [_s("3")]]),
    _case("tf.strings.ngrams", lambda x: tf.strings.ngrams(x, 2), _TABLE),
    _case("tf.strings.ngrams", lambda x: tf.strings.ngrams(tf.strings.split(x), (1, 2)), label="ragged"),
    _cannot("tf.strings.bytes_split", tf.strings.bytes_split),
    _cannot("tf.strings.format", lambda x: tf.strings.format("{}", x)),
    _cannot("tf.strings.length", tf.strings.length),
    _cannot("tf.strings.strip", tf.strings.strip),
    _cannot("tf.strings.substr", lambda x: tf.strings.substr(x, 0, 1)),
    _cannot("tf.strings.to_hash_bucket", lambda x: tf.strings.to_hash_bucket(x, 3), _HASH),
    _cannot("tf.strings.to_hash_bucket_fast", lambda x: tf.strings.to_hash_bucket_fast(x, 3), _HASH),
    _cannot("tf.strings.to_hash_bucket_strong", lambda x: tf.strings.to_hash_bucket_strong(x, 3, [1, 2]), _HASH),
    _cannot("tf.strings.unicode_decode", lambda x: tf.strings.unicode_decode(x, "UTF-8")),
    _cannot("tf.strings.unicode_decode_with_offsets", lambda x: tf.strings.unicode_decode_with_offsets(x, "UTF-8")),
    _cannot(
        "tf.strings.unicode_encode", lambda x: tf.strings.unicode_encode(tf.cast(x, tf.int32), "UTF-8"), samples=_IDS
    ),
    _cannot("tf.strings.unicode_script", lambda x: tf.strings.unicode_script(tf.cast(x, tf.int32)), samples=_IDS),
    _cannot("tf.strings.unicode_split", lambda x: tf.strings.unicode_split(x, "UTF-8")),
    _cannot("tf.strings.unicode_split_with_offsets", lambda x: tf.strings.unicode_split_with_offsets(x, "UTF-8")),
    _cannot("tf.strings.unicode_transcode", lambda x: tf.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE")),
    _cannot(
        "tf.strings.unsorted_segment_join",
        lambda x: tf.strings.unsorted_segment_join(x, tf.zeros_like(x, tf.int32), 1),
        "ONNX has no operator that joins a number of strings which depends on the data of each",
    ),
]


def _hash_table() -> Any:
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([4, 5], tf.int64)), -1
    ).lookup


def _vocabulary() -> Any:
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([0, 1], tf.int64)), 2
    )
    return lambda x: table.lookup(x)


_LOOKUPS: list[Case | Cannot | NoGraph] = [
    Case("tf.lookup.StaticHashTable", _hash_table, _TABLE),
    Cannot("tf.lookup.StaticVocabularyTable", _vocabulary, _TABLE, _HASH),
    NoGraph("tf.lookup.KeyValueTensorInitializer", "fills a table before the model runs"),
    NoGraph("tf.lookup.TextFileInitializer", "fills a table before the model runs"),
    NoGraph("tf.lookup.TextFileIndex", "a constant for the one who fills a table"),
]


def _strings(mode: str) -> Callable[[], Any]:
    weights = {"idf_weights": [1.0, 2.0, 0.5]} if mode == "tf_idf" else {}
    return _layer(lambda: keras.layers.StringLookup(vocabulary=["a", "b", "c"], output_mode=mode, **weights))


def _integers(mode: str) -> Callable[[], Any]:
    return _layer(lambda: keras.layers.IntegerLookup(vocabulary=[1, 2, 3], output_mode=mode), "int64")


def _text(**options: Any) -> Callable[[], Any]:
    weights = {"idf_weights": [1.0, 2.0]} if options.get("output_mode") == "tf_idf" else {}
    return _layer(lambda: keras.layers.TextVectorization(vocabulary=["a", "dog"], **weights, **options), "string", 1)


_SENTENCES = [[_s(["a Dog, a\tcat!"], [""], ["the dog"])], [_s(["dog"])]]
_BINS = [[np.array([[0.5, -1.0, 3.0], [1.0, np.inf, 2.0]], np.float32)], [np.array([[7.0, 0.0, 1.5]], np.float32)]]

_LAYERS: list[Case | Cannot | NoGraph] = [
    *(
        Case("keras.layers.StringLookup", _strings(mode), _TABLE, label=mode)
        for mode in ("int", "multi_hot", "count", "tf_idf")
    ),
    Case(
        "keras.layers.StringLookup",
        _layer(lambda: keras.layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot"), "string", 1),
        [[_s(["a"], ["z"])], [_s(["b"])]],
        label="one_hot",
    ),
    Case(
        "keras.layers.StringLookup",
        _layer(lambda: keras.layers.StringLookup(vocabulary=["a", "b"], mask_token="", num_oov_indices=1)),
        _TABLE,
        label="mask",
    ),
    Case(
        "keras.layers.StringLookup",
        _layer(lambda: keras.layers.StringLookup(vocabulary=["a", "b"], num_oov_indices=0)),
        [[_s(["a", "b"], ["b", "a"])], [_s(["a", "b"])]],
        label="closed",
    ),
    Case(
        "keras.layers.StringLookup",
        _layer(lambda: keras.layers.StringLookup(vocabulary=["a", "b"], invert=True), "int64"),
        _IDS,
        label="invert",
    ),
    *(Case("keras.layers.IntegerLookup", _integers(mode), _IDS, label=mode) for mode in ("int", "multi_hot", "count")),
    Case(
        "keras.layers.IntegerLookup",
        _layer(lambda: keras.layers.IntegerLookup(vocabulary=[1, 2], num_oov_indices=3), "int64"),
        _IDS,
        label="buckets",
    ),
    Case("keras.layers.TextVectorization", _text(output_sequence_length=4), _SENTENCES, label="int"),
    Case("keras.layers.TextVectorization", _text(), _SENTENCES, label="open"),
    *(
        Case("keras.layers.TextVectorization", _text(output_mode=mode), _SENTENCES, label=mode)
        for mode in ("multi_hot", "count", "tf_idf")
    ),
    Case("keras.layers.TextVectorization", _text(ngrams=2, standardize="lower"), _SENTENCES, label="ngrams"),
    Case("keras.layers.TextVectorization", _text(split=None, standardize=None), _SENTENCES, label="whole"),
    Case("keras.layers.Hashing", _layer(lambda: keras.layers.Hashing(3), "int64"), _IDS, label="integers"),
    Cannot("keras.layers.Hashing", _layer(lambda: keras.layers.Hashing(3)), _TABLE, _HASH, "bytes"),
    Cannot(
        "keras.layers.HashedCrossing",
        lambda: lambda x, y: keras.layers.HashedCrossing(5)((x, y)),
        [[_s("a"), _s("b")], [_s("a", "b"), _s("c", "d")]],
        _HASH,
    ),
    Case(
        "keras.layers.Discretization",
        _layer(lambda: keras.layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0]), "float32", 3),
        _BINS,
    ),
    Case(
        "keras.layers.Discretization",
        _layer(
            lambda: keras.layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0], output_mode="multi_hot"), "float32", 3
        ),
        _BINS,
        label="multi_hot",
    ),
    *(
        Case(
            "keras.layers.CategoryEncoding",
            _layer(lambda mode=mode: keras.layers.CategoryEncoding(8, output_mode=mode), "int64", 3),
            _IDS,
            label=mode,
        )
        for mode in ("multi_hot", "count")
    ),
    Case(
        "keras.layers.CategoryEncoding",
        _layer(lambda: keras.layers.CategoryEncoding(8, output_mode="one_hot"), "int64", 1),
        [[np.array([[1], [7]])], [np.array([[0]])]],
        label="one_hot",
    ),
]

CASES: list[Case | Cannot | NoGraph] = [*_STRINGS, *_LOOKUPS, *_LAYERS]
