"""Any model that can be compared: its executions, and what tells the truth about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.errors import InvalidModel
from trueport.frontends.onnx.load import load_onnx, unpacked
from trueport.frontends.tensorflow.registry import registry as tensorflow_operators
from trueport.frontends.tensorflow.sources import Options, capture_source, is_tensorflow
from trueport.ir.artifact import ArtifactMap
from trueport.mapping.registry import Registry
from trueport.mapping.user import with_user_ops
from trueport.runtimes.base import Model
from trueport.runtimes.detect import load_model, load_sources
from trueport.runtimes.tensorflow import FunctionModel
from trueport.verifying.budget import allowed_ulps
from trueport.verifying.oracle import OnnxOracle, Oracle, TensorflowOracle

__all__ = ["Subject", "as_source", "as_target"]


@dataclass(frozen=True)
class Subject:
    """A source: how it runs, and how its truth is found."""

    name: str
    executions: Sequence[Model]
    make_oracle: Callable[[], Oracle | str]
    allowed: Callable[[], float]
    """the declared bounds added up, for when there is no truth"""


def as_source(source: Any, options: Options, ops: Sequence[Any] = ()) -> Subject:
    """The model that is taken as right."""
    if is_tensorflow(source):
        captured = capture_source(source, options)
        model = FunctionModel(captured.function, captured.function, ArtifactMap(captured.inputs, captured.outputs))
        known = with_user_ops(tensorflow_operators(), ops)
        return Subject(_name(source), [model], lambda: TensorflowOracle(captured, known), lambda: 0.0)
    held = source if isinstance(source, (onnx.ModelProto, ir.Model)) else unpacked(Path(source))
    registry = with_user_ops(onnx_operators(), ops)
    executions = load_sources(held, [mapping for mapping in registry if mapping.reference])
    if isinstance(executions, str):
        raise InvalidModel(
            executions, where=_name(source), remedy="declare custom operators with reference=… (--ops FILE)"
        )
    return Subject(
        _name(source),
        executions,
        lambda: OnnxOracle(load_onnx(held), registry),
        lambda: _allowed(load_onnx(held), registry),
    )


def _allowed(model: ir.Model, registry: Registry) -> float:
    return allowed_ulps(model, registry)


def as_target(target: Any, options: Options) -> Model:
    """The model that is looked at, as its users run it; a loaded one is taken as it is."""
    if isinstance(target, Model):
        return target
    if isinstance(target, (onnx.ModelProto, ir.Model)):
        found = load_sources(target)
        if isinstance(found, str):
            raise InvalidModel(found, where="the target")
        return found[-1]
    if isinstance(target, (str, Path)) and not Path(target).suffix:
        return load_model(target)
    if is_tensorflow(target):
        captured = capture_source(target, options)
        return FunctionModel(captured.function, captured.function, ArtifactMap(captured.inputs, captured.outputs))
    return load_model(target)


def _name(source: Any) -> str:
    return str(source) if isinstance(source, (str, Path)) else f"the {type(source).__name__}"
