"""Pipes, devices, sockets and folders where a command expects a file."""

from __future__ import annotations

import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import TensorProto

from tests.consent.case import Command
from tests.consent.onnx_files import relu

__all__ = ["KINDS", "PLACES"]

Lay = Callable[[Path], None]
"""Puts something that is not a regular file at a path."""


def _socket(path: Path) -> None:
    # The names of sockets may have about 100 bytes: bind in their folder.
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as held:
            held.bind(path.name)
    finally:
        os.chdir(before)


def _link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe-beside"))
    path.symlink_to("pipe-beside")


KINDS: dict[str, Lay] = {
    "pipe": os.mkfifo,
    "link-to-pipe": _link_to_pipe,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": _socket,
    "folder": Path.mkdir,
}


def _source(suffix: str, *more: object) -> Callable[[Path, Lay], list[Command]]:
    def build(folder: Path, lay: Lay) -> list[Command]:
        file, out = folder / f"model{suffix}", folder / ("out" if suffix in (".onnx", ".zip") else "out.onnx")
        lay(file)
        commands: list[Command] = [
            ("info", file),
            ("check", file, *(("--to", "onnx") if suffix not in (".onnx", ".zip") else ()), *more),
            ("convert", file, "-o", out, *more),
            ("verify", file, folder / "other.onnx"),
            ("verify", folder / "other.onnx", file),
        ]
        if suffix in (".onnx", ".tflite"):
            commands.append(("run", file))
        return commands

    return build


def _external_data(folder: Path, lay: Lay) -> list[Command]:
    model, file = relu(), folder / "model.onnx"
    weight = model.graph.initializer[0]
    weight.ClearField("float_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "8")):
        weight.external_data.add(key=key, value=value)
    file.write_bytes(model.SerializeToString())
    lay(folder / "weights.bin")
    return [("info", file), ("check", file), ("run", file), ("verify", file, folder / "other.onnx")]


def _in_saved_model(part: str) -> Callable[[Path, Lay], list[Command]]:
    def build(folder: Path, lay: Lay) -> list[Command]:
        saved = folder / "saved"
        if part != "assets.extra/trueport.json":
            (saved / "assets.extra" / "trueport.json").unlink()
        (saved / part).unlink(missing_ok=True)
        (saved / part).parent.mkdir(exist_ok=True)
        lay(saved / part)
        return [
            ("info", saved),
            ("check", saved, "--to", "onnx"),
            ("convert", saved, "-o", folder / "out.onnx"),
            ("run", saved),
            ("verify", saved, folder / "other.onnx"),
            ("verify", folder / "other.onnx", saved),
        ]

    return build


def _data(suffix: str) -> Callable[[Path, Lay], list[Command]]:
    def build(folder: Path, lay: Lay) -> list[Command]:
        model, file = folder / "other.onnx", folder / "data" / f"x{suffix}"
        file.parent.mkdir()
        lay(file)
        return [
            ("verify", model, model, "--data", file),
            ("verify", model, model, "--data", file.parent),
            ("run", model, "--input", f"x={file}"),
        ]

    return build


def _ops(folder: Path, lay: Lay) -> list[Command]:
    lay(folder / "ops.py")
    model = folder / "other.onnx"
    return [
        ("check", model, "--ops", folder / "ops.py"),
        ("verify", model, model, "--data", f"{folder / 'ops.py'}:load"),
    ]


def _report(folder: Path, lay: Lay) -> list[Command]:
    lay(folder / "report.json")
    model = folder / "other.onnx"
    return [
        ("report", folder / "report.json"),
        ("convert", model, "-o", folder / "out", "--report", folder / "report.json"),
    ]


def _output(folder: Path, lay: Lay) -> list[Command]:
    """An output that would replace it; an empty folder may be replaced, so it is filled."""
    lay(folder / "taken")
    if (folder / "taken").is_dir():
        np.save(folder / "taken" / "x.npy", np.zeros(1))
    model = folder / "other.onnx"
    return [("convert", model, "-o", folder / "taken"), ("convert", model, "-o", folder / "taken", "--overwrite")]


def _zip_without_model(folder: Path, lay: Lay) -> list[Command]:
    """A zip beside which, not in which, the model is."""
    file = folder / "model.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "the model is beside this file")
    lay(folder / "model.onnx")
    return [("info", file), ("check", file)]


PLACES: dict[str, Callable[[Path, Lay], list[Command]]] = {
    "onnx": _source(".onnx"),
    "zip": _source(".zip"),
    "tflite": _source(".tflite"),
    "keras": _source(".keras"),
    "h5": _source(".h5"),
    "graph-def": _source(".pb", "--outputs", "y:0"),
    "pt2": _source(".pt2"),
    "pt": _source(".pt", "--example", "x=float32[1,2]"),
    "external-data": _external_data,
    "saved-model-graph": _in_saved_model("saved_model.pb"),
    "saved-model-index": _in_saved_model("variables/variables.index"),
    "saved-model-values": _in_saved_model("variables/variables.data-00000-of-00001"),
    "saved-model-asset": _in_saved_model("assets/words.txt"),
    "saved-model-fingerprint": _in_saved_model("fingerprint.pb"),
    "saved-model-map": _in_saved_model("assets.extra/trueport.json"),
    "npz": _data(".npz"),
    "npy": _data(".npy"),
    "ops": _ops,
    "report": _report,
    "output": _output,
    "zip-without-model": _zip_without_model,
}
