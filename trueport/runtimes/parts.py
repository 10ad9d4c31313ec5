"""Parts of models that were written as models of their own: run, counted, given other weights.

A part is what ``Model.cut`` writes: an ``.onnx`` or ``.tflite`` file, or a SavedModel with a function ``part``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from trueport.lazy import LazyModule
from trueport.runtimes import parts_tensorflow, parts_tflite

__all__ = ["PART_ENDINGS", "count_nodes", "part_weights", "pruned", "replace_weights", "run_part"]

PART_ENDINGS: Mapping[str, str] = {"onnxruntime": ".onnx", "tensorflow": "", "tflite": ".tflite"}
"""By runtime: how the name of a part ends; a SavedModel is a folder."""

ort: Any = LazyModule("onnxruntime", "ONNX Runtime", "onnxruntime")


def run_part(place: Path, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """Its one result on the inputs it was cut with, by name."""
    if place.is_dir():
        return parts_tensorflow.run_part(place, [inputs[name] for name in sorted(inputs)])
    if parts_tflite.is_part(place):
        return parts_tflite.run_part(place, inputs)
    session = ort.InferenceSession(str(place), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})[0])


def part_weights(place: Path) -> dict[str, np.ndarray] | None:
    """Weights by the source's names, in the source's order of axes, constants by names of their own.

    None where they can't be told from the rest.
    """
    if place.is_dir():
        return parts_tensorflow.part_weights(place)
    if parts_tflite.is_part(place):
        return None
    graph = onnx.load(place).graph
    nodes = [node for node in graph.node if node.op_type == "Constant" and node.attribute[0].HasField("t")]
    found = {f"constant {node.output[0]}": onnx.numpy_helper.to_array(node.attribute[0].t) for node in nodes}
    return found | {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}


def replace_weights(place: Path, weights: Mapping[str, np.ndarray]) -> None:
    """Write the part again with other values for some weights."""
    if place.is_dir():
        parts_tensorflow.replace_weights(place, weights)
        return
    model = onnx.load(place)
    for tensor in model.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(onnx.numpy_helper.from_array(weights[tensor.name], tensor.name))
    onnx.save(model, place)


def count_nodes(place: Path) -> int:
    """Operations that compute something; constants and reads of weights do not count."""
    if place.is_dir():
        return parts_tensorflow.count_nodes(place)
    if parts_tflite.is_part(place):
        return parts_tflite.count_nodes(place)
    return sum(node.op_type != "Constant" for node in onnx.load(place).graph.node)


def pruned(part: onnx.ModelProto) -> onnx.ModelProto:
    """A model without the weights that none of its nodes uses."""
    used = {name for node in part.graph.node for name in _reads(node)} | {output.name for output in part.graph.output}
    kept = [tensor for tensor in part.graph.initializer if tensor.name in used]
    inputs = [value for value in part.graph.input if value.name in used]
    for field, items in ((part.graph.initializer, kept), (part.graph.input, inputs)):
        copies = [type(item).FromString(item.SerializeToString()) for item in items]
        del field[:]
        field.extend(copies)
    del part.metadata_props[:], part.graph.metadata_props[:]
    return part


def _reads(node: onnx.NodeProto) -> list[str]:
    inner = [name for a in node.attribute for g in [a.g, *a.graphs] for n in g.node for name in _reads(n)]
    inner += [o.name for a in node.attribute for g in [a.g, *a.graphs] for o in g.output]
    return [*node.input, *inner]
