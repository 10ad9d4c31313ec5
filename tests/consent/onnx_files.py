"""Hostile ONNX files: external data that leads to devices, pipes and other folders; zips that lead out of theirs."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.consent.case import Command, Hostile

__all__ = ["FILES", "relu"]

Lay = Callable[[Path, Path], str]
"""Lays out what external data points to and returns its location."""


def relu() -> onnx.ModelProto:
    """Return an honest model: y = relu(x + w)."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2], np.ones(2, np.float32))
    nodes = [helper.make_node("Add", ["x", "w"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", 2]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _point(tensor: onnx.TensorProto, location: str, length: str = "8") -> None:
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", "0"), ("length", length)):
        tensor.external_data.add(key=key, value=value)


def _commands(file: Path) -> list[Command]:
    folder = file.parent
    return [
        ("info", file),
        ("check", file),
        ("convert", file, "-o", folder / "out"),
        ("verify", file, folder / "other.onnx"),
    ]


def _external(lay: Lay, length: str = "8") -> Callable[[Path, Path], list[Command]]:
    def build(folder: Path, canary: Path) -> list[Command]:
        model, file = relu(), folder / "model.onnx"
        _point(model.graph.initializer[0], lay(folder, canary), length)
        file.write_bytes(model.SerializeToString())
        return _commands(file)

    return build


def _as_target(lay: Lay) -> Callable[[Path, Path], list[Command]]:
    """Return a model that another one is compared with: ONNX Runtime reads it."""

    def build(folder: Path, canary: Path) -> list[Command]:
        file = _external(lay)(folder, canary)[0][1]
        return [("verify", folder / "other.onnx", file)]

    return build


def _pipe(folder: Path, canary: Path) -> str:
    os.mkfifo(folder / "pipe")
    return "pipe"


def _link_to(target: str) -> Lay:
    def lay(folder: Path, canary: Path) -> str:
        (folder / "link").symlink_to(target)
        return "link"

    return lay


def _link_folder(folder: Path, canary: Path) -> str:
    (folder / "inner").symlink_to("/etc")
    return "inner/hostname"


def _in_function(folder: Path, canary: Path) -> list[Command]:
    """External data of a constant in the body of a function."""
    model, file = relu(), folder / "model.onnx"
    constant = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.FLOAT, [2], [0, 0]))
    _point(constant.attribute[0].t, "/etc/hostname")
    body = [constant, helper.make_node("Add", ["a", "c"], ["b"])]
    opset = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "F", ["a"], ["b"], body, opset))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node[1].CopyFrom(helper.make_node("F", ["s"], ["y"], domain="own"))
    file.write_bytes(model.SerializeToString())
    return _commands(file)


def _in_attribute_list(folder: Path, canary: Path) -> list[Command]:
    """External data in a list of tensors, which few readers look at."""
    model, file = relu(), folder / "model.onnx"
    tensor = helper.make_tensor("c", TensorProto.FLOAT, [2], [0, 0])
    _point(tensor, "../../secret")
    attribute = onnx.AttributeProto(name="held", type=onnx.AttributeProto.TENSORS, tensors=[tensor])
    model.graph.node[0].attribute.append(attribute)
    file.write_bytes(model.SerializeToString())
    return _commands(file)


def _sparse(folder: Path, canary: Path) -> list[Command]:
    model, file = relu(), folder / "model.onnx"
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    _point(values, "/etc/hostname", "4")
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [0])
    del model.graph.initializer[:]
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    file.write_bytes(model.SerializeToString())
    return _commands(file)


def _zip(fill: Callable[[zipfile.ZipFile, Path], None]) -> Callable[[Path, Path], list[Command]]:
    def build(folder: Path, canary: Path) -> list[Command]:
        file, model = folder / "model.zip", relu()
        with zipfile.ZipFile(file, "w") as archive:
            fill(archive, canary)
            if "model.onnx" not in archive.namelist():
                archive.writestr("model.onnx", model.SerializeToString())
        return _commands(file)

    return build


def _climbing(archive: zipfile.ZipFile, canary: Path) -> None:
    archive.writestr(f"../../../../../../../../../..{canary}", "x")


def _absolute(archive: zipfile.ZipFile, canary: Path) -> None:
    archive.writestr(str(canary), "x")


def _link_member(archive: zipfile.ZipFile, canary: Path) -> None:
    member, model = zipfile.ZipInfo("weights"), relu()
    member.external_attr = 0o120777 << 16
    archive.writestr(member, "/etc/hostname")
    _point(model.graph.initializer[0], "weights")
    archive.writestr("model.onnx", model.SerializeToString())


def _folder_link(archive: zipfile.ZipFile, canary: Path) -> None:
    member = zipfile.ZipInfo("inner")
    member.external_attr = 0o120777 << 16
    archive.writestr(member, str(canary.parent))
    archive.writestr(f"inner/{canary.name}", "x")


def _functions(*calls: tuple[str, list[str]]) -> Callable[[Path, Path], list[Command]]:
    """Return a model with functions, each calling others one after the other."""

    def build(folder: Path, canary: Path) -> list[Command]:
        model, file = relu(), folder / "model.onnx"
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
        for name, callees in calls:
            values = ["a", *(f"v{i}" for i in range(len(callees) - 1)), "b"]
            nodes = [
                helper.make_node(op, [values[i]], [values[i + 1]], domain="" if op == "Relu" else "f")
                for i, op in enumerate(callees)
            ]
            model.functions.append(helper.make_function("f", name, ["a"], ["b"], nodes, imports))
        model.graph.node[1].op_type, model.graph.node[1].domain = calls[0][0], "f"
        model.opset_import.append(imports[1])
        file.write_bytes(model.SerializeToString())
        return [*_commands(file), ("run", file)]

    return build


_DOUBLING = [(f"F{i}", [f"F{i + 1}"] * 2) for i in range(40)]

FILES = [
    Hostile("onnx-functions-that-double", _functions(*_DOUBLING, ("F40", ["Relu"])), "functions", consent=False),
    Hostile("onnx-function-calls-itself", _functions(("F", ["G"]), ("G", ["F"])), "calls itself", consent=False),
    Hostile("onnx-absolute-data", _external(lambda f, c: "/etc/hostname"), "/etc/hostname", consent=False),
    Hostile("onnx-data-above", _external(lambda f, c: "../../secret"), "../../secret", consent=False),
    Hostile("onnx-device-data", _external(lambda f, c: "/dev/zero"), "/dev/zero", consent=False),
    Hostile("onnx-link-to-device", _external(_link_to("/dev/zero")), "link", consent=False),
    Hostile("onnx-link-to-file", _external(_link_to("/etc/hostname")), "link", consent=False),
    Hostile("onnx-link-to-folder", _external(_link_folder), "inner/hostname", consent=False),
    Hostile("onnx-link-to-itself", _external(_link_to("link")), "link", consent=False),
    Hostile("onnx-pipe-data", _external(_pipe), "pipe", consent=False),
    Hostile("onnx-folder-data", _external(lambda f, c: "."), "'.'", consent=False),
    Hostile("onnx-huge-data", _external(lambda f, c: "model.onnx", str(2**62)), "model.onnx", consent=False),
    Hostile("onnx-negative-data", _external(lambda f, c: "model.onnx", "-8"), "model.onnx", consent=False),
    Hostile("onnx-data-in-function", _in_function, "/etc/hostname", consent=False),
    Hostile("onnx-data-in-list", _in_attribute_list, "../../secret", consent=False),
    Hostile("onnx-data-in-sparse-tensor", _sparse, "/etc/hostname", consent=False),
    Hostile("onnx-target-absolute-data", _as_target(lambda f, c: "/etc/hostname"), "xternal data", consent=False),
    Hostile("onnx-target-device-data", _as_target(lambda f, c: "/dev/zero"), "xternal data", consent=False),
    Hostile("onnx-target-link", _as_target(_link_to("/etc/hostname")), "xternal data", consent=False),
    Hostile("onnx-zip-above", _zip(_climbing), "leads out of the archive", consent=False),
    Hostile("onnx-zip-absolute", _zip(_absolute), "leads out of the archive", consent=False),
    Hostile("onnx-zip-link-to-file", _zip(_link_member), "is a link", consent=False),
    Hostile("onnx-zip-link-to-folder", _zip(_folder_link), "is a link", consent=False),
]
