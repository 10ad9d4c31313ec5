"""One node of ai.onnx.ml with dynamic dims, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
from onnx import TensorProto

from tests.grid.harness import assert_close, run_ort
from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import ulps

__all__ = ["ML", "NUMBERS", "TRANSFORMS", "ml", "node_model", "numbers", "strings"]

ML = "ai.onnx.ml"
NUMBERS = [np.float32, np.float64, np.int64, np.int32]
TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


def ml(
    op: str, *input_sets: list[np.ndarray], outputs: int = 1, opset: int = 3, terms: int = 1, **attributes: Any
) -> None:
    """One node with dynamic dims, converted once; every input set against ONNX Runtime within the declared bound."""
    model = node_model(op, input_sets[0], outputs, opset, **attributes)
    mapping = registry().find(op, ML)
    assert mapping is not None
    rep = prepare(model)
    for arrays in input_sets:
        feeds = {f"x{i}": array for i, array in enumerate(arrays)}
        want = run_ort(model, feeds)
        for got, expected in zip(rep.run(feeds), want, strict=True):
            assert_close(got, expected, mapping.error or ulps(0), terms, f"{op} for {arrays}", mapping.error is None)


def strings(*items: str) -> np.ndarray:
    return np.array(items, object)


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=shape) * 3).astype(dtype)


def node_model(op: str, inputs: list[np.ndarray], outputs: int, opset: int = 3, **attributes: Any) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(len(inputs))]
    node = oh.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=ML, **attributes)
    declared = [
        oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim)
        for n, x in zip(names, inputs, strict=True)
    ]
    results = [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)]
    graph = oh.make_graph([node], "g", declared, results)
    opsets = [oh.make_opsetid("", 21), oh.make_opsetid(ML, opset)]
    model = onnx.shape_inference.infer_shapes(oh.make_model(graph, opset_imports=opsets, ir_version=10))
    # ONNX infers no types for a few of these operators: scores are float, labels as the attributes have them.
    for index, value in enumerate(model.graph.output):
        if not value.type.tensor_type.elem_type:
            labels = TensorProto.STRING if "classlabels_strings" in attributes else TensorProto.INT64
            integers = (outputs == 2 and index == 0) or "imputed_value_int64s" in attributes
            value.type.tensor_type.elem_type = labels if integers else TensorProto.FLOAT
    return model
