"""The same scale and zero point, but another rounding at ties: found at the node, counted in LSBs, with the ties."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
from networks import make, weight
from onnx import TensorProto

import trueport

SCALE, ZERO = np.float32(0.25), np.uint8(10)


def quantizer(*steps: list) -> object:
    nodes = [oh.make_node(op, inputs, outputs, name, **attributes) for op, inputs, outputs, name, attributes in steps]
    graph = oh.make_graph(
        nodes,
        "quantizer",
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [oh.make_tensor_value_info("y", TensorProto.UINT8, ["n"])],
        [weight("scale", SCALE), weight("zero", ZERO), weight("half", np.float32(0.5)), weight("z", np.float32(ZERO))],
    )
    return make(graph)


source = quantizer(["QuantizeLinear", ["x", "scale", "zero"], ["y"], "quantize", {}])
# What another tool made of it: halves go up instead of to the even neighbour.
target = quantizer(
    ["Div", ["x", "scale"], ["d"], "divide", {}],
    ["Add", ["d", "half"], ["h"], "add_half", {}],
    ["Floor", ["h"], ["f"], "floor", {}],
    ["Add", ["f", "z"], ["a"], "add_zero", {}],
    ["Cast", ["a"], ["y"], "cast", {"to": TensorProto.UINT8}],
)
ties = (np.arange(-8, 8) + 0.5).astype(np.float32) * SCALE
data = [{"x": np.concatenate([ties, np.linspace(-2, 2, 17, dtype=np.float32)])}]

found = trueport.verify(source, target, data=data)
histogram = found.outputs[0].metrics.histogram
print(f"{found.verdict.value}: {found.outputs[0].why}; differences in LSBs: {dict(histogram)}")
assert found.verdict.value == "departs"
assert set(histogram) == {0, 1}

located = trueport.locate(source, target, data=data)
print(f"at {located.culprit.op} {located.culprit.node!r}: {located.culprit.causes[0]}")
assert located.culprit.op == "QuantizeLinear"
assert located.culprit.causes[0].kind == "quantization rounding"
case = located.culprit.case
print("the inputs that differ:", case.inputs[0][np.asarray(case.source) != np.asarray(case.target)])
