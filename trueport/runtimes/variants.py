"""The same artifact executed in other ways that are all right: what differs between them is rounding, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from trueport.runtimes.base import Model
from trueport.runtimes.child import Limits, in_child
from trueport.runtimes.onnxruntime import LEVELS, OnnxRuntimeModel
from trueport.runtimes.tensorflow import FunctionModel
from trueport.runtimes.tflite import TfliteModel, is_tflite

__all__ = ["Variant", "variants"]


@dataclass(frozen=True)
class Variant:
    """One way to execute an artifact; opened only where it is wanted."""

    name: str
    open: Callable[[], Model]


def variants(artifact: Any, model: Model | None = None) -> Iterator[Variant]:
    """All ways known for it: a path, an ONNX model or a TFLite model's bytes; ``model`` is it, loaded already.

    ONNX Runtime at each level of optimization, on one thread and on two; TFLite by each of its sets of kernels;
    TensorFlow compiled by XLA, and, for a SavedModel, without Grappler and without oneDNN, each in a process of its
    own, for these are settings of a whole process.
    """
    if is_tflite(artifact):
        for kernels in ("delegate", "builtin", "reference"):
            yield Variant(f"tflite, {kernels} kernels", lambda k=kernels: TfliteModel(artifact, kernels=k))  # type: ignore[misc]
    elif isinstance(artifact, onnx.ModelProto) or (_is_path(artifact) and Path(artifact).suffix == ".onnx"):
        for level in LEVELS:
            yield Variant(f"onnxruntime, {level}", lambda v=level: OnnxRuntimeModel(artifact, level=v))  # type: ignore[misc]
        for count in (1, 2):
            words = f"onnxruntime, all, {count} thread{'s' * (count > 1)}"
            yield Variant(words, lambda n=count: OnnxRuntimeModel(artifact, level="all", threads=n))  # type: ignore[misc]
    else:
        yield from _tensorflow(artifact, model)


def _tensorflow(artifact: Any, model: Model | None) -> Iterator[Variant]:
    if isinstance(model, FunctionModel):
        yield Variant("tensorflow, XLA", model.compiled)
    if _is_path(artifact) and (Path(artifact) / "saved_model.pb").exists():
        yield Variant("tensorflow, without Grappler", lambda: in_child(artifact, Limits(), grappler=False))
        plain = {"TF_ENABLE_ONEDNN_OPTS": "0"}
        yield Variant("tensorflow, without oneDNN", lambda: in_child(artifact, Limits(), environment=plain))


def _is_path(artifact: Any) -> bool:
    return isinstance(artifact, (str, Path))
