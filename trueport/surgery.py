"""Replace, cut or rename parts of an ONNX model before it is converted; thin over onnx_ir.

    model = trueport.surgery.open("model.onnx")
    trueport.surgery.replace(model, "node_17", op="FixedResize", domain="com.acme")
    trueport.convert(model, ops=[my_ops])

The functions change the model in place and return it.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from trueport.errors import UsageError
from trueport.frontends.onnx.load import load_onnx
from trueport.ir.replace import replace_value
from trueport.passes.shapes import infer_shapes

__all__ = ["cut", "find", "open", "rename", "replace"]


def open(source: str | Path | onnx.ModelProto | ir.Model) -> ir.Model:
    """The model as IR, a copy of its own."""
    model = load_onnx(source)
    infer_shapes(model)  # what is cut off must know its type
    return model


def find(model: ir.Model, name: str) -> ir.Node:
    """The node of that name, or the one that makes the value of that name."""
    for node in model.graph:
        if node.name == name or any(value.name == name for value in node.outputs):
            return node
    names = [node.name or node.outputs[0].name for node in model.graph]
    raise UsageError(f"there is no node or value {name!r}", remedy=f"nodes: {', '.join(map(str, names[:20]))} …")


def replace(model: ir.Model, name: str, *, op: str, domain: str, **attributes: Any) -> ir.Model:
    """Put another operator in a node's place, with the same inputs and outputs.

    Together with a ``@maps(op, domain=…)`` handler this swaps one node for TensorFlow code of the user's own.
    """
    node = find(model, name)
    node.op_type, node.domain = op, domain
    node.attributes.clear()
    for attribute in ir.convenience.convert_attributes(attributes):
        node.attributes[attribute.name] = attribute
    model.opset_imports.setdefault(domain, 1)
    return model


def cut(model: ir.Model, *, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> ir.Model:
    """Keep what lies between the named values: they become the inputs and outputs (those not named stay)."""
    values = _values(model)
    for name in [*inputs, *outputs]:
        if name not in values:
            raise UsageError(f"there is no value {name!r}", remedy=f"values: {', '.join(builtins.list(values)[:20])} …")
    graph = model.graph
    if outputs:
        graph.outputs[:] = [values[name] for name in outputs]
    if inputs:
        _make_inputs(graph, [values[name] for name in inputs])
    RemoveUnusedNodesPass()(model)
    graph.inputs[:] = [v for v in graph.inputs if v.name in inputs or v.uses() or v.is_graph_output()]
    return model


def rename(model: ir.Model, names: dict[str, str]) -> ir.Model:
    """Rename values (inputs and outputs among them), old name to new; two may exchange their names."""
    values = _values(model)
    taken = set(values) - set(names)
    for old, new in names.items():
        if old not in values:
            raise UsageError(f"there is no value {old!r}")
        if new in taken:
            raise UsageError(f"there is a value {new!r} already")
        taken.add(new)
    # All aside first, for a name may be another's new one.
    for old in names:
        values[old].name = f"{old}__renamed"
    for old, new in names.items():
        values[old].name = new
    return model


def _values(model: ir.Model) -> dict[str, ir.Value]:
    graph = model.graph
    made = [value for node in graph for value in node.outputs]
    return {v.name: v for v in [*graph.inputs, *graph.initializers.values(), *made] if v.name}


def _make_inputs(graph: ir.Graph, values: Sequence[ir.Value]) -> None:
    for value in values:
        if value.is_graph_input():
            continue
        fresh = ir.Value()
        replace_value(value, fresh)
        value.name = f"{fresh.name}__cut"
        graph.inputs.append(fresh)
