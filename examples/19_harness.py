"""The outputs differ, but the model is right: the user's own harness feeds it another layout. The report says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx.helper as oh
from networks import make, weight
from onnx import TensorProto

import trueport
from trueport.runtimes.base import Model

graph = oh.make_graph(
    [oh.make_node("Conv", ["x", "w"], ["c"], "conv"), oh.make_node("Relu", ["c"], ["y"], "relu")],
    "picture",
    [oh.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 8, 8])],
    [oh.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 6, 6])],
    [weight("w", np.random.default_rng(0).normal(size=(4, 8, 3, 3)).astype(np.float32))],
)
model = make(graph)
converted = trueport.convert(model, to="tensorflow").built.run()


class Harness(Model):
    """How somebody calls the converted model: with pictures whose channels stand last."""

    runtime = "a harness"
    inputs, outputs = converted.inputs, converted.outputs

    def _run(self, feeds: Mapping[str, Any], fetch: Sequence[str] | None) -> dict[str, Any]:
        return converted.run({"x": np.ascontiguousarray(feeds["x"].transpose(0, 2, 3, 1))})


found = trueport.verify(model, Harness())
print(found.verdict.value)
for hint in found.hints:
    print("hint:", hint)
assert found.verdict.value == "departs"
assert any("axes in the order [0, 3, 1, 2]" in hint for hint in found.hints)
