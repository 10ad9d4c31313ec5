"""Exact sums of 8-bit products in ONNX Runtime, on every CPU.

On x86 CPUs without VNNI, ONNX Runtime's kernels for uint8 × int8 add two products in 16 bits and saturate. Its kernels
for uint8 × uint8 are exact everywhere. Weights moved from int8 to uint8 by 128, with their zero point, give the same
sums: ``(w + 128) - (z + 128) = w - z``. So a model can be run exactly, and what saturation does to it can be counted.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper

from trueport.ir.maps import from_proto
from trueport.ir.skeleton import skeleton
from trueport.lazy import LazyModule
from trueport.operators.record import IntegerSum, Trait
from trueport.operators.table import facts_of

__all__ = ["has_saturating_sums", "saturates_here", "with_exact_sums"]

ort: Any = LazyModule("onnxruntime", "ONNX Runtime", "onnxruntime")
_SHIFT = 128
_DEQUANTIZE = "DequantizeLinear"
_BYTES = (TensorProto.UINT8, TensorProto.INT8)


def has_saturating_sums(model: onnx.ModelProto, folder: Path | None = None) -> bool:
    """True if the model has a sum of uint8 × int8 products, written or made by ONNX Runtime's optimizer."""
    return with_exact_sums(model, folder) is not model


@functools.cache
def saturates_here() -> bool:
    """True if ONNX Runtime saturates sums of uint8 × int8 products on this CPU: asked by a sum that would."""
    weights = np.full((64, 16), 127, np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["y"])],
        "probe",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, [4, 64])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [4, 16])],
        [numpy_helper.from_array(weights, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (summed,) = session.run(None, {"a": np.full((4, 64), 255, np.uint8)})
    return bool(np.any(summed != 64 * 255 * 127))


def with_exact_sums(model: onnx.ModelProto, folder: Path | None = None) -> onnx.ModelProto:
    """Return the model with uint8 weights in the place of int8 ones where they meet uint8; itself if there are none.

    ``folder``: what the locations of weights in files of their own are relative to.
    """
    if not any(facts_of(node).integer_sum or node.op_type == _DEQUANTIZE for node in _nodes(model.graph)):
        return model
    types = _types(model, folder or Path())
    made = onnx.ModelProto()
    made.CopyFrom(model)
    changed = [_rewrite(graph, types) for graph in list(_graphs(made.graph))]
    return made if any(changed) else model


def _rewrite(graph: onnx.GraphProto, types: Mapping[str, int]) -> bool:
    """Shift weights and zero points in one graph; return whether there were any."""
    held = {tensor.name: tensor for tensor in graph.initializer}
    dequantized = _dequantized_weights(graph, types)
    shifted: dict[str, str] = {}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        weights = [(0, 2)] if node.op_type == _DEQUANTIZE and node.output[0] in dequantized else []
        for weight, zero_point in [*weights, *_signed_weights(node, types)]:
            while len(node.input) <= zero_point:
                node.input.append("")
            for position in (weight, zero_point):
                name = node.input[position]
                if name not in shifted:
                    shifted[name] = f"{name}#unsigned"
                    _add_shifted(graph, nodes, held.get(name), name)
                node.input[position] = shifted[name]
        nodes.append(node)
    if shifted:
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)
    return bool(shifted)


def _dequantized_weights(graph: onnx.GraphProto, types: Mapping[str, int]) -> set[str]:
    """Return what int8 weights are dequantized to: ONNX Runtime's optimizer makes integer sums of such products.

    Data may be int8 as well: on the CPUs in question the optimizer moves it to uint8.
    """
    quantized = {n.output[0]: types.get(n.input[0]) for n in graph.node if n.op_type == _DEQUANTIZE}
    pairs = [(_input(node, 0), _input(node, 1)) for node in graph.node if facts_of(node).has(Trait.WEIGHTED)]
    return {
        weight for data, weight in pairs if quantized.get(data) in _BYTES and quantized.get(weight) == TensorProto.INT8
    }


def _add_shifted(
    graph: onnx.GraphProto, nodes: list[onnx.NodeProto], tensor: onnx.TensorProto | None, name: str
) -> None:
    """Add ``name#unsigned``: a constant where the value is one that is held in the file, nodes otherwise.

    An absent zero point (the empty name) is zero, which becomes 128.
    """
    unsigned = f"{name}#unsigned"
    if not name:
        graph.initializer.append(numpy_helper.from_array(np.array(_SHIFT, np.uint8), unsigned))
        return
    if tensor is not None and not onnx.external_data_helper.uses_external_data(tensor):
        values = numpy_helper.to_array(tensor).view(np.uint8) ^ np.uint8(_SHIFT)
        graph.initializer.append(numpy_helper.from_array(values, unsigned))
        return
    offset = f"{name}#shift"
    graph.initializer.append(numpy_helper.from_array(np.array(_SHIFT, np.int32), offset))
    nodes += [
        helper.make_node("Cast", [name], [f"{name}#wide"], to=TensorProto.INT32),
        helper.make_node("Add", [f"{name}#wide", offset], [f"{name}#sum"]),
        helper.make_node("Cast", [f"{name}#sum"], [unsigned], to=TensorProto.UINT8),
    ]


def _signed_weights(node: onnx.NodeProto, types: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Yield the positions of int8 weights that are multiplied by uint8 data, each with that of its zero point."""
    summed = facts_of(node).integer_sum
    if summed is None or _data_type(node, summed, types) != TensorProto.UINT8:
        return
    for weight, zero_point in summed.weights:
        if types.get(_input(node, weight)) == TensorProto.INT8:
            yield weight, zero_point


def _data_type(node: onnx.NodeProto, summed: IntegerSum, types: Mapping[str, int]) -> int | None:
    if summed.data is None:
        return int(TensorProto.UINT8)
    known = types.get(_input(node, summed.data))
    return known if known is not None else types.get(_input(node, summed.data_zero_point or 0))


def _input(node: onnx.NodeProto, position: int) -> str:
    return str(node.input[position]) if position < len(node.input) else ""


def _types(model: onnx.ModelProto, folder: Path) -> dict[str, int]:
    """Return the element types of all tensors that ONNX's inference knows, by name."""
    loaded = from_proto(model)
    ir.external_data.set_base_dir(loaded.graph, folder)
    inferred = onnx.shape_inference.infer_shapes(skeleton(loaded), check_type=False, strict_mode=False)
    found: dict[str, int] = {}
    for known in (inferred, model):
        for graph in _graphs(known.graph):
            for value in (*graph.value_info, *graph.input, *graph.output):
                if value.type.HasField("tensor_type"):
                    found[value.name] = value.type.tensor_type.elem_type
            found |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    found.pop("", None)
    return found


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    return (node for inner in _graphs(graph) for node in inner.node)


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and all graphs inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                yield from _graphs(inner)
