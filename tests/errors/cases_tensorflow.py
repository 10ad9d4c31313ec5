"""Errors about TensorFlow and Keras sources, and operations that ONNX can't express."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import trueport
from tests import test_bad_source as bad
from tests.coverage.case import Cannot, all_cases
from tests.errors.case import Case
from tests.frontends.harness import traced

__all__ = ["CASES"]


def _source(name: str) -> Case:
    make, options, _ = bad.CASES[name]
    label = "tf-" + name.replace(",", "").replace(" ", "-")

    def provoke() -> None:
        keras.utils.clear_session()  # or models of the same kind would be counted on
        trueport.convert_file(make(Path()), "made.onnx", **options)

    return Case(label, provoke)


def _refused(case: Cannot) -> Case:
    def provoke() -> None:
        keras.utils.clear_session()  # or layers of the same kind would be counted on
        made = case.make()
        source = traced(made, case.samples) if type(made).__name__ == "function" else made
        trueport.convert(source, to="onnx", verify=False)

    return Case(f"refused-{case.name}", provoke)


def _of(function: Any, *specs: Any, **options: Any) -> None:
    trueport.convert(tf.function(function, input_signature=specs), to="onnx", verify=False, **options)


_X = tf.TensorSpec([3], tf.float32, name="x")
_UNRANKED = tf.TensorSpec(None, tf.float32, name="x")

_REFUSED = {
    "keras.layers.HashedCrossing",
    "keras.layers.Hashing",
    "keras.ops.eig",
    "tf.strings.format",
    "tf.strings.length",
    "tf.strings.strip",
    "tf.strings.to_hash_bucket_strong",
}
"""One of each text: the others of tests/coverage say the same of other operators."""

CASES = [
    *(_source(name) for name in bad.CASES),
    *(_refused(case) for case in all_cases() if isinstance(case, Cannot) and case.name in _REFUSED),
    Case(
        "tf-older-opset-lacks-it", lambda: _of(lambda x: tf.cast(x, tf.dtypes.experimental.float8_e5m2), _X, opset=13)
    ),
    Case("tf-output-without-rank", lambda: _of(lambda x: tf.identity(x), _UNRANKED)),
    Case("tf-rank-is-needed", lambda: _of(lambda x: tf.linalg.diag(x), _UNRANKED)),
    Case("tf-returns-nothing", lambda: _of(lambda x: None, _X)),
    Case("tf-a-tensor", lambda: trueport.convert(tf.constant(1.0), to="onnx")),
    Case("tf-to-tensorflow", lambda: trueport.convert(bad.functional(Path()), to="tensorflow")),
]
