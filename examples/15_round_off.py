"""A deep float32 model whose outputs differ in the last digits: is that round-off, or a fault?"""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
from networks import make, weight
from onnx import TensorProto

import trueport

DEPTH = 40
nodes, weights, last = [], [], "x"
for layer in range(DEPTH):
    weights.append(weight(f"w{layer}", np.random.default_rng(layer).normal(size=(32, 32)).astype(np.float32) / 5))
    nodes.append(oh.make_node("MatMul", [last, f"w{layer}"], [f"m{layer}"], f"matmul{layer}"))
    nodes.append(oh.make_node("Tanh", [f"m{layer}"], [f"t{layer}"], f"tanh{layer}"))
    last = f"t{layer}"
graph = oh.make_graph(
    nodes,
    "deep",
    [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 32])],
    [oh.make_tensor_value_info(last, TensorProto.FLOAT, ["n", 32])],
    weights,
)
model = make(graph)
converted = trueport.convert(model, to="tensorflow")
output = converted.report.comparison.outputs[0]
print(f"largest difference between the two runtimes: {output.metrics.max_abs:.1e}, {output.metrics.max_ulp:.0f} ulp")
print(f"verdict: {output.verdict.value}, {output.why}")
assert output.verdict.value == "faithful"
assert output.metrics.max_abs > 0

walk = trueport.locate(model, converted.built.run())
assert walk.culprit is None
print("how the noise grows with depth (largest distance from the float64 truth, and what rounding explains):")
for step in walk.steps[1::16]:
    print(f"  {step.value:>4}  {step.error:.1e}  {step.floor:.1e}  " + "#" * round(40 + 4 * np.log10(step.error)))
