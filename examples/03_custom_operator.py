"""A custom operator: refused before anything is written, then carried by ten lines of the user's own."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx.helper as oh
from networks import make
from onnx import TensorProto

import trueport

MY_OPS = '''
import numpy as np
import tensorflow as tf

from trueport import maps


def in_numpy(X, scale=1.0):
    return np.where(X > 0, X * np.float32(scale), X * X)


@maps("MyCustomOp", domain="com.acme", reference=in_numpy)
def my_custom_op(t, X, *, scale=1.0):
    """X times scale where X is positive, its square elsewhere."""
    return tf.where(X > 0, X * scale, X * X)
'''

graph = oh.make_graph(
    [
        oh.make_node("MyCustomOp", ["x"], ["a"], "first", domain="com.acme", scale=3.0),
        oh.make_node("MyCustomOp", ["a"], ["y"], "second", domain="com.acme"),
    ],
    "custom",
    [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
    [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
)
model = make(graph, opsets=[oh.make_opsetid("com.acme", 1)])
folder = Path(tempfile.mkdtemp())

try:
    trueport.convert_file(model, folder / "saved_model")
    sys.exit("it should have been refused")
except trueport.Unsupported as error:
    print(error)
    assert len(error.findings) == 2
    assert not (folder / "saved_model").exists()

(folder / "my_ops.py").write_text(MY_OPS)
report = trueport.convert_file(model, folder / "saved_model", ops=[folder / "my_ops.py"])
print(report)
assert report.verdict is not None
assert report.verdict.value == "faithful"
assert report.users_operators == {"com.acme::MyCustomOp": "my_ops"}
x = np.array([-2.0, 0.5, 4.0], np.float32)
np.testing.assert_array_equal(trueport.load(folder / "saved_model").run({"x": x})["y"], [4.0, 1.5, 12.0])
