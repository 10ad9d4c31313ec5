"""Keras files: their configuration is read as plain data, and what would run or read more than the file is refused."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueport.consent.archives import member_names, parse_json, read_member
from trueport.consent.refusing import refuse_without_trust
from trueport.consent.tensorflow_operators import EFFECTS
from trueport.lazy import LazyModule

__all__ = ["KerasFile", "check_keras", "foreign_parts", "read_config", "unknown_classes", "walk"]

keras: Any = LazyModule("keras", "Keras", "tensorflow")
h5py: Any = LazyModule("h5py", "h5py", "tensorflow")

_CONFIG = "config.json"
_OTHERWISE = "import what defines its classes and pass the loaded model itself"
_LOADERS = {
    "TFSMLayer": "loads a SavedModel from another place",
    "TorchModuleWrapper": "unpickles a Python object",
    "JaxLayer": "calls Python",
    "FlaxLayer": "calls Python",
}
_PLACES = ("vocabulary", "idf_weights")
_OF_CLASSES = re.compile(
    r"layers|models|engine|initializers|regularizers|constraints|activations|losses|metrics|optimizers?|dtype_policies"
    r"|mixed_precision|quantizers|ops|random"
)
_OF_FUNCTIONS = ("activations", "losses", "metrics", "ops", "random", "initializers")
_NOT_MODELING = frozenset(("get", "serialize", "deserialize"))
_SYMBOLS = re.compile(
    r"(compat\.v[12]\.)?((math|nn|linalg|image|strings|signal|bitwise|dtypes|quantization|random|sparse|ragged|sets|audio"
    r"|__operators__|experimental\.numpy)\.[\w.]+|\w+)"
)
_SYMBOLS_WITH_EFFECT = re.compile(
    r"(?i)file|load|save|restore|print|py_func|numpy_func|write|read_|queue|session|glob|function$|^eval|summary"
)
_OP_LAYERS = {"TFOpLambda": "function", "ClassMethod": "cls_symbol", "SlicingOpLambda": "function"}


@dataclass(frozen=True)
class KerasFile:
    """A file of Keras."""

    path: Path
    is_archive: bool
    """a zip, by its name, as Keras decides it; else HDF5. The content may be both, so that it must not decide here."""


def check_keras(file: KerasFile) -> None:
    """Refuse a file that has code, or names functions, classes or files beyond Keras and what is registered here."""
    config = read_config(file)
    if isinstance(config, dict):
        # The outer model is not compiled; those inside of it would be.
        config = {key: value for key, value in config.items() if key != "compile_config"}
    reasons = [reason for part in walk(config) for reason in _reasons(part)]
    refuse_without_trust(file.path, [*reasons, *_outside(file)], _OTHERWISE)


def read_config(held: KerasFile) -> Any:
    """Return a file's description of its model as plain data; empty where there is none."""
    path = held.path
    if held.is_archive:
        names = member_names(path)
        with zipfile.ZipFile(path) as archive:
            return parse_json(read_member(archive, _CONFIG, str(path)), str(path), _CONFIG) if _CONFIG in names else {}
    try:
        with h5py.File(path) as file:
            config = file.attrs.get("model_config")
    except OSError:
        return {}  # Keras says what is wrong with it
    return {} if config is None else parse_json(config, str(path), "model_config")


def walk(config: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all objects of a configuration."""
    waiting = [config]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            yield item
            waiting += reversed(list(item.values()))
        elif isinstance(item, list):
            waiting += reversed(item)


def foreign_parts(config: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a configuration whose class or function is of a module that is not Keras'."""
    parts = [part for part in walk(config) if "class_name" in part and part.get("module") and "config" in part]
    return [part for part in parts if not (_is_keras_own(part) or str(part["class_name"]).startswith("__"))]


def unknown_classes(config: Any) -> list[str]:
    """Return classes and functions of the model's author that nobody has registered here."""
    parts = [part for part in walk(config) if "class_name" in part and "config" in part]
    names = {str(part.get("registered_name") or part["class_name"]) for part in parts if not _is_keras_own(part)}
    return sorted(name for name in names if not _in_registry(name))


def _reasons(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield what one object of a configuration would run or read."""
    kind, own = str(part.get("class_name", "")), part.get("config")
    name = own.get("name", part.get("name", "?")) if isinstance(own, Mapping) else part.get("name", "?")
    for key in _PLACES:
        if isinstance(part.get(key), str):
            yield f"{key} {part[key]!r} is read from another file"
    if "class_name" not in part:
        if isinstance(part.get("module"), str) and "function_type" in part and isinstance(own, str):
            yield f"function {part['module']}.{own} is not Keras' own"
        return
    target = _target(part)
    if _has_another_name(part):
        yield f"class {target} would be looked up by its registered_name {part['registered_name']!r}"
    elif kind == "Lambda":
        yield f"layer {name!r} is a Lambda, which runs Python code"
    elif kind == "__lambda__":
        yield "a __lambda__ holds bytecode"
    elif kind in _LOADERS:
        yield f"layer {name!r} is a {kind}, which {_LOADERS[kind]}"
    elif kind in _OP_LAYERS and isinstance(own, Mapping):
        symbol = str(own.get(_OP_LAYERS[kind], ""))
        if not _SYMBOLS.fullmatch(symbol) or _SYMBOLS_WITH_EFFECT.search(symbol):
            yield f"layer {name!r} calls {symbol} of TensorFlow"
    elif kind == "TensorFlowOpLayer":
        yield from (f"layer {name!r} runs the operator {op}" for op in _operators_in(own))
    elif part.get("module") and not (_is_allowed(part) or _is_registered(part)):
        yield f"{'function' if kind == 'function' else 'class'} {target} is neither Keras' own nor registered here"


def _has_another_name(part: Mapping[str, Any]) -> bool:
    """True if Keras 2 would take the class, or function, that ``registered_name`` names in place of the one named."""
    other = part.get("registered_name")
    own = (part["class_name"], part.get("config"))
    return isinstance(other, str) and other.rpartition(">")[2] not in own and not _in_registry(other)


def _operators_in(config: Any) -> list[str]:
    """Return TensorFlow's operators with an effect that a layer of a stored node names, in whatever form."""
    return sorted(set(re.findall(r"\w+", str(config))) & set(EFFECTS) - {"Save", "Restore"})


def _target(part: Mapping[str, Any]) -> str:
    named = part.get("spec_name") if part["class_name"] == "__typespec__" else None
    named = part.get("config") if part["class_name"] == "function" else named
    return f"{part.get('module')}.{named if isinstance(named, str) else part['class_name']}"


def _is_registered(part: Mapping[str, Any]) -> bool:
    """True if the user's own code registered it in this process, and so consented."""
    kind = str(part["class_name"])
    name = part.get("config") if kind == "function" else part.get("registered_name")
    return not kind.startswith("__") and isinstance(name, str) and _in_registry(name)


def _in_registry(name: str) -> bool:
    """True if a class or function was registered with a Keras that is loaded: with no other could it have been."""
    loaded = [sys.modules[library] for library in ("keras", "tf_keras") if library in sys.modules]
    return any(library.saving.get_registered_object(name) is not None for library in loaded)


def _is_allowed(part: Mapping[str, Any]) -> bool:
    """True for layers, initializers, activations and such, by their modules' names alone; no module is imported."""
    kind, module = str(part["class_name"]), str(part["module"])
    root, *rooms = [room for room in module.split(".") if room != "src"]
    name = _target(part).removeprefix(f"{module}.")
    if "." in name:  # Keras 2 looks up attributes of what a module has imported
        return False
    if root == "builtins":
        return kind in ("__tuple__", "__set__", "slice", "type", "dict", "list", "__numpy__", "__tensor__") or (
            kind == "function" and _is_builtin_function(name)
        )
    if root == "tensorflow":
        return kind == "__typespec__" and name.endswith("Spec") and "framework" in rooms
    if root not in ("keras", "tf_keras"):
        return False
    if kind == "function" or name[:1].islower():
        return bool(rooms) and rooms[0] in _OF_FUNCTIONS and name not in _NOT_MODELING
    return not kind.startswith("__") and (not rooms or _OF_CLASSES.fullmatch(rooms[0]) is not None)


def _is_builtin_function(name: str) -> bool:
    spaces = (keras.activations, keras.losses, keras.metrics, keras.initializers)
    return name not in _NOT_MODELING and any(callable(getattr(space, name, None)) for space in spaces)


def _is_keras_own(part: Mapping[str, Any]) -> bool:
    if "module" in part:
        return str(part["module"]).split(".")[0] in ("keras", "tf_keras", "builtins", "None")
    name = str(part["class_name"])
    spaces = (keras.layers, keras.models, keras.initializers, keras.regularizers, keras.constraints, keras)
    return name.startswith("__") or name == "Functional" or any(hasattr(space, name) for space in spaces)


def _outside(held: KerasFile) -> list[str]:
    """Return weights that HDF5 would read from other files."""
    path = held.path
    try:
        if not held.is_archive:
            with h5py.File(path) as file:
                return list(_external(file, "", set()))
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.endswith(".h5")]
            found: list[str] = []
            for name in members:
                with h5py.File(io.BytesIO(read_member(archive, name, str(path)))) as file:
                    found += _external(file, f"{name}: ", set())
            return found
    except OSError:
        return []  # Keras says what is wrong with it


def _external(group: Any, where: str, seen: set[int]) -> Iterator[str]:
    """Yield what a group holds in other files; ``seen`` are addresses of groups, which may hold each other."""
    for name in group:
        link = group.get(name, getlink=True)
        place = f"{where}{group.name}/{name}".replace("//", "/").removeprefix("/")
        if isinstance(link, h5py.ExternalLink):
            yield f"{place!r} is read from the file {link.filename!r}"
        elif isinstance(link, h5py.HardLink):
            held = group[name]
            if isinstance(held, h5py.Dataset) and (held.external or held.is_virtual):
                yield f"{place!r} is read from other files"
            address = h5py.h5o.get_info(held.id).addr
            if isinstance(held, h5py.Group) and address not in seen:
                seen.add(address)
                yield from _external(held, where, seen)
