"""The one dispatcher: anything that is a model, as a `Source`; and the forms that models are written in.

A new form is one line in `KINDS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueport.errors import InvalidModel, UsageError
from trueport.mapping.registry import RECORDS, Registry
from trueport.requirements import Form, require_to_run
from trueport.runtimes.base import Model
from trueport.runtimes.child import Limits
from trueport.sources.forms import is_onnx, is_path, is_tensorflow, is_tflite, is_torch
from trueport.stages import Ops, Source, Target

__all__ = [
    "KINDS",
    "Kind",
    "declarations",
    "describe",
    "form_of",
    "form_to_write",
    "load",
    "load_target",
    "on_the_way",
    "open_source",
    "options_of",
]


@dataclass(frozen=True)
class Kind:
    """A form that models have."""

    form: Form
    called: str
    """how a message calls a model of the form"""
    takes: Callable[[Any], bool]
    source: str
    """``module:class`` of its `Source`; read when one is opened"""
    target: str = ""
    """``module:class`` of its `Target`; empty for a form that can't be written"""
    ending: str = ""
    """how the name of a file of the form ends; empty for a folder"""

    def load(self) -> type[Source]:
        """Return the class of its sources."""
        found: type[Source] = _loaded(self.source)
        return found


def _loaded(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


KINDS: tuple[Kind, ...] = (
    Kind("loaded", "a loaded model", lambda model: isinstance(model, Model), "trueport.sources.loaded:LoadedSource"),
    Kind("pytorch", "a PyTorch model", is_torch, "trueport.sources.torch:TorchSource"),
    Kind(
        "tflite",
        "a TFLite model",
        is_tflite,
        "trueport.sources.tflite:TfliteSource",
        "trueport.backends.tflite.target:TfliteTarget",
        ".tflite",
    ),
    Kind(
        "tensorflow",
        "a TensorFlow model",
        is_tensorflow,
        "trueport.sources.tensorflow:TensorflowSource",
        "trueport.backends.tensorflow.target:TensorflowTarget",
    ),
    Kind(
        "onnx",
        "an ONNX model",
        is_onnx,
        "trueport.sources.onnx:OnnxSource",
        "trueport.backends.onnx.target:OnnxTarget",
        ".onnx",
    ),
)
"""All forms, in the order in which they are asked whether a model is theirs."""


def form_of(model: Any) -> Form | None:
    """Return the form of a file or an object; None if it is none that is known."""
    return next((kind.form for kind in KINDS if kind.takes(model)), None)


def open_source(
    model: Any, *, ops: Ops = (), options: Mapping[str, Any] | None = None, limits: Limits | None = None
) -> Source:
    """Return a model as a `Source`; nothing is read yet.

    ``options`` are those of its form. ``limits``: run it in a process of its own.
    """
    if isinstance(model, Source):
        return model
    kind = _kind_of(model)
    _refuse_unknown(kind, options or {})
    found = kind.load()
    return found(model, ops, found.Options(**(options or {})), limits)


def options_of(model: Any) -> frozenset[str]:
    """Return the names of the options that a source of this form has."""
    return frozenset(_kind_of(model).load().Options.__dataclass_fields__)


def on_the_way(model: Any, form: Form, options: Mapping[str, Any], ops: Ops) -> tuple[Source, Target]:
    """Return a source and the target that it goes to, each with its options.

    Raises `UsageError` for an option that neither has, and where the source is of that form already.
    """
    kind, target = _kind_of(model), load_target(form)
    outgoing = {name: value for name, value in options.items() if name in target.Options.__dataclass_fields__}
    incoming = {name: value for name, value in options.items() if name not in outgoing}
    source = open_source(model, ops=ops, options=incoming)
    if kind.form == form:
        raise UsageError(f"the source is {kind.called} already", remedy="name an output of another form")
    return source, target(ops, target.Options(**outgoing))


def _refuse_unknown(kind: Kind, given: Mapping[str, Any]) -> None:
    known = sorted(kind.load().Options.__dataclass_fields__)
    for name in given:
        if name in known:
            continue
        others = [other.form for other in KINDS if other.target and name in _options_of_target(other)]
        raise UsageError(
            f"{kind.called} has no option {name!r}",
            remedy=f"it is one of the target {others[0]}" if others else f"its options: {', '.join(known) or 'none'}",
        )


def _options_of_target(kind: Kind) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = _loaded(kind.target).Options.__dataclass_fields__
    return fields


def _kind_of(model: Any) -> Kind:
    for kind in KINDS:
        if kind.takes(model):
            return kind
    if not is_path(model):
        raise UsageError(
            f"{type(model).__name__} is not a model",
            remedy="pass a path, an ONNX model, a keras.Model, tf.Module, tf.function with a signature, "
            "ConcreteFunction, GraphDef, tf.Graph, an nn.Module or an ExportedProgram",
        )
    path = Path(model)
    if not path.exists():
        raise InvalidModel("there is no such file or folder", where=str(path))
    if path.is_dir():
        raise InvalidModel(
            "the folder holds no saved_model.pb",
            where=str(path),
            remedy="name a SavedModel's folder, or a file: .onnx, .keras, .h5, .pb, .pbtxt, .meta, .tflite, .pt2, .pt",
        )
    # Files of ONNX are called in many ways; what is not one is refused when it is read.
    return next(kind for kind in KINDS if kind.form == "onnx")


def declarations(form: str, ops: Ops) -> Registry:
    """Return the declarations by which models of a form are written, users' own before them; none if none are."""
    kind = next((kind for kind in KINDS if kind.form == form and kind.target), None)
    if kind is None:
        return RECORDS
    target = load_target(kind.form)
    return target(ops, target.Options()).registry


def load_target(form: Form) -> type[Target]:
    """Return the class that writes a form; raises `UsageError` if there is none."""
    written = {kind.form: kind.target for kind in KINDS if kind.target}
    if form not in written:
        raise UsageError(f"there is no target {form!r}", remedy=f"targets: {', '.join(sorted(written))}")
    found: type[Target] = _loaded(written[form])
    return found


def form_to_write(place: Path) -> Form:
    """Return the form of an output by its name; raises `UsageError` for a form that can't be written."""
    endings = {kind.ending: kind.form for kind in KINDS if kind.target}
    if place.suffix in endings:
        return endings[place.suffix]
    if form_of(place) is not None and not place.is_dir():
        raise UsageError(
            f"a model can't be written as {place.suffix}",
            where=str(place),
            remedy="name a folder for a SavedModel, like saved_model/, or a file like model.onnx or model.tflite",
        )
    return endings[""]


def describe(model: Any, *, trust: bool = False) -> Mapping[str, Any]:
    """Return what ``trueport info`` shows of a model: inputs, outputs, operators, parameters, size."""
    return open_source(model, options={"trust": trust} if "trust" in options_of(model) else {}).facts()


def load(model: Any, *, trust: bool = False, signature: str | None = None, **settings: Any) -> Model:
    """Open a model for running: an ONNX file, a SavedModel, a file of Keras, TFLite or PyTorch.

    ``trust=True`` lets files run code that they carry, and operators of TensorFlow touch files, processes and the
    network. ``signature``: of a SavedModel or a TFLite file.

    ``settings`` are those of the runtime. Of ONNX Runtime: ``optimize=False`` keeps it from fusing nodes, which changes
    numbers (quantized ones too); ``exact_sums=True`` gives exact integer sums where it saturates them on this CPU;
    ``level``, ``threads``. Of TFLite: ``kernels``, ``threads``. Of PyTorch: ``example_inputs``.
    """
    kind = _kind_of(model)
    require_to_run(kind.form)
    given = {"trust": trust, "signature": signature, "example_inputs": settings.pop("example_inputs", None)}
    known = options_of(model)
    options = {name: value for name, value in given.items() if value is not None and name in known}
    return open_source(model, options=options).deployed(**settings)
