"""A TensorFlow operator that ONNX lacks: refused, then carried by the user's own mapping, or kept as a custom node."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tensorflow as tf

import trueport

MY_OPS = '''
from trueport import maps


@maps("PyFunc", domain="tf", ignores={"token": "the model has one Python function"})
def softsign(t, input):
    """What the Python function computes, in ONNX's words."""
    return t.op.Softsign(input[0])
'''


def softsign(x: np.ndarray) -> np.ndarray:
    """Python code inside of a TensorFlow graph: nothing but Python can run it."""
    return x / (1 + np.abs(x))


@tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
def model(x: Any) -> dict[str, Any]:
    inner = tf.ensure_shape(tf.numpy_function(softsign, [tf.nn.relu(x)], tf.float32), [None, 4])
    return {"y": inner * 3}


folder = Path(tempfile.mkdtemp())
try:
    trueport.convert_file(model, folder / "model.onnx")
    sys.exit("it should have been refused")
except trueport.Unsupported as error:
    print(error)
    assert not (folder / "model.onnx").exists()

(folder / "my_ops.py").write_text(MY_OPS)
report = trueport.convert_file(model, folder / "model.onnx", ops=[folder / "my_ops.py"])
print(report)
assert report.verdict is not None
assert report.verdict.value == "faithful"
x = np.array([[-1, 0, 1, 9]], np.float32)
np.testing.assert_allclose(trueport.load(folder / "model.onnx").run({"x": x})["y"], [[0, 0, 1.5, 2.7]], rtol=1e-6)

kept = trueport.convert_file(model, folder / "kept.onnx", custom_domain="com.acme")
print(kept)
nodes = [f"{node.domain}::{node.op_type}".removeprefix("::") for node in onnx.load(folder / "kept.onnx").graph.node]
assert nodes == ["Relu", "com.acme::PyFunc", "Mul"]
assert kept.losses
