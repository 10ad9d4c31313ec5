"""Reference by operator: any single node against ONNX's reference in NumPy, in float32 and in float64."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.helper as oh
from onnx.reference import ReferenceEvaluator

import trueport.backend
from trueport.backends.tensorflow.registry import registry


def one_node(op: str, dtype: type, **attributes: object) -> onnx.ModelProto:
    code = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = oh.make_graph(
        [oh.make_node(op, ["x"], ["y"], op.lower(), **attributes)],
        op,
        [oh.make_tensor_value_info("x", code, ["n", "m"])],
        [oh.make_tensor_value_info("y", code, ["n", "m"])],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22)], ir_version=10)


x = np.random.default_rng(20).normal(scale=3, size=(4, 33))
print(f"{'operator':12} {'float32: ulp to float64 truth':>32}   {'float64: ulp to reference':>26}")
for op, attributes in (("Softmax", {"axis": 1}), ("Mish", {}), ("Softplus", {}), ("Selu", {}), ("Tanh", {})):
    narrow, wide = one_node(op, np.float32, **attributes), one_node(op, np.float64, **attributes)
    truth = ReferenceEvaluator(wide).run(None, {"x": x.astype(np.float32).astype(np.float64)})[0]
    ours32 = trueport.backend.prepare(narrow).run(x.astype(np.float32))[0]
    ours64 = trueport.backend.prepare(wide).run(x.astype(np.float32).astype(np.float64))[0]
    # Units of the last place at the largest magnitude of the output.
    largest = np.max(np.abs(truth))
    in32 = np.max(np.abs(ours32 - truth)) / (largest * np.finfo(np.float32).eps)
    in64 = np.max(np.abs(ours64 - truth)) / (largest * np.finfo(np.float64).eps)
    print(f"{op:12} {in32:32.2f}   {in64:26.2f}")
    bound = registry().find(op).error
    assert in32 <= bound.allowed(), f"{op}: more than the declared {bound}"
