"""What the installed ONNX Runtime reads: it refuses files with a newer opset or a newer version of the format."""

from __future__ import annotations

import functools
from typing import Any

from onnx import TensorProto, helper

from trueport.versions.opsets import canonical_opsets

__all__ = ["newest_ir_version", "newest_opset"]

_OLDEST_OPSET, _OLDEST_IR_VERSION, _NEWEST_IR_VERSION = 13, 7, 14


@functools.cache
def newest_opset(onnxruntime: Any) -> int:
    """Return the newest opset of ``ai.onnx``, up to the canonical one, that ``onnxruntime`` (the module) reads."""
    opsets = range(canonical_opsets()[""], _OLDEST_OPSET, -1)
    return next((opset for opset in opsets if _reads(onnxruntime, opset, _OLDEST_IR_VERSION)), _OLDEST_OPSET)


@functools.cache
def newest_ir_version(onnxruntime: Any) -> int:
    """Return the newest version of the file format that ``onnxruntime`` (the module) reads."""
    versions = range(_NEWEST_IR_VERSION, _OLDEST_IR_VERSION, -1)
    return next((version for version in versions if _reads(onnxruntime, _OLDEST_OPSET, version)), _OLDEST_IR_VERSION)


def _reads(onnxruntime: Any, opset: int, ir_version: int) -> bool:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "probe", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    errors = onnxruntime.capi.onnxruntime_pybind11_state
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except (errors.Fail, errors.InvalidArgument, errors.InvalidGraph, errors.NotImplemented):
        return False
    return True
