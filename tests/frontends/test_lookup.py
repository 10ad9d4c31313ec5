"""Lookup tables and the layers that use them."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types
from trueport.errors import TrueportError

_KEYS: dict[str, list[Any]] = {
    "string": ["a", "b", "ü", ""],
    "int32": [-(2**31), 3, 0, 7],
    "int64": [-(2**63), 3, 0, 2**62],
}
_VALUES: dict[str, Any] = {
    "string": ["x", "", "ä", "b"],
    "int32": [-(2**31), 2**31 - 1, 0, 1],
    "int64": [-(2**63), 2**63 - 1, 0, 2**53 + 1],
    "float32": [1.5, -np.inf, np.nan, -0.0],
    "float64": [1e300, -np.inf, np.nan, 1 / 3],
    "bool": [True, False, True, True],
}
_DEFAULTS: dict[str, Any] = {
    "string": "?",
    "int32": -1,
    "int64": -(2**60),
    "float32": 9.5,
    "float64": 0.1,
    "bool": False,
}
_PAIRS = [
    *(("int32", v) for v in ("float32", "float64", "int32", "string")),
    *(("int64", v) for v in ("float32", "float64", "int32", "int64", "string")),
    *(("string", v) for v in ("bool", "float32", "float64", "int32", "int64", "string")),
]


def _queries(kind: str) -> list[list[np.ndarray]]:
    keys = _KEYS[kind]
    dtype = object if kind == "string" else kind
    other = "zz" if kind == "string" else 12
    return [[np.array([*keys, other], dtype)], [np.array([other, keys[0]], dtype)], [np.array([], dtype)]]


def _table(kind: str, value: str) -> Any:
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(_KEYS[kind], kind), tf.constant(_VALUES[value], value)),
        _DEFAULTS[value],
    )


@pytest.mark.parametrize(("kind", "value"), _PAIRS)
def test_every_pair_of_types(kind: str, value: str) -> None:
    table = _table(kind, value)
    samples = _queries(kind)[:2] if kind == "string" else _queries(kind)
    model = agree(lambda x: table.lookup(tf.reshape(tf.cast(x, kind) if kind != "string" else x, [-1])), *samples)
    assert op_types(model).count("LabelEncoder") == 1


def test_a_default_that_is_computed() -> None:
    table = _table("string", "int64")
    agree(
        lambda x, d: tf.raw_ops.LookupTableFindV2(table_handle=table.resource_handle, keys=x, default_value=d),
        [np.array(["a", "q"], object), np.array(5)],
        [np.array(["q", "b", "b"], object), np.array(-7)],
    )


def test_values_that_are_vectors() -> None:
    table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.float32, default_value=[-1.0, -2.0], empty_key=-1, deleted_key=-2
    )
    table.insert(tf.constant([1, 2], tf.int64), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    agree(table.lookup, [np.array([1, 2, 3])], [np.array([9, 2])])


def test_an_empty_table_gives_the_default() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-3)
    agree(table.lookup, [np.array(["a"], object)], [np.array(["b", "c"], object)])


def test_size_and_contents() -> None:
    table = _table("int64", "float32")
    agree(lambda x: tf.cast(x, tf.int64) + table.size(), [np.array([1])], [np.array([1, 2])])
    agree(lambda x: (x, *table.export()), [np.array([1])], [np.array([1, 2])])


def test_a_table_that_the_graph_makes() -> None:
    def function(x: Any) -> Any:
        table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="made_in_graph")
        with tf.control_dependencies(
            [tf.raw_ops.InitializeTableV2(table_handle=table, keys=["a", "b"], values=tf.constant([4, 5], tf.int64))]
        ):
            return tf.raw_ops.LookupTableFindV2(table_handle=table, keys=x, default_value=tf.constant(-1, tf.int64))

    agree(function, [np.array(["a", "c"], object)], [np.array(["b"], object)])


def test_a_dense_table_that_the_graph_makes() -> None:
    def function(x: Any) -> Any:
        marks = {"empty_key": tf.constant(-1, tf.int64), "deleted_key": tf.constant(-2, tf.int64)}
        table = tf.raw_ops.MutableDenseHashTableV2(value_dtype=tf.int64, shared_name="dense_in_graph", **marks)
        values = tf.constant([4, 5], tf.int64)
        with tf.control_dependencies(
            [tf.raw_ops.LookupTableInsertV2(table_handle=table, keys=tf.constant([1, 2], tf.int64), values=values)]
        ):
            return tf.raw_ops.LookupTableFindV2(table_handle=table, keys=x, default_value=tf.constant(-1, tf.int64))

    agree(function, [np.array([1, 3])], [np.array([2])])


def test_a_vocabulary_file(tmp_path: Any) -> None:
    place = tmp_path / "words.txt"
    place.write_text("one\ntwo\nthree\n")
    table = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            str(place),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        -1,
    )
    agree(table.lookup, [np.array(["two"], object)], [np.array(["three", "x"], object)])


def test_a_change_while_the_model_runs_is_refused() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, default_value=-3)

    def function(x: Any) -> Any:
        with tf.control_dependencies([table.insert(x, x)]):
            return table.lookup(x)

    with pytest.raises(TrueportError, match="changes a lookup table"):
        agree(function, [np.array([1])])


_RNG = np.random.default_rng(0)
_EVERY_LENGTH = np.array(
    [*(sign * (10**n + k) for n in range(19) for k in (-1, 0, 7) for sign in (1, -1)), -(2**63), 2**63 - 1], np.int64
)


@pytest.mark.parametrize("buckets", [3, 1000003, 2**62])
def test_hashes_of_integers(buckets: int) -> None:
    samples = _RNG.integers(-(2**63), 2**63 - 1, 50)
    agree(lambda x: tf.strings.to_hash_bucket_fast(tf.strings.as_string(x), buckets), [_EVERY_LENGTH], [samples])


def test_hashes_of_small_integers() -> None:
    table = np.array([[0, -(2**31)], [2**31 - 1, 5]], np.int32)
    agree(lambda x: tf.strings.to_hash_bucket_fast(tf.strings.as_string(x), 7), [table], [table[:1]])


def test_hashes_of_strings_are_refused() -> None:
    with pytest.raises(TrueportError, match="string's bytes"):
        agree(lambda x: tf.strings.to_hash_bucket_fast(x, 7), [np.array(["a"], object)])


@pytest.fixture(scope="module")
def words() -> Any:
    inputs = keras.Input((None,), dtype="string")
    hidden = keras.layers.StringLookup(vocabulary=["a", "b"])(inputs)
    return keras.Model(inputs, keras.layers.Embedding(3, 2)(hidden))


_TEXT = [[np.array([["a", "q"], ["b", "b"]], object)], [np.array([["b"]], object)]]


def test_a_layer_in_a_saved_model(words: Any, tmp_path: Any) -> None:
    words.export(tmp_path / "saved", verbose=False)
    agree(str(tmp_path / "saved"), *_TEXT)


def test_a_layer_in_a_keras_file(words: Any, tmp_path: Any) -> None:
    words.save(tmp_path / "words.keras")
    agree(str(tmp_path / "words.keras"), *_TEXT)


def test_a_table_in_a_saved_module(tmp_path: Any) -> None:
    module = tf.Module()
    module.table = _table("string", "int64")
    module.call = tf.function(module.table.lookup, input_signature=[tf.TensorSpec([None, None], tf.string)])
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.call)
    agree(str(tmp_path / "saved"), *_TEXT)
