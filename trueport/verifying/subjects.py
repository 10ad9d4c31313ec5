"""Any model that can be compared: its executions, and what tells the truth about it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.capture import TorchCaptured, capture_torch
from trueport.frontends.torch.choices import unspecified_choices
from trueport.frontends.torch.run import run_eager
from trueport.frontends.torch.sources import TorchOptions, is_torch
from trueport.ir.artifact import ArtifactMap
from trueport.mapping.registry import Registry
from trueport.mapping.user import with_user_ops
from trueport.runtimes.base import Model
from trueport.runtimes.child import Limits, in_child
from trueport.runtimes.detect import load_model, load_sources
from trueport.runtimes.tensorflow import FunctionModel
from trueport.runtimes.tflite import TfliteModel, is_tflite
from trueport.runtimes.torch import TorchModel
from trueport.verifying.budget import allowed_ulps
from trueport.verifying.inputs import make_inputs
from trueport.verifying.oracle import OnnxOracle, Oracle, TensorflowOracle, TorchOracle
from trueport.verifying.perturbed import PerturbedSource

__all__ = ["Running", "Subject", "as_source", "as_target", "source_and_target"]


@dataclass(frozen=True)
class Running:
    """How models are executed."""

    limits: Limits | None = None
    """run each model that is a file in a process of its own, with these limits"""
    torch: TorchOptions = field(default_factory=TorchOptions)
    """how a PyTorch module is taken"""


@dataclass(frozen=True)
class Subject:
    """A source: how it runs, and how its truth is found."""

    name: str
    executions: Sequence[Model]
    make_oracle: Callable[[], Oracle | str]
    allowed: Callable[[], float]
    """the declared bounds added up, for when there is no truth"""
    artifact: Any
    """what it was opened from: a path, bytes, or an object in memory"""


def as_source(source: Any, options: Options, ops: Sequence[Any] = (), running: Running | None = None) -> Subject:
    """The model that is taken as right."""
    running = running or Running()
    if is_torch(source):
        module = capture_torch(source, running.torch)
        return Subject(_name(source), [_eager(module)], lambda: TorchOracle(module), lambda: 0.0, source)
    if is_tflite(source):
        return _tflite_source(source, options, running)
    if is_tensorflow(source):
        captured = capture_source(source, _for_source(source, options))
        model = FunctionModel(
            keeping_state(captured.function), captured.function, ArtifactMap(captured.inputs, captured.outputs)
        )
        known = with_user_ops(tensorflow_operators(), ops)
        return Subject(_name(source), [model], lambda: TensorflowOracle(captured, known), lambda: 0.0, source)
    held = source if isinstance(source, (onnx.ModelProto, ir.Model)) else unpacked(Path(source))
    registry = with_user_ops(onnx_operators(), ops)
    return Subject(
        _name(source),
        _onnx_executions(held, registry, _name(source), running),
        lambda: OnnxOracle(load_onnx(held), registry),
        lambda: allowed_ulps(load_onnx(held), registry),
        held,
    )


def source_and_target(
    source: Any, target: Any, options: Options, ops: Sequence[Any], running: Running
) -> tuple[Subject, Model, Running]:
    """Both, and how they were opened: a PyTorch module without an example takes one that fits the other's inputs."""
    if _lacks_example(source, running) and not is_torch(target):
        model = as_target(target, options, running)
        running = _with_example(running, model)
        return as_source(source, options, ops, running), model, running
    subject = as_source(source, options, ops, running)
    if _lacks_example(target, running) and not is_torch(source):
        running = _with_example(running, subject.executions[0])
    return subject, as_target(target, options, running), running


def _lacks_example(model: Any, running: Running) -> bool:
    """An exported program has one of its own."""
    exported = type(model).__name__ == "ExportedProgram" or (_is_path(model) and Path(model).suffix == ".pt2")
    return running.torch.example_inputs is None and is_torch(model) and not exported


def _with_example(running: Running, other: Model) -> Running:
    values = make_inputs(other.inputs, samples=2)[-1].values()
    example = tuple(torch.from_numpy(value) for value in values)
    given = running.torch.dynamic_shapes
    dims = [{axis: d for axis, d in enumerate(port.shape or ()) if isinstance(d, str)} or None for port in other.inputs]
    options = replace(running.torch, example_inputs=example, dynamic_shapes=dims if given is None else given)
    return replace(running, torch=options)


def _eager(module: TorchCaptured) -> TorchModel:
    eager, choices = (functools.partial(f, module.module, module.call) for f in (run_eager, unspecified_choices))
    return TorchModel(eager, module.inputs, module.outputs, choices=choices)


def _tflite_source(source: Any, options: Options, running: Running) -> Subject:
    named: dict[str, Any] = {"signature": options.signature, "trust": options.trust}
    if running.limits is not None:
        models = [in_child(_file(source), running.limits, kernels=k, **named) for k in ("builtin", "delegate")]
    else:
        models = [TfliteModel(source, kernels="builtin", **named), TfliteModel(source, **named)]
    why = "a TFLite model can't be evaluated in float64"
    return Subject(_name(source), models, lambda: PerturbedSource(models[0], why), lambda: 0.0, source)


def _onnx_executions(held: Any, registry: Registry, name: str, running: Running) -> list[Model]:
    if running.limits is not None:
        settings = [{"optimize": optimize, "exact_sums": True} for optimize in (False, True)]
        return [in_child(_file(held), running.limits, **chosen) for chosen in settings]
    found = load_sources(held, [mapping for mapping in registry if mapping.reference])
    if isinstance(found, str):
        raise InvalidModel(found, where=name, remedy="declare custom operators with reference=… (--ops FILE)")
    return found


def as_target(target: Any, options: Options, running: Running | None = None) -> Model:
    """The model that is looked at, as its users run it; a loaded one is taken as it is."""
    if isinstance(target, Model):
        return target
    if is_torch(target):
        return _eager(capture_torch(target, running.torch if running is not None else TorchOptions()))
    signed = options.signature is not None and _has_signatures(target)
    named: dict[str, Any] = {"signature": options.signature} if signed else {}
    named |= {"trust": options.trust}
    if running is not None and running.limits is not None:
        return in_child(_file(target), running.limits, exact_sums=True, **named)
    if isinstance(target, (bytes, bytearray)):
        return TfliteModel(bytes(target), **named)
    if isinstance(target, (onnx.ModelProto, ir.Model)):
        found = load_sources(target)
        if isinstance(found, str):
            raise InvalidModel(
                found, where="the target", remedy="give a target that one of them runs, or the SavedModel made of it"
            )
        return found[-1]
    if isinstance(target, (str, Path)) and (not Path(target).suffix or is_tflite(target)):
        return load_model(target, exact_sums=True, **named)
    if is_tensorflow(target):
        captured = capture_source(target, _for_source(target, options))
        return FunctionModel(captured.function, captured.function, ArtifactMap(captured.inputs, captured.outputs))
    return load_model(target, exact_sums=True)


def _for_source(model: Any, options: Options) -> Options:
    """The options without trust for a model in memory: that is about code in files."""
    return options if _is_path(model) else replace(options, trust=False)


def _has_signatures(target: Any) -> bool:
    return is_tflite(target) or (isinstance(target, (str, Path)) and (Path(target) / "saved_model.pb").is_file())


def _is_path(model: Any) -> bool:
    return isinstance(model, (str, Path))


def _file(model: Any) -> Path:
    """What a process of its own can open."""
    if not _is_path(model):
        raise UsageError(
            f"a {type(model).__name__} in memory can't be run in a process of its own",
            where="isolate",
            remedy="save it, and name the file",
        )
    return Path(model)


def _name(source: Any) -> str:
    return str(source) if isinstance(source, (str, Path)) else f"the {type(source).__name__}"
