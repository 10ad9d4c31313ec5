"""Types and shapes of all values, by ONNX's own inference."""

from __future__ import annotations

import onnx
import onnx.shape_inference
import onnx_ir as ir

from trueport.errors import InvalidModel
from trueport.ir.maps import from_proto
from trueport.ir.skeleton import skeleton

__all__ = ["infer_shapes"]


def infer_shapes(model: ir.Model) -> None:
    """Fill in what inference finds; that types fit the schemas was checked when the model was loaded."""
    try:
        inferred = onnx.shape_inference.infer_shapes(
            skeleton(model), check_type=False, strict_mode=False, data_prop=True
        )
    except onnx.shape_inference.InferenceError as error:
        raise InvalidModel(
            f"the types in the model contradict each other: {_first_line(error)}",
            remedy="check it with onnx.checker.check_model(model, full_check=True)",
        ) from error
    for mine, theirs in zip(model.graphs(), from_proto(inferred).graphs(), strict=True):
        _take_over(mine, theirs)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:400]


def _take_over(graph: ir.Graph, inferred: ir.Graph) -> None:
    """Nodes stand in the same order in both, so values are matched by place, not by name."""
    for node, twin in zip(graph, inferred, strict=True):
        for value, found in zip(node.outputs, twin.outputs, strict=False):
            if found.type is not None:
                value.type = found.type
            if found.shape is not None:
                value.shape = found.shape
