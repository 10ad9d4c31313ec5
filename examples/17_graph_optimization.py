"""A runtime fuses operators and the last digits change: the differences vanish with its optimizations off."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
from networks import make, weight
from onnx import TensorProto

import trueport
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

rng = np.random.default_rng(0)
names = ["gamma", "beta", "mean"]
graph = oh.make_graph(
    [
        oh.make_node("Conv", ["x", "w"], ["c"], "conv"),
        oh.make_node("BatchNormalization", ["c", *names, "variance"], ["b"], "norm"),
        oh.make_node("Relu", ["b"], ["r"], "relu"),
        oh.make_node("Add", ["r", "one"], ["p"], "plus"),
        oh.make_node("Relu", ["p"], ["q"], "relu_again"),
        oh.make_node("Sub", ["q", "one"], ["m"], "minus"),
        oh.make_node("Relu", ["m"], ["y"], "last"),
    ],
    "fused",
    [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
    [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4, 6, 6])],
    [
        weight("w", rng.normal(size=(4, 3, 3, 3)).astype(np.float32)),
        *(weight(name, rng.normal(size=4).astype(np.float32)) for name in names),
        weight("variance", rng.uniform(0.5, 2, size=4).astype(np.float32)),
        weight("one", np.float32(1)),
    ],
)
place = Path(tempfile.mkdtemp(), "model.onnx")
onnx.save(make(graph), place)
x = {"x": rng.normal(size=(2, 3, 8, 8)).astype(np.float32)}
written, fused = (OnnxRuntimeModel(place, optimize=optimize).run(x)["y"] for optimize in (False, True))
again = OnnxRuntimeModel(place, optimize=False).run(x)["y"]
print(f"optimizations on against off: {np.max(np.abs(written - fused)):.1e}")
print(f"off against off: {np.max(np.abs(written - again)):.1e}")
assert np.max(np.abs(written - fused)) > 0
assert np.array_equal(written, again)

# Both are executions of the source, so the difference between them is part of its own noise.
found = trueport.verify(place, OnnxRuntimeModel(place, optimize=True), data=[x])
print(f"verdict on the fused execution: {found.verdict.value}, {found.outputs[0].why}")
assert found.verdict.value == "faithful"
