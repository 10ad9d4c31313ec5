"""Conversions between element types."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx_ir as ir
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, traced
from trueport.pipeline import convert
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

X = np.array([0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 100.7, -100.7])


@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "bool", "float16", "float64"])
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64, np.int32, np.int64])
def test_numbers_in_range(source: type, target: str) -> None:
    x = X.astype(source)
    agree(lambda v: tf.cast(v, target), [x], [x[:2]])


def test_integers_lose_their_high_bits() -> None:
    x = np.array([300, -300, 70000, 2**31 - 1], np.int32)
    agree(lambda v: (tf.cast(v, tf.int8), tf.cast(v, tf.uint8), tf.cast(v, tf.int16)), [x], [x[:2]])


@pytest.mark.parametrize("target", ["int32", "int64"])
def test_what_does_not_fit_is_the_least_integer(target: str) -> None:
    x = np.array([1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    agree(lambda v: tf.cast(v, target), [x], [x[:2]])


@pytest.mark.parametrize("target", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("source", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_every_half_as_an_8_bit_float(source: type, target: type) -> None:
    """TensorFlow does not saturate: what is too large is NaN or infinity."""
    kind = ml_dtypes.bfloat16 if source is ml_dtypes.bfloat16 else np.float16
    x = np.arange(65536, dtype=np.uint16).view(kind).astype(source)
    function = traced(lambda v: tf.cast(v, tf.as_dtype(target)), [[x]])
    made = OnnxRuntimeModel(ir.to_proto(convert(function, "onnx", verify=False).model))
    (got,), want = made.run({"x0": x}).values(), function(tf.constant(x)).numpy()
    assert got.dtype == want.dtype == target
    number = ~np.isnan(want.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), ~number)
    np.testing.assert_array_equal(got[number].view(np.uint8), want[number].view(np.uint8))
