"""Keras models: files without running the code they carry, and the inputs and outputs that a model declares."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueport.errors import InvalidModel
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.capture import Captured, Spec, capture, named_specs
from trueport.lazy import LazyModule

__all__ = ["capture_keras", "is_keras_model", "load_keras"]

keras: Any = LazyModule("keras", "Keras", "tensorflow")


def is_keras_model(source: Any) -> bool:
    """A model or a layer of Keras 3 or of tf_keras."""
    roots = [name for name in ("keras", "tf_keras") if name in sys.modules]
    return any(isinstance(source, sys.modules[name].layers.Layer) for name in roots)


def load_keras(path: Path, *, trust: bool) -> Any:
    """A .keras or .h5 file; code in it (Lambda layers) is not run unless it is trusted."""
    _check_backend()
    try:
        return keras.models.load_model(str(path), compile=False, safe_mode=not trust)
    except Exception as error:  # Keras raises many kinds for what a file lacks
        text = " ".join(str(error).split())
        if "safe_mode" in text or "unsafe" in text or "lambda" in text.lower():
            raise InvalidModel(
                "holds Python code (a Lambda layer), which is not run unless you trust the file",
                where=str(path),
                remedy="pass --trust if you know who made it",
            ) from error
        if "custom_object" in text or "Could not locate class" in text or "Unknown layer" in text:
            raise InvalidModel(
                f"uses classes that are not known here: {text[:200]}",
                where=str(path),
                remedy="import what registers them (register_keras_serializable) and pass the model itself",
            ) from error
        raise InvalidModel(f"Keras can't load it: {text[:300]}", where=str(path)) from error


def _check_backend() -> None:
    if keras.backend.backend() != "tensorflow":
        raise InvalidModel(
            f"Keras runs on {keras.backend.backend()}, not on TensorFlow", remedy="set KERAS_BACKEND=tensorflow"
        )


def capture_keras(model: Any, shapes: Mapping[str, Sequence[int | None]]) -> Captured:
    """The model's forward pass in inference mode."""
    if type(model).__module__.split(".")[0] != "tf_keras":
        _check_backend()
    structure, names = _inputs(model)
    specs = named_specs([Spec(names[0] if len(names) == 1 else "", structure)], {}, names)
    takes_training = "training" in getattr(model, "_call_arg_names", ()) or _has_training(model)

    def call(*tensors: Any) -> Any:
        inputs = tf.nest.pack_sequence_as(structure, list(tensors))
        return model(inputs, training=False) if takes_training else model(inputs)

    return capture(call, specs, shapes=shapes, output_names=_output_names(model), held=model)


def _has_training(model: Any) -> bool:
    import inspect

    return "training" in inspect.signature(model.call).parameters


def _inputs(model: Any) -> tuple[Any, list[str]]:
    """The structure of specs that the model is called with, and names for its leaves in their order."""
    symbolic = _symbolic_inputs(model)
    if symbolic is not None:
        leaves = tf.nest.flatten(symbolic)
        names = [_input_name(leaf, index) for index, leaf in enumerate(leaves)]
        return tf.nest.map_structure(_spec_of, symbolic), names
    if not getattr(model, "built", False):
        raise InvalidModel(
            "the model is not built: its input shapes are not known",
            where=str(getattr(model, "name", type(model).__name__)),
            remedy="call it once on real data, or model.build(input_shape)",
        )
    export = importlib.import_module("keras.src.export.export_utils")
    found = export.get_input_signature(model)
    if not found:
        raise InvalidModel("the model does not say what it takes", remedy="call it once on real data")
    structure = found[0] if isinstance(found, (list, tuple)) and len(found) == 1 else found
    specs = tf.nest.map_structure(_spec_of, structure)
    leaves = tf.nest.flatten(specs)
    return specs, [leaf.name or f"input_{index}" for index, leaf in enumerate(leaves)]


def _symbolic_inputs(model: Any) -> Any:
    """The tensors a functional or sequential model was built on, in the structure it is called with."""
    structure = getattr(model, "_inputs_struct", None)
    if structure is None and getattr(model, "_functional", None) is not None:
        structure = model._functional._inputs_struct
    if structure is None and getattr(model, "inputs", None):
        structure = getattr(model, "_nested_inputs", None) or list(model.inputs)
    if isinstance(structure, (list, tuple)) and len(structure) == 1:
        return structure[0]
    return structure


def _input_name(leaf: Any, index: int) -> str:
    return str(getattr(leaf, "name", "") or f"input_{index}").split(":")[0]


def _spec_of(leaf: Any) -> Any:
    name = getattr(leaf, "name", None)
    shape = getattr(leaf, "shape", None)
    return tf.TensorSpec(shape, tf.as_dtype(getattr(leaf, "dtype", "float32")), name=name)


def _output_names(model: Any) -> list[str] | None:
    names = getattr(model, "output_names", None)
    return [str(name) for name in names] if names else None
