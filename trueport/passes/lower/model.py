"""A whole model at an older opset: operators that were not there by their bodies, then all nodes, then the stamps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import onnx_ir as ir
from onnx_ir.passes.common import (
    LiftConstantsToInitializersPass,
    LiftSubgraphInitializersToMainGraphPass,
    RemoveUnusedNodesPass,
)

from trueport.errors import ConversionError
from trueport.ir.schemas import canonical_schema
from trueport.passes.canonical import raise_opsets
from trueport.passes.expand import expand_functions
from trueport.passes.fold import fold_constants
from trueport.passes.lower.adapt import Change, lower_nodes, needs_body, probe_nodes
from trueport.passes.lower.times import ir_version_of, ir_version_with, opsets_of_time
from trueport.passes.shapes import infer_shapes

__all__ = ["Trial", "lower_model", "take_back", "try_back"]


class Trial(NamedTuple):
    """A copy of a model at an older opset, which it does not import yet."""

    model: ir.Model
    changes: list[Change]
    refusals: list[ConversionError]


_MAX_NESTED_BODIES = 8
_MAX_FOLDING_ROUNDS = 8


def lower_model(model: ir.Model, opset: int, *, always_expand: Callable[[ir.Node], bool] = lambda _: False) -> None:
    """Bring a model, in place, from the canonical opsets to an older one of ONNX and to what went with it.

    ``always_expand``: which nodes are replaced by their bodies in any case, if they have one.
    """
    wanted = _before_retirement(model, opsets_of_time(opset))
    if any(value.type is None for node in model.graph.all_nodes() for value in node.outputs):
        infer_shapes(model)  # which form a node takes hangs on its types
    for _ in range(_MAX_NESTED_BODIES):
        if not expand_functions(
            model, lambda node: _has_graphs(node) or not (always_expand(node) or needs_body(node, wanted)), raise_opsets
        ):
            break
        LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
        LiftSubgraphInitializersToMainGraphPass()(model)
        infer_shapes(model)
        for _ in range(_MAX_FOLDING_ROUNDS):
            if not fold_constants(model):
                break
            infer_shapes(model)
    lower_nodes(model, wanted)
    _stamp(model, opset, wanted)


def take_back(model: ir.Model, opset: int) -> None:
    """Bring a model, in place, from the opset that it imports to an older one; no function body is used for that."""
    wanted = _before_retirement(model, opsets_of_time(opset))
    _mark_versions(model)
    lower_nodes(model, wanted)
    _stamp(model, opset, wanted)


def try_back(model: ir.Model, opset: int) -> Trial:
    """Do with a copy what :func:`take_back` would do, and tell what that changes; weights are not copied."""
    trial = model.clone()
    _mark_versions(trial)
    return Trial(trial, *probe_nodes(trial, _before_retirement(trial, opsets_of_time(opset))))


def _mark_versions(model: ir.Model) -> None:
    for node in model.graph.all_nodes():
        node.version = model.opset_imports.get(node.domain)


def _stamp(model: ir.Model, opset: int, wanted: Mapping[str, int]) -> None:
    RemoveUnusedNodesPass()(model)
    used = {node.domain for node in model.graph.all_nodes()} | {""}
    for domain in list(model.opset_imports):
        if domain not in used:
            del model.opset_imports[domain]
    model.opset_imports.update({domain: wanted[domain] for domain in used if domain in wanted})
    model.ir_version = max(ir_version_of(opset), _ir_version_of_types(model))


def _ir_version_of_types(model: ir.Model) -> int:
    """A value may have a type that no node takes: an initializer that is an output."""
    values = [value for graph in model.graphs() for value in (*graph.inputs, *graph.initializers.values())]
    made = [value for node in model.graph.all_nodes() for value in node.outputs]
    return max((ir_version_with(value.dtype) for value in (*values, *made)), default=0)


def _before_retirement(model: ir.Model, opsets: Mapping[str, int]) -> dict[str, int]:
    """The same, but older where an operator of the model is deprecated for good: runtimes refuse it from there on."""
    found = dict(opsets)
    for node in model.graph.all_nodes():
        newest = canonical_schema(node.op_type, node.domain)
        if newest is not None and newest.deprecated and node.domain in found:
            found[node.domain] = min(found[node.domain], newest.since_version - 1)
    return found


def _has_graphs(node: ir.Node) -> bool:
    """A graph can't be handed to a function that is inlined."""
    return any(attribute.type == ir.AttributeType.GRAPH for attribute in node.attributes.values())
