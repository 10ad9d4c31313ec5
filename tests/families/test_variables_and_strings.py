"""Variables of every type as captures, and strings that ONNX can't hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.families.tf1 import agrees
from trueport.errors import ConversionError
from trueport.pipeline import check, convert

_VALUES: dict[str, Any] = {
    "string": np.array([["a", "ß"], ["", "日本"]], object),
    "bool": np.array([[True, False], [False, True]]),
    **{
        name: np.array([[0, 1], [np.iinfo(name).max, np.iinfo(name).min]], name)
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
    **{name: np.array([[0.5, -0.0], [np.inf, -1.25]], name) for name in ("float16", "float32", "float64")},
    "bfloat16": np.array([[0.5, -0.0], [np.inf, -1.25]], ml_dtypes.bfloat16),
}


@pytest.mark.parametrize("name", _VALUES)
def test_variables(name: str, tmp_path: Path) -> None:
    """Read as a whole and by rows, from a SavedModel."""
    module = tf.Module()
    module.held = tf.Variable(_VALUES[name], dtype=name)
    module.call = tf.function(
        lambda i: (tf.gather(module.held, i), tf.identity(module.held)),
        input_signature=[tf.TensorSpec([None], tf.int32, name="i")],
    )
    tf.saved_model.save(module, str(tmp_path / "saved"), {"serving_default": module.call})
    want = []
    for rows in ([0], [1, 0, 1], []):
        index = np.array(rows, np.int32)
        want.append(({"i": index}, [tensor.numpy() for tensor in module.call(index)]))
    agrees(module.call, [] if name == "bfloat16" else want, tmp_path)
    agrees(tmp_path / "saved", [] if name == "bfloat16" else want, tmp_path, overwrite=True)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_variables(name: str, tmp_path: Path) -> None:
    held = tf.Variable(np.array([1 + 2j, -0.5j], name))
    function = tf.function(lambda: (tf.math.real(held), tf.math.imag(held)), input_signature=[])
    agrees(function, [({}, [tensor.numpy() for tensor in function()])], tmp_path)


_OTHER = b"\xff\xfe"


def _table(keys: list[bytes], values: list[bytes]) -> Any:
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), "none")


def _variable() -> Callable[[Any], Any]:
    held = tf.Variable([_OTHER, b"b"])
    return lambda x: tf.strings.join([x, held])


_KEYS, _CONTENTS = _table([_OTHER, b"a"], [b"1", b"2"]), _table([b"a", b"b"], [_OTHER, b"2"])
_WITH_OTHER_BYTES: dict[str, Callable[[Any], Any]] = {
    "constant": lambda x: tf.strings.join([x, tf.constant([_OTHER, b"b"])]),
    "scalar": lambda x: tf.strings.join([x, tf.constant(_OTHER)]),
    "comparison": lambda x: tf.equal(x, tf.constant(_OTHER)),
    "table's keys": lambda x: _KEYS.lookup(x),
    "table's values": lambda x: _CONTENTS.lookup(x),
    "variable": _variable(),
    "separator": lambda x: tf.strings.split(x, _OTHER).to_tensor(),
}


@pytest.mark.parametrize("name", _WITH_OTHER_BYTES)
def test_strings_that_are_not_utf_8_are_refused(name: str) -> None:
    function = tf.function(_WITH_OTHER_BYTES[name], input_signature=[tf.TensorSpec([2], tf.string, name="x")])
    with pytest.raises(ConversionError, match="UTF-8"):
        convert(function, to="onnx", verify=False)
    assert "UTF-8" in str([finding.reasons for finding in check(function, to="onnx").findings])


def test_bytes_that_are_only_computed_with_are_no_strings_of_the_model(tmp_path: Path) -> None:
    function = tf.function(
        lambda x: x + tf.cast(tf.strings.length(tf.constant([_OTHER, b"a"])), tf.float32),
        input_signature=[tf.TensorSpec([2], tf.float32, name="x")],
    )
    agrees(function, [({"x": np.ones(2, np.float32)}, [np.array([3, 2], np.float32)])], tmp_path)
