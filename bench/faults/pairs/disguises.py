"""Changes of an ONNX file that keep every number: names, order of nodes, where constants are stored."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

__all__ = ["DISGUISES"]

Rng = np.random.Generator


def rename_and_shuffle(model: onnx.ModelProto, rng: Rng, folder: Path) -> onnx.ModelProto:
    """Give intermediate values, weights and nodes other names, and sort nodes in another topological order."""
    changed = copy.deepcopy(model)
    graph = changed.graph
    fixed = {port.name for port in (*graph.input, *graph.output)} | {""}
    names: dict[str, str] = {}

    def rename(name: str) -> str:
        return name if name in fixed else names.setdefault(name, f"t{rng.integers(1 << 40):x}")

    for graph_part in _graphs(graph):
        fixed.update(port.name for port in graph_part.input)
    for graph_part in _graphs(graph):
        for node in graph_part.node:
            node.name = f"n{rng.integers(1 << 40):x}"
            node.input[:] = [rename(name) for name in node.input]
            node.output[:] = [rename(name) for name in node.output]
        for port in (*graph_part.value_info, *graph_part.output):
            port.name = rename(port.name)
        for tensor in graph_part.initializer:
            tensor.name = rename(tensor.name)
    _shuffle(graph, rng)
    return changed


def store_constants_as_nodes(model: onnx.ModelProto, rng: Rng, folder: Path) -> onnx.ModelProto:
    """Replace initializers by Constant nodes, and put an Identity before every output."""
    changed = copy.deepcopy(model)
    graph = changed.graph
    nodes = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in graph.initializer]
    nodes.extend(graph.node)
    outputs = {port.name for port in graph.output}
    for node in nodes:
        for position, name in enumerate(node.output):
            if name in outputs:
                node.output[position] = f"{name}__before"
    for part in nodes:
        _rename_operands(part, outputs)
    nodes.extend(helper.make_node("Identity", [f"{name}__before"], [name]) for name in sorted(outputs))
    del graph.initializer[:]
    del graph.node[:]
    graph.node.extend(nodes)
    return changed


def store_weights_outside(model: onnx.ModelProto, rng: Rng, folder: Path) -> Path:
    """Save the weights in a file beside the model; shape inference needs the small constants inside."""
    path = folder / "outside.onnx"
    onnx.save(copy.deepcopy(model), path, save_as_external_data=True, location="outside.data", size_threshold=256)
    return path


def _graphs(graph: onnx.GraphProto) -> Iterable[onnx.GraphProto]:
    """Yield the graph and the bodies of its control flow."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _rename_operands(node: onnx.NodeProto, outputs: set[str]) -> None:
    """Let a node, and the bodies inside it, read ``name__before`` in place of an output."""
    node.input[:] = [f"{name}__before" if name in outputs else name for name in node.input]
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                _rename_operands(inner, outputs)


def _shuffle(graph: onnx.GraphProto, rng: Rng) -> None:
    """Sort the nodes in a random topological order."""
    nodes = list(graph.node)
    made_by = {name: k for k, node in enumerate(nodes) for name in node.output}
    needs = [{made_by[name] for name in _read_by(node) if name in made_by} for node in nodes]
    done: list[int] = []
    left = set(range(len(nodes)))
    while left:
        ready = sorted(k for k in left if needs[k] <= set(done))
        chosen = int(rng.choice(ready))
        done.append(chosen)
        left.remove(chosen)
    ordered = [copy.deepcopy(nodes[k]) for k in done]
    del graph.node[:]
    graph.node.extend(ordered)


def _read_by(node: onnx.NodeProto) -> Iterable[str]:
    """Yield what a node reads, also from inside its bodies."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                yield from _read_by(inner)
            yield from (port.name for port in attribute.g.output)


DISGUISES: Mapping[str, Callable[[onnx.ModelProto, Rng, Path], onnx.ModelProto | Path]] = {
    "renamed": rename_and_shuffle,
    "constant_nodes": store_constants_as_nodes,
    "external_weights": store_weights_outside,
}
