"""Any model that can be compared: its executions, and what tells the truth about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.errors import InvalidModel, UsageError
from trueport.frontends.onnx.load import load_onnx, unpacked
from trueport.frontends.tensorflow.registry import registry as tensorflow_operators
from trueport.frontends.tensorflow.sources import Options, capture_source, is_tensorflow
from trueport.frontends.tensorflow.state import keeping_state
from trueport.ir.artifact import ArtifactMap
from trueport.mapping.registry import Registry
from trueport.mapping.user import with_user_ops
from trueport.runtimes.base import Model
from trueport.runtimes.child import Limits, in_child
from trueport.runtimes.detect import load_model, load_sources
from trueport.runtimes.tensorflow import FunctionModel
from trueport.runtimes.tflite import TfliteModel, is_tflite
from trueport.runtimes.variants import variants
from trueport.verifying.budget import allowed_ulps
from trueport.verifying.oracle import OnnxOracle, Oracle, TensorflowOracle
from trueport.verifying.perturbed import PerturbedSource

__all__ = ["Running", "Subject", "as_source", "as_target"]


@dataclass(frozen=True)
class Running:
    """How models are executed."""

    limits: Limits | None = None
    """run each model that is a file in a process of its own, with these limits"""
    thorough: bool = False
    """the source in every way that its runtime has, for the floor"""


@dataclass(frozen=True)
class Subject:
    """A source: how it runs, and how its truth is found."""

    name: str
    executions: Sequence[Model]
    make_oracle: Callable[[], Oracle | str]
    allowed: Callable[[], float]
    """the declared bounds added up, for when there is no truth"""


def as_source(source: Any, options: Options, ops: Sequence[Any] = (), running: Running | None = None) -> Subject:
    """The model that is taken as right."""
    running = running or Running()
    if is_tflite(source):
        return _tflite_source(source, options, running)
    if is_tensorflow(source):
        captured = capture_source(source, options)
        model = FunctionModel(
            keeping_state(captured.function), captured.function, ArtifactMap(captured.inputs, captured.outputs)
        )
        known = with_user_ops(tensorflow_operators(), ops)
        executions = [model, *_more(source, model, running)]
        return Subject(_name(source), executions, lambda: TensorflowOracle(captured, known), lambda: 0.0)
    held = source if isinstance(source, (onnx.ModelProto, ir.Model)) else unpacked(Path(source))
    registry = with_user_ops(onnx_operators(), ops)
    return Subject(
        _name(source),
        _onnx_executions(held, registry, _name(source), running),
        lambda: OnnxOracle(load_onnx(held), registry),
        lambda: allowed_ulps(load_onnx(held), registry),
    )


def _tflite_source(source: Any, options: Options, running: Running) -> Subject:
    named: dict[str, Any] = {"signature": options.signature}
    if running.limits is not None:
        models = [in_child(_file(source), running.limits, kernels=k, **named) for k in ("builtin", "delegate")]
    else:
        models = [TfliteModel(source, kernels="builtin", **named), TfliteModel(source, **named)]
    models += _more(source, models[0], running)
    why = "a TFLite model can't be evaluated in float64"
    return Subject(_name(source), models, lambda: PerturbedSource(models[0], why), lambda: 0.0)


def _onnx_executions(held: Any, registry: Registry, name: str, running: Running) -> list[Model]:
    if running.limits is not None:
        plain, fused = (in_child(_file(held), running.limits, optimize=optimize) for optimize in (False, True))
        return [plain, fused, *_more(held, plain, running)]
    found = load_sources(held, [mapping for mapping in registry if mapping.reference])
    if isinstance(found, str):
        raise InvalidModel(found, where=name, remedy="declare custom operators with reference=… (--ops FILE)")
    # The reference evaluator stands in where ONNX Runtime can't run the model: there are no other ways then.
    return [*found, *(_more(held, found[0], running) if found[0].runtime == "onnxruntime" else [])]


def _more(source: Any, model: Model, running: Running) -> list[Model]:
    return [variant.open() for variant in variants(source, model)] if running.thorough else []


def as_target(target: Any, options: Options, running: Running | None = None) -> Model:
    """The model that is looked at, as its users run it; a loaded one is taken as it is."""
    if isinstance(target, Model):
        return target
    signed = options.signature is not None and _has_signatures(target)
    named: dict[str, Any] = {"signature": options.signature} if signed else {}
    if running is not None and running.limits is not None:
        return in_child(_file(target), running.limits, **named)
    if isinstance(target, (bytes, bytearray)):
        return TfliteModel(bytes(target), **named)
    if isinstance(target, (onnx.ModelProto, ir.Model)):
        found = load_sources(target)
        if isinstance(found, str):
            raise InvalidModel(found, where="the target")
        return found[-1]
    if isinstance(target, (str, Path)) and (not Path(target).suffix or is_tflite(target)):
        return load_model(target, **named)
    if is_tensorflow(target):
        captured = capture_source(target, options)
        return FunctionModel(captured.function, captured.function, ArtifactMap(captured.inputs, captured.outputs))
    return load_model(target)


def _has_signatures(target: Any) -> bool:
    return is_tflite(target) or (isinstance(target, (str, Path)) and (Path(target) / "saved_model.pb").exists())


def _file(model: Any) -> Path:
    """What a process of its own can open."""
    if not isinstance(model, (str, Path)):
        raise UsageError(
            f"a {type(model).__name__} in memory can't be run in a process of its own",
            where="isolate",
            remedy="save it, and name the file",
        )
    return Path(model)


def _name(source: Any) -> str:
    return str(source) if isinstance(source, (str, Path)) else f"the {type(source).__name__}"
