"""Of which form a model is, by its name on disk or the package of its class. No other room looks at either.

Loads no framework: one need not be installed to know that a model is not its.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from trueport.runtimes.lite import MAGIC

__all__ = [
    "is_exported",
    "is_factory",
    "is_onnx",
    "is_path",
    "is_tensorflow",
    "is_tflite",
    "is_torch",
    "kind_of_tensorflow_file",
]

_TORCH_FILES = (".pt2", ".pt", ".pth", ".ts")
_TORCH_CLASSES = {"torch.nn.modules.module.Module", "torch.export.exported_program.ExportedProgram"}
_FACTORY = re.compile(r"[\w.]+:[\w.]+")
_KERAS_FILES = (".keras", ".h5", ".hdf5")
_TENSORFLOW_FILES = (*_KERAS_FILES, ".pb", ".pbtxt", ".meta")
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")
_TENSORFLOW_PACKAGES = {"tensorflow", "keras", "tf_keras"}


def is_path(model: Any) -> bool:
    """True for what names a file, a folder or a factory."""
    return isinstance(model, (str, Path))


def is_torch(model: Any) -> bool:
    """True for a file of PyTorch, a factory's name, a module or an exported program."""
    if is_path(model):
        return Path(model).suffix in _TORCH_FILES or is_factory(model)
    return bool({f"{kind.__module__}.{kind.__name__}" for kind in type(model).__mro__} & _TORCH_CLASSES)


def is_factory(model: Any) -> bool:
    """True for ``package.module:function``."""
    return is_path(model) and _FACTORY.fullmatch(str(model)) is not None


def is_exported(model: Any) -> bool:
    """True for an exported program, which has an example of its inputs, or the usual name of its file."""
    return type(model).__name__ == "ExportedProgram" or (is_path(model) and Path(model).suffix == ".pt2")


def is_tensorflow(model: Any) -> bool:
    """True for a SavedModel, a file of Keras or of TensorFlow 1, or an object of one of their classes."""
    if is_path(model):
        is_saved = any((Path(model) / name).is_file() for name in _SAVED_MODEL)
        return is_saved or Path(model).suffix in _TENSORFLOW_FILES
    return bool({kind.__module__.split(".")[0] for kind in type(model).__mro__} & _TENSORFLOW_PACKAGES)


def kind_of_tensorflow_file(path: Path) -> str:
    """Return what a file or folder of TensorFlow's is: keras_archive, hdf5, meta_graph, graph or saved_model."""
    if path.suffix in _KERAS_FILES:
        return "keras_archive" if path.suffix == ".keras" else "hdf5"
    if path.is_dir():
        return "saved_model"
    return "meta_graph" if path.suffix == ".meta" else "graph"


def is_tflite(model: Any) -> bool:
    """True for a .tflite file, or the bytes of one."""
    if isinstance(model, (bytes, bytearray)):
        return bytes(model[4:8]) == MAGIC
    return is_path(model) and Path(model).suffix == ".tflite"


def is_onnx(model: Any) -> bool:
    """True for an ONNX file, a zip that holds one, or an ONNX model in memory."""
    if is_path(model):
        return Path(model).suffix in (".onnx", ".zip")
    return isinstance(model, (onnx.ModelProto, ir.Model))
