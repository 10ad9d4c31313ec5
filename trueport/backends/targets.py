"""The forms that models are written in."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from trueport.errors import UsageError
from trueport.requirements import Form
from trueport.stages import Ops, Target, made_options

__all__ = ["TARGETS", "load_target", "make_target"]

TARGETS: Mapping[Form, str] = {
    "tensorflow": "trueport.backends.tensorflow.target:TensorflowTarget",
    "onnx": "trueport.backends.onnx.target:OnnxTarget",
    "tflite": "trueport.backends.tflite.target:TfliteTarget",
}
"""``module:class`` of each; read when a model of the form is to be written."""


def load_target(form: Form) -> type[Target]:
    """Return the class of a form; raises `UsageError` if there is none."""
    if form not in TARGETS:
        raise UsageError(f"there is no target {form!r}", remedy=f"targets: {', '.join(TARGETS)}")
    module, _, name = TARGETS[form].partition(":")
    found: type[Target] = getattr(importlib.import_module(module), name)
    return found


def make_target(form: Form, ops: Ops, options: Mapping[str, Any]) -> Target:
    """Return a target with its options."""
    found = load_target(form)
    return found(ops, made_options(found.Options, options, f"{form} files"))
