"""Hostile files in disguise: another ending, another encoding, another reader, parts of a file that disagree."""

from __future__ import annotations

import base64
import io
import json
import marshal
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import tensorflow as tf
import torch
from google.protobuf import text_format
from onnx import TensorProto
from tensorflow.core.protobuf import saved_model_pb2

from tests.consent.case import Command, Payload, of_model, touch
from tests.consent.keras_files import CONFIG, WEIGHTS, _members
from tests.consent.onnx_files import relu

__all__ = ["FILES"]

Build = Callable[[Path, Path], list[Command]]
_SPEC = tf.TensorSpec([None, 2], tf.float32, name="x")


def _zip(file: Path, members: Mapping[str, bytes], **options: Any) -> Path:
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


def _code(canary: Path) -> dict[str, Any]:
    """Return a lambda as Keras 3 stores it."""
    made = compile(f"lambda x: (__import__('os').system({touch(canary)!r}), x)[1]", "evil", "eval")
    held = base64.b64encode(marshal.dumps(made.co_consts[0])).decode()
    return {"class_name": "__lambda__", "config": {"code": held, "defaults": None, "closure": None}}


def _config(library: str, edit: Callable[[dict[str, Any], Path], object], canary: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(_members(library)[CONFIG])
    edit(config, canary)
    return config


def _lambda_layer(canary: Path, **more: Any) -> dict[str, Any]:
    return {
        "module": "keras.layers",
        "class_name": "Lambda",
        "registered_name": None,
        "config": {"name": "y", "function": _code(canary), "output_shape": [2], "arguments": {}},
        **more,
    }


def _as_layer(config: dict[str, Any], canary: Path) -> None:
    config["config"]["layers"][1] |= _lambda_layer(canary)


def _keras(edit: Callable[[dict[str, Any], Path], object], library: str = "keras", **options: Any) -> Build:
    def build(folder: Path, canary: Path) -> list[Command]:
        text = json.dumps(_config(library, edit, canary)).encode()
        return of_model(_zip(folder / "m.keras", dict(_members(library)) | {CONFIG: text}, **options))

    return build


def _dense(key: str, value: Callable[[Path], Any]) -> Callable[[dict[str, Any], Path], object]:
    return lambda config, canary: config["config"]["layers"][1]["config"].update({key: value(canary)})


def _wrapped(kind: str) -> Callable[[dict[str, Any], Path], object]:
    def edit(config: dict[str, Any], canary: Path) -> None:
        layer = {"module": "keras.layers", "class_name": kind, "registered_name": None}
        config["config"]["layers"][1] |= {**layer, "config": {"name": "y", "layer": _lambda_layer(canary)}}

    return edit


def _named(**names: Any) -> Callable[[dict[str, Any], Path], object]:
    """A Lambda under another name."""
    return lambda config, canary: config["config"]["layers"][1].update(_lambda_layer(canary, **names))


def _module_beside(config: dict[str, Any], canary: Path) -> None:
    """A class of a module in the model's own folder, which would be executed when it is imported."""
    folder = canary.parent / "folder"
    (folder / "layers_beside.py").write_text(f"import os\nos.system({touch(canary)!r})\n")
    config["config"]["layers"][1] |= {
        "module": "layers_beside",
        "class_name": "L",
        "registered_name": "layers_beside>L",
    }


def _wide_text(folder: Path, canary: Path) -> list[Command]:
    text = json.dumps(_config("keras", _as_layer, canary)).encode("utf-16")
    return of_model(_zip(folder / "m.keras", dict(_members("keras")) | {CONFIG: text}))


def _repeated_keys(folder: Path, canary: Path) -> list[Command]:
    """The first of two keys is honest."""
    text = json.dumps(_config("keras", _as_layer, canary)).replace(
        '"class_name": "Lambda"', '"class_name": "Dense", "class_name": "Lambda"'
    )
    return of_model(_zip(folder / "m.keras", dict(_members("keras")) | {CONFIG: text.encode()}))


def _weights_as_pickles(folder: Path, canary: Path) -> list[Command]:
    """Weights as .npz, which Keras reads too, that hold an object."""
    content = io.BytesIO()
    np.savez(content, __root__=np.array(Payload(canary), object), allow_pickle=True)
    members = {name: held for name, held in _members("keras").items() if name != WEIGHTS}
    return of_model(_zip(folder / "m.keras", members | {"model.weights.npz": content.getvalue()}))


def _renamed_local_header(folder: Path, canary: Path) -> list[Command]:
    """The list of members says config.json where the member itself says another name."""
    text = json.dumps(_config("keras", _as_layer, canary)).encode()
    file = _zip(folder / "m.keras", dict(_members("keras")) | {CONFIG: text})
    content = file.read_bytes()
    file.write_bytes(content.replace(CONFIG.encode(), b"honest.json", 1))
    return of_model(file)


def _encrypted(folder: Path, canary: Path) -> list[Command]:
    """The bit that says that a member is encrypted, in its header and in the list of members."""
    text = json.dumps(_config("keras", _as_layer, canary)).encode()
    file = _zip(folder / "m.keras", {CONFIG: text})
    content = bytearray(file.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(content)
    return of_model(file)


def _broken_checksum(folder: Path, canary: Path) -> list[Command]:
    text = json.dumps(_config("keras", _as_layer, canary)).encode()
    file = _zip(folder / "m.keras", dict(_members("keras")) | {CONFIG: text})
    file.write_bytes(file.read_bytes().replace(b'"name": "y"', b'"name": "z"', 1))
    return of_model(file)


def _data_in_memory(folder: Path, canary: Path) -> list[Command]:
    """External data whose location means an address to ONNX Runtime, and is a file as well."""
    place = "*/_ORT_MEM_ADDR_/*"
    (folder / place).parent.mkdir(parents=True)
    (folder / place).write_bytes(bytes(64))
    model = relu()
    weight = model.graph.initializer[0]
    weight.ClearField("float_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", place), ("offset", "16"), ("length", "8")):
        weight.external_data.add(key=key, value=value)
    file = folder / "m.onnx"
    file.write_bytes(model.SerializeToString())
    return [("info", file), ("check", file), ("run", file), ("verify", file, folder / "other.onnx")]


def _behind_another_zip(folder: Path, canary: Path) -> list[Command]:
    honest = _zip(folder / "honest.keras", _members("keras")).read_bytes()
    text = json.dumps(_config("keras", _as_layer, canary)).encode()
    file = _zip(folder / "m.keras", dict(_members("keras")) | {CONFIG: text})
    file.write_bytes(honest + file.read_bytes())
    return of_model(file)


def _with_other_ending(suffix: str) -> Build:
    """A .keras file with a Lambda under an ending of another format."""

    def build(folder: Path, canary: Path) -> list[Command]:
        text = json.dumps(_config("keras", _as_layer, canary)).encode()
        return of_model(_zip(folder / f"m{suffix}", dict(_members("keras")) | {CONFIG: text}))

    return build


def _h5(file: Path, config: Any, version: str = "2.15.0") -> Any:
    content = h5py.File(file, "w")
    content.attrs["model_config"], content.attrs["keras_version"] = json.dumps(config), version
    content.attrs["backend"] = "tensorflow"
    return content


def _h5_as_keras(folder: Path, canary: Path) -> list[Command]:
    _h5(folder / "m.keras", _config("tf_keras", _as_layer, canary)).close()
    return of_model(folder / "m.keras")


def _h5_unknown_version(folder: Path, canary: Path) -> list[Command]:
    with _h5(folder / "m.h5", _config("tf_keras", _as_layer, canary), "") as content:
        del content.attrs["keras_version"]
    return of_model(folder / "m.h5")


def _h5_with_data_before(folder: Path, canary: Path) -> list[Command]:
    """HDF5 allows for a block of the user's own before the file's start."""
    with h5py.File(folder / "m.h5", "w", userblock_size=512) as content:
        content.attrs["model_config"] = json.dumps(_config("tf_keras", _as_layer, canary))
        content.attrs["keras_version"], content.attrs["backend"] = "2.15.0", "tensorflow"
    return of_model(folder / "m.h5")


def _h5_weights(lay: Callable[[Any, Path], object]) -> Build:
    def build(folder: Path, canary: Path) -> list[Command]:
        with _h5(folder / "m.h5", json.loads(_members("tf_keras")[CONFIG])) as content:
            lay(content.create_group("model_weights"), folder)
        return of_model(folder / "m.h5")

    return build


def _soft_link(group: Any, folder: Path) -> None:
    with h5py.File(folder / "secret.h5", "w") as other:
        other["k"] = np.ones(2)
    group["inner"] = h5py.ExternalLink(str(folder / "secret.h5"), "/k")
    group["k"] = h5py.SoftLink("/model_weights/inner")


def _virtual(group: Any, folder: Path) -> None:
    layout = h5py.VirtualLayout((2,), "f4")
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "k", (2,))
    group.create_virtual_dataset("k", layout)


def _raw_file(group: Any, folder: Path) -> None:
    group.create_dataset("k", (8,), "u1", external=[("/etc/hostname", 0, 8)])


def _saved(folder: Path, canary: Path) -> Path:
    @tf.function(input_signature=[_SPEC], autograph=False)
    def call(x: Any) -> Any:
        tf.io.write_file(str(canary), "x")
        return {"y": x + 1.0}

    module = tf.Module()
    module.call = call
    tf.saved_model.save(module, str(folder / "m"), signatures=call)
    return folder / "m"


def _stored(file: Path) -> Any:
    stored = saved_model_pb2.SavedModel()
    stored.ParseFromString((file / "saved_model.pb").read_bytes())
    return stored


def _as_text(folder: Path, canary: Path) -> list[Command]:
    """A graph as text, beside which there is none in bytes."""
    file = _saved(folder, canary)
    (file / "saved_model.pbtxt").write_text(text_format.MessageToString(_stored(file)))
    (file / "saved_model.pb").unlink()
    return of_model(file)


def _second_graph(folder: Path, canary: Path) -> list[Command]:
    """The first graph is of tags that nobody loads."""
    file = _saved(folder, canary)
    stored = _stored(file)
    stored.meta_graphs.add().CopyFrom(stored.meta_graphs[0])
    del stored.meta_graphs[0].graph_def.node[:]
    del stored.meta_graphs[0].graph_def.library.function[:]
    stored.meta_graphs[0].meta_info_def.tags[:] = ["other"]
    (file / "saved_model.pb").write_bytes(stored.SerializeToString())
    return of_model(file)


def _other_name(folder: Path, canary: Path) -> list[Command]:
    """The function that writes is renamed to one that saves variables."""
    file = _saved(folder, canary)
    content = (file / "saved_model.pb").read_bytes()
    stored = saved_model_pb2.SavedModel()
    stored.ParseFromString(content)
    library = stored.meta_graphs[0].graph_def.library
    for function in library.function:
        if any(node.op == "WriteFile" for node in function.node_def):
            function.attr["_construction_context"].s = b"kEagerRuntime"
            for node in function.node_def:
                node.name = f"save/{node.name}" if node.op == "WriteFile" else node.name
            for controlled in function.control_ret:
                function.control_ret[controlled] = f"save/{function.control_ret[controlled]}"
    (file / "saved_model.pb").write_bytes(stored.SerializeToString())
    return of_model(file)


def _graph(op: str, **attributes: Any) -> Build:
    """A frozen graph in which the output waits for an operator."""

    def build(folder: Path, canary: Path) -> list[Command]:
        graph = tf.Graph()
        with graph.as_default():
            x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
            made = getattr(tf.raw_ops, op)(**{k: v(str(canary)) if callable(v) else v for k, v in attributes.items()})
            with tf.control_dependencies([made]):
                tf.identity(x, name="y")
        (folder / "m.pb").write_bytes(graph.as_graph_def().SerializeToString())
        return of_model(folder / "m.pb", info=False, words=("--inputs", "x:0", "--outputs", "y:0"))

    return build


def _torch_zip(name: str, members: Callable[[Path], Mapping[str, bytes]], **options: Any) -> Build:
    def build(folder: Path, canary: Path) -> list[Command]:
        file = _zip(folder / name, members(canary), **options)
        return of_model(file, info=False, words=() if name.endswith("2") else ("--example", "x=float32[1,2]"))

    return build


def _pickled(canary: Path) -> bytes:
    return pickle.dumps(Payload(canary), 2)


def _scripted(canary: Path) -> dict[str, bytes]:
    """TorchScript whose data is a pickle of another kind."""
    content = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), content)
    with zipfile.ZipFile(content) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return members | {next(name for name in members if name.endswith("/data.pkl")): _pickled(canary)}


def _old_script(canary: Path) -> dict[str, bytes]:
    """TorchScript as it was first written: model.json says in which members the code is."""
    code = f"op_version_set = 0\ndef forward(self, x):\n  torch.save(x, {str(canary)!r})\n  return x\n".encode()
    model = {"protoVersion": "2", "mainModule": {"torchscriptArena": {"key": "evil.py"}}, "producerName": "pytorch"}
    return {"m/model.json": json.dumps(model).encode(), "m/code/x.py": b"x = 1\n", "m/evil.py": code, "m/version": b"1"}


def _behind_other_data(folder: Path, canary: Path) -> list[Command]:
    """Offsets count the data before: to readers that look at the start, the file is of another format."""
    file = folder / "m.pt"
    file.write_bytes(b"\x10\x00\x00\x00PTMF" + bytes(8))
    with zipfile.ZipFile(file, "a") as archive:
        for name, content in _scripted(canary).items():
            archive.writestr(name, content)
    return of_model(file, info=False, words=("--example", "x=float32[1,2]"))


def _package(canary: Path) -> dict[str, bytes]:
    """What torch.package writes: Python sources and a pickle."""
    source = f"import os\nos.system({touch(canary)!r})\n".encode()
    return {
        "m/.data/version": b"6",
        "m/.data/extern_modules": b"os\n",
        "m/net.py": source,
        "m/data.pkl": _pickled(canary),
    }


def _tar(folder: Path, canary: Path) -> list[Command]:
    """The oldest form of torch.save."""
    with tarfile.open(folder / "m.pth", "w") as archive:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            info = tarfile.TarInfo(name)
            info.size = len(_pickled(canary))
            archive.addfile(info, io.BytesIO(_pickled(canary)))
    return of_model(folder / "m.pth", info=False, words=("--example", "x=float32[1,2]"))


def _legacy(folder: Path, canary: Path) -> list[Command]:
    torch.save(Payload(canary), folder / "m.pt", _use_new_zipfile_serialization=False)
    return of_model(folder / "m.pt", info=False, words=("--example", "x=float32[1,2]"))


def _from_hub(folder: Path, canary: Path) -> list[Command]:
    """A folder of a hub whose configuration names code of its own."""
    (folder / "m").mkdir()
    (folder / "m" / "config.json").write_text(
        json.dumps({"auto_map": {"AutoModel": "net.Net"}, "trust_remote_code": True})
    )
    (folder / "m" / "net.py").write_text(f"import os\nos.system({touch(canary)!r})\n")
    (folder / "m" / "pytorch_model.bin").write_bytes(_pickled(canary))
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    (folder / "m" / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return [*of_model(folder / "m"), ("run", folder / "m"), *of_model(folder / "m" / "pytorch_model.bin")]


_PROGRAM = b'{"graph_module": {}}'
FILES: dict[str, Build] = {
    "onnx-data-in-memory": _data_in_memory,
    "keras-encrypted": _encrypted,
    "keras-broken-checksum": _broken_checksum,
    "keras-lambda-in-wrapper": _keras(_wrapped("TimeDistributed")),
    "keras-lambda-in-bidirectional": _keras(_wrapped("Bidirectional")),
    "keras-lambda-as-activation": _keras(_dense("activation", _code)),
    "keras-lambda-as-regularizer": _keras(_dense("kernel_regularizer", _code)),
    "keras-lambda-in-tuple": _keras(
        _dense("kernel_constraint", lambda c: {"class_name": "__tuple__", "items": [_code(c)], "config": {}})
    ),
    "keras-lambda-by-dotted-name": _keras(_named(module="keras", class_name="layers.Lambda")),
    "keras-lambda-by-private-module": _keras(_named(module="keras.src.layers.core.lambda_layer")),
    "keras-lambda-without-module": _keras(_named(module=None)),
    "keras-lambda-of-package": _keras(_named(class_name="Custom>Lambda", registered_name="Custom>Lambda")),
    "keras-2-lambda-in-wrapper": _keras(_wrapped("TimeDistributed"), "tf_keras"),
    "keras-2-lambda-as-activation": _keras(_dense("activation", _code), "tf_keras"),
    "keras-module-beside": _keras(_module_beside),
    "keras-2-module-beside": _keras(_module_beside, "tf_keras"),
    "keras-wide-text": _wide_text,
    "keras-repeated-keys": _repeated_keys,
    "keras-packed-by-lzma": _keras(_as_layer, compression=zipfile.ZIP_LZMA),
    "keras-weights-as-pickles": _weights_as_pickles,
    "keras-renamed-local-header": _renamed_local_header,
    "keras-behind-another-zip": _behind_another_zip,
    "keras-as-h5": _with_other_ending(".h5"),
    "keras-in-capitals": _with_other_ending(".KERAS"),
    "keras-as-pt": _with_other_ending(".pt"),
    "keras-as-pt2": _with_other_ending(".pt2"),
    "keras-as-onnx": _with_other_ending(".onnx"),
    "keras-as-zip": _with_other_ending(".zip"),
    "h5-as-keras": _h5_as_keras,
    "h5-of-no-version": _h5_unknown_version,
    "h5-with-data-before": _h5_with_data_before,
    "h5-soft-link": _h5_weights(_soft_link),
    "h5-virtual-weights": _h5_weights(_virtual),
    "h5-raw-file": _h5_weights(_raw_file),
    "saved-model-as-text": _as_text,
    "saved-model-second-graph": _second_graph,
    "saved-model-named-like-a-saver": _other_name,
    "graph-def-reads": _graph("ReadFile", filename="/etc/hostname"),
    "graph-def-writes": _graph("WriteFile", filename=lambda c: c, contents="x"),
    "graph-def-lists": _graph("MatchingFiles", pattern="/etc/*"),
    "graph-def-prints-to-file": _graph("PrintV2", input="x", output_stream=lambda c: f"file://{c}"),
    "torch-script-with-pickle": _torch_zip("m.pt", _scripted),
    "torch-package": _torch_zip("m.pt", _package),
    "torch-pickle-packed": _torch_zip(
        "m.pt", lambda c: {"m/data.pkl": _pickled(c), "m/version": b"3"}, compression=zipfile.ZIP_DEFLATED
    ),
    "torch-code-in-capitals": _torch_zip(
        "m.pt", lambda c: {"m/CODE/__torch__.py": b"x", "m/constants.pkl": _pickled(c), "m/data.pkl": _pickled(c)}
    ),
    "torch-folder-of-another-name": _torch_zip(
        "m.pth", lambda c: {"a/b/data.pkl": _pickled(c), "data.pkl": _pickled(c)}
    ),
    "pt2-extra-pickle": _torch_zip("m.pt2", lambda c: {"m/models/model.json": _PROGRAM, "m/extra/x": _pickled(c)}),
    "pt2-weights-by-pickle": _torch_zip(
        "m.pt2",
        lambda c: {
            "m/models/model.json": _PROGRAM,
            "m/data/weights/model_weights_config.json": json.dumps(
                {"config": {"w": {"path_name": "weight_0", "use_pickle": True, "is_param": True}}}
            ).encode(),
            "m/data/weights/weight_0": _pickled(c),
        },
    ),
    "pt2-default-factory": _torch_zip(
        "m.pt2",
        lambda c: {
            "m/models/model.json": json.dumps(
                {"default_factory_module": "builtins", "default_factory_name": "breakpoint"}
            ).encode()
        },
    ),
    "torch-script-of-old-form": _torch_zip("m.pt", _old_script),
    "torch-behind-other-data": _behind_other_data,
    "torch-tar": _tar,
    "torch-legacy": _legacy,
    "hub-folder": _from_hub,
}
