"""Types and shapes of all values, by ONNX's own inference."""

from __future__ import annotations

from collections.abc import Collection

import onnx
import onnx.shape_inference
import onnx_ir as ir

from trueport.errors import InvalidModel
from trueport.ir.maps import is_map
from trueport.ir.skeleton import skeleton
from trueport.passes.followed import hide, nodes_to_hide
from trueport.passes.pass_list import Fact, Pass
from trueport.quoting import one_line

__all__ = ["INFER_SHAPES", "infer_shapes"]

_MAX_ROUNDS = 4
"""Each round lets nodes be followed by value whose operands the round before has shown to be small."""


def infer_shapes(model: ir.Model) -> None:
    """Fill in what inference finds; that types fit the schemas was checked when the model was loaded."""
    hidden = nodes_to_hide(model, None)
    if hidden:
        _infer(model, hidden, by_value=False)
        hidden = nodes_to_hide(model, None)
    for _ in range(_MAX_ROUNDS):
        _infer(model, hidden, by_value=True)
        fewer = nodes_to_hide(model, hidden)
        if fewer >= hidden:
            return
        hidden = fewer


def _infer(model: ir.Model, hidden: Collection[ir.Node], *, by_value: bool) -> None:
    bare = skeleton(model)
    try:
        inferred = onnx.shape_inference.infer_shapes(
            hide(model, bare, hidden) if by_value else bare, check_type=False, strict_mode=False, data_prop=by_value
        )
    except onnx.shape_inference.InferenceError as error:
        raise InvalidModel(
            f"ONNX's shape inference refuses it: {_first_line(error)}",
            where="the model",
            remedy="onnx.checker.check_model(model, full_check=True) shows the same",
        ) from error
    _take_over(model.graph, inferred.graph)


def _first_line(error: Exception) -> str:
    return one_line(error, 400)


def _take_over(graph: ir.Graph, inferred: onnx.GraphProto) -> None:
    """Read the found types alone, not the whole graph: nodes stand in the same order in both."""
    found = {info.name: info.type for info in (*inferred.value_info, *inferred.output) if not is_map(info.type)}
    for node, twin in zip(graph, inferred.node, strict=True):
        for value in node.outputs:
            if value.name in found:
                _describe(value, found[value.name])
        bodies = {attribute.name: attribute.g for attribute in twin.attribute if attribute.HasField("g")}
        for name, body in bodies.items():
            _take_over(node.attributes[name].as_graph(), body)


def _describe(value: ir.Value, proto: onnx.TypeProto) -> None:
    kind, shape = ir.serde.deserialize_type_proto_for_type(proto), ir.serde.deserialize_type_proto_for_shape(proto)
    if kind is not None:
        value.type = kind
    if shape is not None:
        value.shape = shape


INFER_SHAPES = Pass("infer shapes", infer_shapes, needs=(Fact.CANONICAL, Fact.INITIALIZERS), ensures=(Fact.SHAPES,))
