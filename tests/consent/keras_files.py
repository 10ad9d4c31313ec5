"""Hostile Keras files: bytecode, modules and functions that a configuration names, and paths in layers."""

from __future__ import annotations

import base64
import functools
import importlib
import io
import json
import os
import pickle
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py

from tests.consent.case import Command, Hostile, Payload, of_model, touch

__all__ = ["FILES"]

Edit = Callable[[dict[str, Any], Path], object]
CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"


@functools.cache
def _members(library: str) -> Mapping[str, bytes]:
    """Return the members of an honest .keras file of a functional model."""
    keras: Any = importlib.import_module(library)
    x = keras.Input((2,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, name="y")(x))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.keras")
        with zipfile.ZipFile(f"{folder}/model.keras") as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def _write(file: Path, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _keras(edit: Edit, *, library: str = "keras") -> Callable[[Path, Path], list[Command]]:
    """Return a .keras file whose configuration was edited; ``library`` is what the file claims to be made by."""

    def build(folder: Path, canary: Path) -> list[Command]:
        members, file = dict(_members(library)), folder / "model.keras"
        config = json.loads(members[CONFIG])
        edit(config, canary)
        _write(file, members | {CONFIG: json.dumps(config).encode()})
        return of_model(file)

    return build


def _h5(edit: Edit, version: str, *, library: str = "tf_keras", suffix: str = ".h5") -> Callable[..., list[Command]]:
    def build(folder: Path, canary: Path) -> list[Command]:
        file = folder / f"model{suffix}"
        config = json.loads(_members(library)[CONFIG])
        edit(config, canary)
        with h5py.File(file, "w") as content:
            content.attrs["model_config"] = json.dumps(config)
            content.attrs["keras_version"], content.attrs["backend"] = version, "tensorflow"
            content.create_group("model_weights").attrs["layer_names"] = []
        return of_model(file)

    return build


def _dense(config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = config["config"]["layers"][1]["config"]
    return found


def _lambda_of(library: str) -> Edit:
    """Return an edit that puts a Lambda layer with bytecode in the place of the Dense layer."""

    def edit(config: dict[str, Any], canary: Path) -> None:
        keras: Any = importlib.import_module(library)
        scope: dict[str, Any] = {}
        exec(f"made = lambda x: (__import__('os').system({touch(canary)!r}), x)[1]", scope)
        layer = keras.layers.Lambda(scope["made"], output_shape=(2,), name="y")
        saved = json.loads(keras.saving.serialize_keras_object(layer) and json.dumps(layer.get_config()))
        config["config"]["layers"][1] |= {"class_name": "Lambda", "config": saved}

    return edit


def _activation(value: Any) -> Edit:
    return lambda config, _: _dense(config).update(activation=value)


def _function(module: str, name: str) -> dict[str, Any]:
    return {"module": module, "class_name": "function", "config": name, "registered_name": name}


def _called(module: str, name: str, argument: Callable[[Path], str]) -> Edit:
    """Return an edit that makes a layer of a function, which is called with a constant."""

    def edit(config: dict[str, Any], canary: Path) -> None:
        node = {"args": [argument(canary)], "kwargs": {}}
        config["config"]["layers"].append({**_function(module, name), "name": "evil", "inbound_nodes": [node]})

    return edit


def _called_by_keras_2(module: str, name: str) -> Edit:
    def edit(config: dict[str, Any], canary: Path) -> None:
        node = [["_CONSTANT_VALUE", -1, touch(canary), {}]]
        config["config"]["layers"].append({**_function(module, name), "name": "evil", "inbound_nodes": [node]})

    return edit


def _spec(config: dict[str, Any], canary: Path) -> None:
    """A type spec is called with what stands in its configuration."""
    _dense(config)["kernel_initializer"] = {
        "class_name": "__typespec__",
        "spec_name": "system",
        "module": "os",
        "config": [touch(canary)],
        "registered_name": None,
    }


def _operation(symbol: str) -> Edit:
    """Return an edit that adds a layer of Keras 2 which calls a function of TensorFlow with constants."""

    def edit(config: dict[str, Any], canary: Path) -> None:
        layer = {"class_name": "TFOpLambda", "name": "evil", "config": {"name": "evil", "function": symbol}}
        node = ["_CONSTANT_VALUE", -1, str(canary), {"contents": "x"}]
        config["config"]["layers"].append({**layer, "inbound_nodes": [node]})

    return edit


def _stored_node(config: dict[str, Any], canary: Path) -> None:
    node = 'name: "w" op: "WriteFile" input: "a" input: "b"'
    inner = {"name": "evil", "node_def": node, "constants": {"0": str(canary), "1": "x"}}
    layer = {"class_name": "TensorFlowOpLayer", "name": "evil", "config": inner}
    config["config"]["layers"].append({**layer, "inbound_nodes": [[["x", 0, 0, {}]]]})


def _lambda_by_name(config: dict[str, Any], canary: Path) -> None:
    function = {"function": "system", "function_type": "function", "module": "os", "arguments": {}}
    config["config"]["layers"][1] |= {"class_name": "Lambda", "config": {"name": "y", **function}}


def _issue(config: dict[str, Any], canary: Path) -> None:
    function = {"class_name": "function", "function_type": "function", "module": "os", "config": "system"}
    config["config"]["layers"][1] |= {"class_name": "Lambda", "config": {"name": "y", "function": function}}


def _layer(name: str, module: str = "keras.layers", **config: Any) -> Edit:
    def edit(model: dict[str, Any], canary: Path) -> None:
        words = {key: str(canary) if value is Path else value for key, value in config.items()}
        made = {"module": module, "class_name": name, "config": {"name": "evil", **words}, "registered_name": None}
        model["config"]["layers"].append({**made, "name": "evil", "inbound_nodes": []})

    return edit


def _wrapped(config: dict[str, Any], canary: Path) -> None:
    module = base64.b64encode(pickle.dumps(Payload(canary))).decode()
    _layer("TorchModuleWrapper", module=module, output_shape=[1])(config, canary)


def _registered(config: dict[str, Any], canary: Path) -> None:
    made = {"module": "subprocess", "class_name": "Popen", "config": {"args": touch(canary), "shell": True}}
    _dense(config)["kernel_initializer"] = {**made, "registered_name": "GlorotUniform"}


def _lambda_by_registered_name(config: dict[str, Any], canary: Path) -> None:
    """Keras 2 looks for ``registered_name`` in the module if ``class_name`` is not there."""
    _lambda_of("tf_keras")(config, canary)
    config["config"]["layers"][1] |= {"module": "keras.layers", "class_name": "None", "registered_name": "Lambda"}


def _function_of_an_import(config: dict[str, Any], canary: Path) -> None:
    """Keras 2 looks up names with one dot in what a module has imported."""
    _activation(_function("keras.activations", "sys.exit"))(config, canary)


def _compiled(config: dict[str, Any], canary: Path) -> None:
    """A model inside of the model is compiled even if the outer one is not."""
    inner = json.loads(json.dumps(config))
    inner["compile_config"] = {"loss": {"class_name": "__typespec__", "spec_name": "system", "module": "os"}}
    inner["compile_config"]["loss"] |= {"config": [touch(canary)], "registered_name": None}
    inner["config"]["name"] = "inner"
    config["config"]["layers"].append({**inner, "name": "inner", "inbound_nodes": []})


def _external(folder: Path, canary: Path) -> list[Command]:
    """Weights that stand in another file of the machine."""
    file, members = folder / "model.keras", dict(_members("keras"))
    weights = io.BytesIO(members[WEIGHTS])
    with h5py.File(weights, "a") as content:
        content["layers/dense/vars"].pop("0") if "layers/dense/vars/0" in content else None
        content["layers/evil"] = h5py.ExternalLink("/etc/hostname", "/")
    _write(file, members | {WEIGHTS: weights.getvalue()})
    return of_model(file)


def _external_h5(folder: Path, canary: Path) -> list[Command]:
    commands = _h5(lambda *_: None, "2.15.0")(folder, canary)
    with h5py.File(folder / "model.h5", "a") as content:
        content.create_dataset("model_weights/k", (4,), "u1", external=[("/etc/hostname", 0, 4)])
    return commands


def _traversing(name: str) -> Callable[[Path, Path], list[Command]]:
    def build(folder: Path, canary: Path) -> list[Command]:
        file = folder / "model.keras"
        place = str(canary) if name == "absolute" else os.path.relpath(canary, tempfile.gettempdir() + "/a")
        _write(file, {**_members("tf_keras"), f"assets/{place}" if name == "assets" else place: b"x"})
        return of_model(file)

    return build


def _link(folder: Path, canary: Path) -> list[Command]:
    file = folder / "model.keras"
    _write(file, _members("tf_keras"))
    with zipfile.ZipFile(file, "a") as archive:
        member = zipfile.ZipInfo("assets")
        member.external_attr = 0o120777 << 16
        archive.writestr(member, "/etc")
    return of_model(file)


def _two_configurations(folder: Path, canary: Path) -> list[Command]:
    file, members = folder / "model.keras", dict(_members("tf_keras"))
    config = json.loads(members[CONFIG])
    _spec(config, canary)
    _write(file, members | {CONFIG: json.dumps(config).encode()})
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(CONFIG, members[CONFIG])
    return of_model(file)


def _bomb(folder: Path, canary: Path) -> list[Command]:
    """Return a configuration of 2 GB of spaces; only the list of members says so, which is enough."""
    file = folder / "model.keras"
    _write(file, {**_members("keras"), CONFIG: b" " * 12_345})
    content = file.read_bytes()
    listed = content.rindex(b"PK\x01\x02", 0, content.rindex(CONFIG.encode()))
    file.write_bytes(content[: listed + 24] + (2**31).to_bytes(4, "little") + content[listed + 28 :])
    return of_model(file)


def _deep(folder: Path, canary: Path) -> list[Command]:
    file = folder / "model.keras"
    _write(file, {**_members("keras"), CONFIG: b"[" * 200_000})
    return of_model(file)


FILES = [
    Hostile("keras-lambda", _keras(_lambda_of("keras")), "Lambda"),
    Hostile("keras-2-lambda", _keras(_lambda_of("tf_keras"), library="tf_keras"), "Lambda"),
    Hostile("keras-lambda-as-keras-2", _keras(_lambda_of("keras"), library="tf_keras"), "Lambda"),
    Hostile("h5-lambda-of-keras-2", _h5(_lambda_of("tf_keras"), "2.15.0"), "Lambda"),
    Hostile("h5-lambda-of-keras-3", _h5(_lambda_of("keras"), "3.15.1", library="keras"), "Lambda"),
    Hostile("hdf5-lambda", _h5(_lambda_of("tf_keras"), "2.15.0", suffix=".hdf5"), "Lambda"),
    Hostile("h5-lambda-by-name", _h5(_lambda_by_name, "2.15.0"), "Lambda"),
    Hostile("h5-type-spec", _h5(_spec, "2.15.0"), "os.system"),
    Hostile("keras-2-function-of-os", _keras(_issue, library="tf_keras"), "os.system"),
    Hostile("keras-2-called-function", _keras(_called_by_keras_2("os", "system"), library="tf_keras"), "os.system"),
    Hostile("keras-2-type-spec", _keras(_spec, library="tf_keras"), "os.system"),
    Hostile("keras-2-popen", _keras(_registered, library="tf_keras"), "subprocess.Popen"),
    Hostile("keras-2-nested-compile", _keras(_compiled, library="tf_keras"), "os.system"),
    Hostile("keras-2-registered-lambda", _keras(_lambda_by_registered_name, library="tf_keras"), "'Lambda'"),
    Hostile("keras-2-import-of-a-module", _keras(_function_of_an_import, library="tf_keras"), "sys.exit"),
    Hostile("h5-operation-layer", _h5(_operation("io.write_file"), "2.15.0"), "io.write_file"),
    Hostile("h5-operation-that-deletes", _h5(_operation("io.gfile.rmtree"), "2.15.0"), "io.gfile.rmtree"),
    Hostile("h5-stored-node", _h5(_stored_node, "2.15.0"), "WriteFile"),
    Hostile("keras-called-function", _keras(_called("os", "system", touch)), "os.system"),
    Hostile("keras-type-spec", _keras(_spec), "os.system"),
    Hostile("keras-function-of-os", _keras(_activation(_function("os", "system"))), "os.system"),
    Hostile("keras-eval", _keras(_called("builtins", "eval", lambda c: f"open({str(c)!r}, 'w')")), "eval"),
    Hostile("keras-get-file", _keras(_activation(_function("keras.utils", "get_file"))), "keras.utils.get_file"),
    Hostile("keras-load-model", _keras(_called("keras.models", "load_model", str)), "keras.models.load_model"),
    Hostile(
        "keras-unsafe-switch",
        _keras(_called("keras.config", "enable_unsafe_deserialization", str)),
        "keras.config.enable_unsafe_deserialization",
    ),
    Hostile("keras-registered-name", _keras(_registered), "subprocess.Popen"),
    Hostile("keras-torch-module", _keras(_wrapped), "TorchModuleWrapper"),
    Hostile("keras-saved-model-layer", _keras(_layer("TFSMLayer", filepath=Path)), "TFSMLayer"),
    Hostile("keras-vocabulary-path", _keras(_layer("StringLookup", vocabulary="/etc/passwd")), "/etc/passwd"),
    Hostile("keras-2-vocabulary-path", _h5(_layer("TextVectorization", vocabulary="/etc/passwd"), "2.15.0"), "/etc/"),
    Hostile("keras-nested-compile", _keras(_compiled), "os.system"),
    Hostile("keras-external-weights", _external, "layers/evil"),
    Hostile("h5-external-weights", _external_h5, "model_weights/k"),
    Hostile("keras-member-above", _traversing("above"), "..", consent=False),
    Hostile("keras-member-absolute", _traversing("absolute"), "canary", consent=False),
    Hostile("keras-asset-above", _traversing("assets"), "..", consent=False),
    Hostile("keras-member-link", _link, "assets", consent=False),
    Hostile("keras-two-configurations", _two_configurations, CONFIG, consent=False),
    Hostile("keras-bomb", _bomb, "would unpack to", consent=False),
    Hostile("keras-deep-configuration", _deep, CONFIG, consent=False),
]
