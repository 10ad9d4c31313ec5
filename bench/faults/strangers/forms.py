"""Target forms: what becomes of a faulty model before it is compared. Inputs and outputs keep their names."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from bench.faults.strangers.site import subgraphs, walk

__all__ = ["FORMS", "rename_values"]


def _graphs(model: onnx.ModelProto) -> list[onnx.GraphProto]:
    return [model.graph, *(g for graph, at, _ in walk(model.graph) for g in subgraphs(graph.node[at]))]


def rename_values(model: onnx.ModelProto, names: Mapping[str, str]) -> onnx.ModelProto:
    """Return a copy in which values have other names, those of subgraphs included; types of values are forgotten."""
    renamed = copy.deepcopy(model)
    for graph in _graphs(renamed):
        del graph.value_info[:]
        del graph.quantization_annotation[:]
        for item in (*graph.initializer, *graph.input, *graph.output):
            item.name = names.get(item.name, item.name)
        for node in graph.node:
            for side in (node.input, node.output):
                side[:] = [names.get(name, name) for name in side]
    return renamed


def _ports(model: onnx.ModelProto) -> set[str]:
    return {value.name for value in (*model.graph.input, *model.graph.output)}


def keep(model: onnx.ModelProto, folder: Path, rng: np.random.Generator) -> Any:
    """Return the model as it is."""
    return model


def rename(model: onnx.ModelProto, folder: Path, rng: np.random.Generator) -> Any:
    """Rename all intermediate values, nodes and initializers."""
    found: dict[str, None] = {}
    for graph in _graphs(model):
        found.update(dict.fromkeys([item.name for item in (*graph.initializer, *graph.input, *graph.output)]))
        found.update(dict.fromkeys(name for node in graph.node for name in node.output if name))
    kept = _ports(model)
    renamed = rename_values(model, {name: f"t{n}" for n, name in enumerate(found) if name not in kept})
    for number, graph_at in enumerate(walk(renamed.graph)):
        graph_at[0].node[graph_at[1]].name = f"op{number}"
    return renamed


def permute(model: onnx.ModelProto, folder: Path, rng: np.random.Generator) -> Any:
    """Permute the names of intermediate values: by one, as after a renumbering, or at random."""
    kept = _ports(model)
    names = [name for node in model.graph.node for name in node.output if name and name not in kept]
    order = np.roll(names, 1) if rng.random() < 0.5 else rng.permutation(names)
    return rename_values(model, dict(zip(names, map(str, order), strict=True)))


def optimize(model: onnx.ModelProto, folder: Path, rng: np.random.Generator) -> Any:
    """Let ONNX Runtime optimize the model and save it, at the basic or the extended level."""
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_BASIC if rng.random() < 0.5 else levels.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "optimized.onnx")


def to_saved_model(model: onnx.ModelProto, folder: Path, rng: np.random.Generator) -> Any:
    """Convert to TensorFlow; return the folder of the SavedModel."""
    from trueport.pipeline import convert

    return convert(model, to="tensorflow", verify=False).save(folder / "saved_model")


Form = Callable[[onnx.ModelProto, Path, np.random.Generator], Any]
FORMS: Mapping[str, Form] = {
    "kept": keep,
    "renamed": rename,
    "permuted": permute,
    "optimized": optimize,
    "saved_model": to_saved_model,
}
