"""ONNX Runtime without optimization: outputs, intermediate values, declared output shapes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from bench.faults.strangers.site import Facts, Tensor, subgraphs, walk

__all__ = ["Feeds", "learn_facts", "open_session", "redeclare_outputs", "run_plain"]

Feeds = Mapping[str, np.ndarray]


def open_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Return a session with one thread and no optimization."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_session(session: onnxruntime.InferenceSession, feeds: Feeds) -> dict[str, Any]:
    names = [value.name for value in session.get_outputs()]
    used = {value.name for value in session.get_inputs()}
    options = onnxruntime.RunOptions()
    options.log_severity_level = 4
    fed = {name: array for name, array in feeds.items() if name in used}
    return dict(zip(names, session.run(names, fed, options), strict=True))


def run_plain(model: onnx.ModelProto, feeds: Feeds) -> dict[str, Any]:
    """Return the outputs by name."""
    return run_session(open_session(model), feeds)


def learn_facts(model: onnx.ModelProto, feeds: Feeds) -> Facts:
    """Return types and shapes of all values: of the top graph as they are when it runs, of subgraphs as inferred."""
    facts: dict[str, Tensor] = {}
    inferred = onnx.shape_inference.infer_shapes(model)
    for graph, position, _ in walk(inferred.graph):
        for inner in subgraphs(graph.node[position]):
            for value in (*inner.value_info, *inner.input, *inner.output):
                if value.type.HasField("tensor_type"):
                    facts[value.name] = _declared(value.type.tensor_type)
    exposed = copy.deepcopy(model)
    given = {value.name for value in exposed.graph.output}
    inner_names = [name for node in exposed.graph.node for name in node.output if name and name not in given]
    exposed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner_names)
    for name, array in {**feeds, **run_plain(exposed, feeds)}.items():
        if isinstance(array, np.ndarray):
            dtype = (
                onnx.TensorProto.STRING if array.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(array.dtype)
            )
            facts[name] = Tensor(dtype, tuple(array.shape))
    return facts


def redeclare_outputs(model: onnx.ModelProto, feeds: Feeds) -> None:
    """Forget shapes of intermediate values, and of outputs what does not fit the model as it runs now."""
    for graph in _graphs(model):
        del graph.value_info[:]
    bare = copy.deepcopy(model)
    for graph in _graphs(bare):
        for value in graph.output:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
    # Raises for what some kernels of the runtime do not check, and end the process.
    onnx.shape_inference.infer_shapes(bare, strict_mode=True)
    found = run_plain(bare, feeds)
    for value in model.graph.output:
        array = found[value.name]
        if value.type.HasField("tensor_type") and isinstance(array, np.ndarray):
            _fit_shape(value.type.tensor_type.shape, array.shape)


def _fit_shape(declared: onnx.TensorShapeProto, shape: tuple[int, ...]) -> None:
    if len(declared.dim) != len(shape):
        declared.ClearField("dim")
        declared.dim.extend(onnx.TensorShapeProto.Dimension() for _ in shape)
    for dim, size in zip(declared.dim, shape, strict=True):
        if dim.HasField("dim_value") and dim.dim_value != size:
            dim.Clear()


def _graphs(model: onnx.ModelProto) -> list[onnx.GraphProto]:
    return [model.graph, *(g for graph, at, _ in walk(model.graph) for g in subgraphs(graph.node[at]))]


def _declared(kind: onnx.TypeProto.Tensor) -> Tensor:
    fixed = kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim)
    return Tensor(kind.elem_type, tuple(dim.dim_value for dim in kind.shape.dim) if fixed else None)
