"""The one dispatcher: anything that is a model, as a `Source`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueport.errors import InvalidModel, UsageError
from trueport.requirements import Form, require_to_inspect, require_to_run
from trueport.runtimes.base import Model
from trueport.runtimes.child import Limits
from trueport.sources.forms import is_onnx, is_path, is_tensorflow, is_tflite, is_torch
from trueport.stages import Ops, Source, made_options

__all__ = ["KINDS", "Kind", "describe", "form_of", "load", "open_source", "options_of"]


@dataclass(frozen=True)
class Kind:
    """A form that sources have."""

    form: Form
    takes: Callable[[Any], bool]
    source: str
    """``module:class``; read when a source of the form is opened"""
    called: str
    """how a message calls such a source"""

    def load(self) -> type[Source]:
        """Return its class."""
        module, _, name = self.source.partition(":")
        found: type[Source] = getattr(importlib.import_module(module), name)
        return found


KINDS = (
    Kind("loaded", lambda model: isinstance(model, Model), "trueport.sources.loaded:LoadedSource", "a loaded model"),
    Kind("pytorch", is_torch, "trueport.sources.torch:TorchSource", "a PyTorch source"),
    Kind("tflite", is_tflite, "trueport.sources.tflite:TfliteSource", "a TFLite source"),
    Kind("tensorflow", is_tensorflow, "trueport.sources.tensorflow:TensorflowSource", "a TensorFlow source"),
    Kind("onnx", is_onnx, "trueport.sources.onnx:OnnxSource", "an ONNX source"),
)
"""All forms, in the order in which they are asked."""


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
    found = kind.load()
    return found(model, ops, made_options(found.Options, options or {}, kind.called), limits)


def options_of(model: Any) -> frozenset[str]:
    """Return the names of the options that a source of this form has."""
    return frozenset(_kind_of(model).load().Options.__dataclass_fields__)


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
    return KINDS[-1]


def describe(model: Any, *, trust: bool = False) -> Mapping[str, Any]:
    """Return what ``trueport info`` shows of a model: inputs, outputs, operators, parameters, size."""
    require_to_inspect(_kind_of(model).form)
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
