"""Check on TensorFlow sources: places in the user's own program, rules about ONNX, refusals of later stages."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import trueport
from trueport.errors import ConversionError
from trueport.fidelity import UNSUPPORTED


def _parse(x: Any) -> Any:
    return tf.io.decode_csv(x, [[0.0], [0.0]])[0] + 1.0  # ONNX has nothing that reads CSV


def _signed(function: Any, *specs: Any) -> Any:
    return tf.function(function, input_signature=specs)


def test_a_refused_operation_names_the_line() -> None:
    source = _signed(_parse, tf.TensorSpec([3], tf.string))
    (refused,) = [f for f in trueport.check(source, "onnx").findings if f.fidelity == UNSUPPORTED]
    line = inspect.getsourcelines(_parse)[1] + 1
    assert refused.source == f"{Path(__file__)}:{line}"
    assert refused.op == "tf::DecodeCSV"


def test_a_refused_operation_of_a_layer_names_the_layer() -> None:
    class Csv(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return keras.ops.cast(tf.raw_ops.DecodeCSV(records=x, record_defaults=[[0.0]])[0], "float32")

        def compute_output_shape(self, shape: Any) -> Any:
            return shape

    given = keras.Input((), dtype="string")
    model = keras.Model(given, Csv(name="reader")(given))
    (refused,) = [f for f in trueport.check(model, "onnx").findings if f.fidelity == UNSUPPORTED]
    assert "reader" in refused.where
    assert refused.source.startswith(str(Path(__file__)))


def test_complex_inputs_change_the_border() -> None:
    source = _signed(lambda x: tf.abs(x), tf.TensorSpec([3], tf.complex64))
    remarks = {remark.rule: remark for remark in trueport.check(source, "onnx").remarks}
    assert remarks["complex-port"].where == "input 'x'"


def test_a_node_that_older_runtimes_lack_is_named() -> None:
    source = _signed(lambda x: tf.bitcast(x, tf.int32), tf.TensorSpec([3], tf.float32))
    (remark,) = [r for r in trueport.check(source, "onnx").remarks if r.rule == "newer-runtime"]
    assert "BitCast" in remark.where
    assert remark.because == (
        "has no form before opset 26: the bits of FLOAT can't be read as INT32 by arithmetic; ONNX Runtime 1.20 reads "
        "opset 21"
    )
    report = str(trueport.convert(source, "onnx").report)
    assert f"  needs a newer runtime: {remark.where}: {remark.because}\n" in report
    assert "newer runtime" not in str(trueport.convert(source, "onnx", opset=26).report)


def test_an_optimizer_is_not_carried() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    remarks = {remark.rule: remark for remark in trueport.check(model, "onnx").remarks}
    assert remarks["training-setup"].where == "optimizer Adam, loss and metrics"


def test_what_an_older_opset_lacks_is_found_by_check() -> None:
    """Lowering comes after the operators were assessed; its refusals are findings all the same."""
    source = _signed(lambda x: tf.cast(x, tf.dtypes.experimental.float8_e4m3fn), tf.TensorSpec([3], tf.float32))
    report = trueport.check(source, "onnx", opset=13)
    with pytest.raises(ConversionError) as refused:
        trueport.convert(source, "onnx", opset=13)
    assert report.fidelity == UNSUPPORTED
    assert report.findings[-1].reasons[0].because == refused.value.why


def test_an_output_that_is_no_tensor_is_found_by_check() -> None:
    def listed(x: Any) -> Any:
        return tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=np.array([], np.int32))

    source = _signed(listed, tf.TensorSpec([3], tf.float32))
    report = trueport.check(source, "onnx")
    with pytest.raises(ConversionError) as refused:
        trueport.convert(source, "onnx")
    assert report.findings[-1].where == refused.value.where
    assert report.findings[-1].reasons[0].because == refused.value.why
