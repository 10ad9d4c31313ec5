"""The way from a source's form to a target's; only the modules of the one that is chosen are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from trueport.errors import UsageError
from trueport.frontends.tensorflow.sources import Options, is_tensorflow
from trueport.frontends.torch.sources import TorchOptions, is_torch
from trueport.routes.base import Ops, Route
from trueport.routes.forms import is_onnx

__all__ = ["choose_route"]

_T = TypeVar("_T", Options, TorchOptions)
_TARGETS = ("tensorflow", "onnx", "tflite")
_OF_ONNX_FILES = ("opset", "external_data")


def choose_route(source: Any, to: str | None, ops: Ops, options: Mapping[str, Any]) -> Route:
    """``to`` may be left out where the source's form has one opposite; an option that a route lacks is an error."""
    if to is not None and to not in _TARGETS:
        raise UsageError(f"there is no target {to!r}", remedy=f"targets: {', '.join(_TARGETS)}")
    if to == "tflite":
        from trueport.routes.to_tflite import ToTflite

        return ToTflite(choose_route(source, "tensorflow", ops, options))
    if is_torch(source):
        return _from_torch(source, to, ops, options)
    if is_tensorflow(source) or (to == "onnx" and not is_onnx(source)):
        if to == "tensorflow":
            raise UsageError("the source is a TensorFlow model already", remedy="name an .onnx file as the output")
        from trueport.routes.tensorflow_to_onnx import TensorflowToOnnx

        given, outgoing = _split(options)
        return TensorflowToOnnx(source, ops, _settings(Options, given, "a TensorFlow"), **outgoing)
    if to == "onnx":
        raise UsageError("the source is an ONNX model already", remedy="name a folder for a SavedModel as the output")
    if options:
        raise UsageError(f"{sorted(options)[0]!r} is no option of an ONNX source")
    from trueport.routes.onnx_to_tensorflow import OnnxToTensorflow

    return OnnxToTensorflow(source, ops)


def _from_torch(source: Any, to: str | None, ops: Ops, options: Mapping[str, Any]) -> Route:
    given, outgoing = _split(options)
    settings = _settings(TorchOptions, given, "a PyTorch")
    if to == "tensorflow":
        if outgoing:
            raise UsageError(f"{sorted(outgoing)[0]!r} is an option of ONNX files")
        from trueport.routes.torch_to_tensorflow import TorchToTensorflow

        return TorchToTensorflow(source, ops, settings)
    from trueport.routes.torch_to_onnx import TorchToOnnx

    return TorchToOnnx(source, ops, settings, **outgoing)


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What says how the source is taken, and what says how an ONNX file is written."""
    outgoing = {name: value for name, value in options.items() if name in _OF_ONNX_FILES}
    return {name: value for name, value in options.items() if name not in outgoing}, outgoing


def _settings(kind: type[_T], given: Mapping[str, Any], which: str) -> _T:
    known = set(kind.__dataclass_fields__)
    for name in given:
        if name not in known:
            raise UsageError(f"there is no option {name!r}", remedy=f"options of {which} source: {sorted(known)}")
    return kind(**given)
