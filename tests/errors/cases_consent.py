"""Errors about files that would run code or touch other files."""

from __future__ import annotations

import io
import json
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import h5py
import tensorflow as tf
import torch
from onnx import helper

import trueport
from tests.consent.onnx_files import relu
from tests.errors.case import Case, cli

__all__ = ["CASES"]


def _zip(name: str, members: dict[str, bytes | str]) -> str:
    with zipfile.ZipFile(name, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return name


def _with_two_members() -> str:
    _zip("net.pt2", {"a/models/model.json": "{}"})
    with zipfile.ZipFile("net.pt2", "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("a/models/model.json", "{}")
    return "net.pt2"


def _cut_zip() -> str:
    """A zip whose end is there, and whose list of members is not."""
    content = Path(_zip("net.pt2", {"a/models/model.json": "{}"})).read_bytes()
    start = content.index(b"PK\x01\x02")
    Path("net.pt2").write_bytes(content[:start] + b"XX\x01\x02" + content[start + 4 :])
    return "net.pt2"


def _behind_other_data() -> str:
    """A zip with something before it, which some readers skip and others do not."""
    content = Path(_zip("net.pt2", {"a/models/model.json": "{}"})).read_bytes()
    Path("net.pt2").write_bytes(b"#!" + content)
    return "net.pt2"


def _bomb() -> str:
    """A zip that says that its member has 2 GB."""
    content = Path(_zip("net.zip", {"net.onnx": relu().SerializeToString()})).read_bytes()
    listed = content.rindex(b"PK\x01\x02")
    Path("net.zip").write_bytes(content[: listed + 24] + (2**31).to_bytes(4, "little") + content[listed + 28 :])
    return "net.zip"


def _doubling_functions(steps: int) -> str:
    """Each function calls the next one twice; with no steps, itself."""
    model, imports = relu(), [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    for step in range(steps + 1):
        called = "Relu" if step and step == steps else f"F{min(step + 1, steps)}"
        domain = "" if called == "Relu" else "f"
        nodes = [helper.make_node(called, [a], [b], domain=domain) for a, b in (("a", "v"), ("v", "b"))]
        model.functions.append(helper.make_function("f", f"F{step}", ["a"], ["b"], nodes, imports))
    model.graph.node[1].op_type, model.graph.node[1].domain = "F0", "f"
    model.opset_import.append(imports[1])
    Path("net.onnx").write_bytes(model.SerializeToString())
    return "net.onnx"


def _script(body: str) -> str:
    written, kept = io.BytesIO(), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(torch.nn.ReLU(), torch.ones(2)), written)
    with zipfile.ZipFile(written) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            kept[name] = (
                content.replace(b"    return", f"    {body}\n    return".encode()) if ".py" in name else content
            )
    return _zip("net.pt", kept)  # type: ignore[arg-type]


def _writing_saved_model() -> str:
    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    def call(x: Any) -> Any:
        tf.io.write_file("written.txt", "x")
        return {"y": x + 1.0}

    module = tf.Module()
    module.call = call
    tf.saved_model.save(module, "saved", signatures=call)
    return "saved"


def _layer(module: str, name: str) -> dict[str, Any]:
    return {"module": module, "class_name": name, "config": {}, "registered_name": None}


def _keras_h5(layer: dict[str, Any]) -> str:
    with h5py.File("net.h5", "w") as file:
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"layers": [layer]}})
    return "net.h5"


def _folder(name: str) -> str:
    Path(name).mkdir()
    return name


def _broken_map() -> str:
    Path("saved/assets.extra").mkdir(parents=True)
    Path("saved/saved_model.pb").write_bytes(b"")
    Path("saved/assets.extra/trueport.json").write_text('{"version": 1}')
    return "saved"


def _wrong_length() -> str:
    model = relu()
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = tensor.EXTERNAL
    tensor.external_data.add(key="location", value="net.data")
    tensor.external_data.add(key="length", value="-8")
    Path("net.onnx").write_bytes(model.SerializeToString())
    return "net.onnx"


_PICKLED = {"a/models/model.json": "{}", "a/data/sample_inputs/model.pt": pickle.dumps(print)}

CASES = [
    Case("consent-pickled-member", lambda: cli("check", _zip("net.pt2", dict(_PICKLED)))),
    Case("consent-operator-of-torch", lambda: cli("check", _script('torch.save(x, "f")'))),
    Case("consent-operator-of-tensorflow", lambda: cli("check", _writing_saved_model())),
    Case("consent-info", lambda: cli("info", _writing_saved_model())),
    Case("consent-foreign-class", lambda: cli("check", _keras_h5(_layer("os", "system")))),
    Case("consent-library", lambda: trueport.check(_keras_h5(_layer("keras.layers", "Lambda")))),
    Case("consent-link-out-of-a-zip", lambda: cli("check", _zip("net.pt2", {"../models/model.json": "{}"}))),
    Case("consent-member-twice", lambda: cli("check", _with_two_members())),
    Case("consent-two-directories", lambda: cli("check", _behind_other_data())),
    Case("consent-bomb", lambda: cli("info", _bomb())),
    Case("consent-functions", lambda: cli("info", _doubling_functions(30))),
    Case("consent-recursive-function", lambda: cli("info", _doubling_functions(0))),
    Case("consent-no-zip", lambda: cli("check", _cut_zip())),
    Case("consent-broken-json", lambda: cli("check", _zip("net.keras", {"config.json": "[" * 200_000}))),
    Case("consent-keras-folder", lambda: cli("check", _folder("net.h5"))),
    Case("consent-broken-program", lambda: cli("check", _zip("net.pt2", {"a/models/model.json": "{}"}))),
    Case("consent-broken-script", lambda: cli("check", _script("no_such_function(x)"))),
    Case("consent-broken-map", lambda: cli("info", _broken_map())),
    Case("consent-wrong-external-data", lambda: cli("info", _wrong_length())),
]
