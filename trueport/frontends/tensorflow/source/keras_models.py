"""Keras models: files without running the code they carry, and the inputs and outputs that a model declares."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
import zipfile
from dataclasses import replace
from typing import Any

from trueport.consent.archives import read_member
from trueport.consent.folders import find_modules_here
from trueport.consent.keras_files import KerasFile, check_keras, foreign_parts, read_config, unknown_classes
from trueport.errors import InvalidModel
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.capture import Border, Captured, Spec, capture, named_specs
from trueport.ir.files import check_regular
from trueport.lazy import LazyModule
from trueport.quoting import one_line

__all__ = ["capture_keras", "is_keras_model", "load_keras"]

keras: Any = LazyModule("keras", "Keras", "tensorflow")
tf_keras: Any = LazyModule("tf_keras", "tf_keras, which is Keras 2", "tensorflow")
h5py: Any = LazyModule("h5py", "h5py", "tensorflow")


def is_keras_model(source: Any) -> bool:
    """A model or a layer of Keras 3 or of tf_keras."""
    roots = [name for name in ("keras", "tf_keras") if name in sys.modules]
    return any(isinstance(source, sys.modules[name].layers.Layer) for name in roots)


def load_keras(file: KerasFile, *, trust: bool) -> Any:
    """A .keras or .h5 file; what would run code or read other files is refused unless it is trusted.

    What Keras 2 wrote is read by tf_keras where that is installed, else by Keras 3, which reads most of it.
    """
    path = file.path
    check_regular(path)
    if file.is_archive and not zipfile.is_zipfile(path):
        raise InvalidModel("is no .keras file, or is cut short", where=str(path), remedy="save or fetch it again")
    if trust:
        find_modules_here()
    else:
        check_keras(file)
    library = keras
    if _written_by_keras_2(file) and importlib.util.find_spec("tf_keras") is not None:
        library = tf_keras
    else:
        _check_backend()
    known = _imported_classes(read_config(file)) if trust else {}
    try:
        return library.models.load_model(str(path), custom_objects=known, compile=False, safe_mode=not trust)
    except Exception as error:  # Keras raises many kinds for what a file lacks
        unknown = unknown_classes(read_config(file))
        if not unknown:
            old = library is keras and _written_by_keras_2(file)
            raise InvalidModel(
                f"Keras can't load it: {one_line(error, 300)}",
                where=str(path),
                remedy="Keras 2 wrote it: pip install tf_keras" if old else "",
            ) from error
        raise InvalidModel(
            "; ".join(f"uses {name!r}, which is not known here" for name in unknown),
            where=str(path),
            remedy="import what defines the classes and pass the loaded model itself",
        ) from error


def _imported_classes(config: Any) -> dict[str, Any]:
    """Return the classes and functions of other modules that a trusted file names: Keras 3 imports none by itself."""
    found = {}
    for part in foreign_parts(config):
        name = str(part["config"] if part["class_name"] == "function" else part["class_name"])
        try:
            module = importlib.import_module(str(part["module"]))
        except ImportError:
            continue  # Keras says which class it lacks
        if hasattr(module, name):
            found[str(part.get("registered_name") or name)] = getattr(module, name)
    return found


def _written_by_keras_2(held: KerasFile) -> bool:
    path = held.path
    try:
        if held.is_archive:
            with zipfile.ZipFile(path) as archive:
                version = json.loads(read_member(archive, "metadata.json", str(path)))["keras_version"]
        else:
            with h5py.File(path) as file:
                version = file.attrs["keras_version"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return False  # Keras says what is wrong with it
    return str(version).startswith("2.")


def _check_backend() -> None:
    if keras.backend.backend() != "tensorflow":
        raise InvalidModel(
            f"Keras runs on {keras.backend.backend()}, not on TensorFlow",
            remedy="set KERAS_BACKEND=tensorflow in the environment",
        )


def capture_keras(model: Any, border: Border) -> Captured:
    """The model's forward pass in inference mode."""
    if not _is_keras_2(model):
        _check_backend()
    arguments, names = _arguments(model)
    specs = [replace(spec, dims=("batch",)) for spec in named_specs(arguments, {}, names)]
    structures = [argument.spec for argument in arguments]
    takes_training = "training" in getattr(model, "_call_arg_names", ()) or _has_training(model)

    def call(*tensors: Any) -> Any:
        inputs = tf.nest.pack_sequence_as(structures, list(tensors))
        return model(*inputs, training=False) if takes_training else model(*inputs)

    return capture(call, specs, border=border, output_names=_output_names(model), held=model)


def _has_training(model: Any) -> bool:
    return "training" in inspect.signature(model.call).parameters


def _arguments(model: Any) -> tuple[list[Spec], list[str]]:
    """What the model is called with: per argument a structure of specs; and names for the leaves, where they have."""
    symbolic = _symbolic_inputs(model)
    if symbolic is not None:
        names = [_input_name(leaf, index) for index, leaf in enumerate(tf.nest.flatten(symbolic))]
        return [Spec("", tf.nest.map_structure(_spec_of, symbolic))], names
    if not getattr(model, "built", False):
        raise InvalidModel(
            "the model is not built: its input shapes are not known",
            where=str(getattr(model, "name", type(model).__name__)),
            remedy="call it once on real data, or model.build(input_shape)",
        )
    try:
        found = _input_signature(model)
    except (TypeError, ValueError) as error:
        raise InvalidModel(
            f"the model does not say what it takes: {one_line(error, 200)}",
            where=str(getattr(model, "name", type(model).__name__)),
            remedy="call it once on real data, or pass a tf.function with a signature that calls it",
        ) from error
    structures = [tf.nest.map_structure(_spec_of, argument) for argument in found]
    names = list(inspect.signature(model.call).parameters)
    alone = len(structures) == 1 and tf.nest.is_nested(structures[0])
    return [Spec("" if alone else name, spec) for name, spec in zip(names, structures, strict=False)], []


def _input_signature(model: Any) -> Any:
    """What a subclassed model was called with, as Keras remembers it."""
    if _is_keras_2(model):
        arguments, _ = model.save_spec() or (None, None)
        if arguments is None:
            raise ValueError("it was built, but never called")
        return arguments
    return importlib.import_module("keras.src.export.export_utils").get_input_signature(model)


def _is_keras_2(model: Any) -> bool:
    """Whether it is tf_keras': the class itself, or one that the user derived from it."""
    return any(kind.__module__.split(".")[0] == "tf_keras" for kind in type(model).__mro__)


def _symbolic_inputs(model: Any) -> Any:
    """The tensors a functional or sequential model was built on, in the structure it is called with."""
    structure = getattr(model, "_inputs_struct", None)
    if structure is None and getattr(model, "_functional", None) is not None:
        structure = model._functional._inputs_struct
    if structure is None and getattr(model, "inputs", None):
        nested = getattr(model, "_nested_inputs", None)  # of tf_keras; a symbolic tensor has no truth value
        structure = list(model.inputs) if nested is None else nested
    if isinstance(structure, (list, tuple)) and len(structure) == 1:
        return structure[0]
    return structure


def _input_name(leaf: Any, index: int) -> str:
    return str(getattr(leaf, "name", "") or f"input_{index}").split(":")[0]


def _spec_of(leaf: Any) -> Any:
    shape = getattr(leaf, "shape", None)
    dtype = tf.as_dtype(getattr(leaf, "dtype", "float32"))
    if getattr(leaf, "sparse", False):
        return tf.SparseTensorSpec(shape, dtype)
    if getattr(leaf, "ragged", False):
        return tf.RaggedTensorSpec(shape, dtype)
    return tf.TensorSpec(shape, dtype)


def _output_names(model: Any) -> list[str] | None:
    names = getattr(model, "output_names", None) or getattr(getattr(model, "_functional", None), "output_names", None)
    return [str(name) for name in names] if names else None
