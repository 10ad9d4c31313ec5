"""Hostile inputs, reports and headers; and modules in the current folder that hide real ones."""

from __future__ import annotations

import json
import pickle
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.consent.case import Command, Hostile, Payload

__all__ = ["FILES", "SHADOWS"]


def _data(write: Callable[[Path, Path], Path]) -> Callable[[Path, Path], list[Command]]:
    def build(folder: Path, canary: Path) -> list[Command]:
        model, file = folder / "other.onnx", write(folder, canary)
        return [("verify", model, model, "--data", file), ("run", model, "--input", f"x={file}")]

    return build


def _npy(folder: Path, canary: Path) -> Path:
    np.save(folder / "x.npy", np.array([Payload(canary)], object), allow_pickle=True)
    return folder / "x.npy"


def _npz(folder: Path, canary: Path) -> Path:
    np.savez(folder / "x.npz", x=np.array([Payload(canary)], object))
    return folder / "x.npz"


def _pickle_as(name: str) -> Callable[[Path, Path], Path]:
    def write(folder: Path, canary: Path) -> Path:
        (folder / name).write_bytes(pickle.dumps(Payload(canary)))
        return folder / name

    return write


def _npz_with_pickle(folder: Path, canary: Path) -> Path:
    with zipfile.ZipFile(folder / "x.npz", "w") as archive:
        archive.writestr("x.npy", pickle.dumps(Payload(canary)))
    return folder / "x.npz"


def _huge_header(folder: Path, canary: Path) -> Path:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }"
    (folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    return folder / "x.npy"


def _text(name: str, content: bytes, *words: str) -> Callable[[Path, Path], Sequence[Command]]:
    def build(folder: Path, canary: Path) -> list[Command]:
        (folder / name).write_bytes(content)
        commands = words or ("info", "check", "report")
        return [(word, folder / name) for word in commands]

    return build


def _map(content: bytes) -> Callable[[Path, Path], Sequence[Command]]:
    """Return a SavedModel with a broken map of Trueport's."""

    def build(folder: Path, canary: Path) -> list[Command]:
        (folder / "model" / "assets.extra").mkdir(parents=True)
        (folder / "model" / "saved_model.pb").write_bytes(b"")
        (folder / "model" / "assets.extra" / "trueport.json").write_bytes(content)
        return [("info", folder / "model")]

    return build


_DEEP = b"[" * 200_000


def _bomb(folder: Path, canary: Path) -> Path:
    """Return arrays of 2 GB, as the list of members says."""
    np.savez_compressed(folder / "x.npz", x=np.zeros((4, 2), np.float32))
    content = (folder / "x.npz").read_bytes()
    listed = content.rindex(b"PK\x01\x02")
    (folder / "x.npz").write_bytes(content[: listed + 24] + (2**31).to_bytes(4, "little") + content[listed + 28 :])
    return folder / "x.npz"


_HEADER = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 2**62]}}).encode()

FILES = [
    Hostile("npy-object", _data(_npy), "x.npy", consent=False),
    Hostile("npz-object", _data(_npz), "x.npz", consent=False),
    Hostile("npy-pickle", _data(_pickle_as("x.npy")), "x.npy", consent=False),
    Hostile("npz-pickle", _data(_pickle_as("x.npz")), "x.npz", consent=False),
    Hostile("npz-member-pickle", _data(_npz_with_pickle), "dtype", consent=False),
    Hostile("npz-bomb", _data(_bomb), "would unpack to", consent=False),
    Hostile("npy-huge-header", _data(_huge_header), "x.npy", consent=False),
    Hostile(
        "safetensors-huge-header",
        _text("w.safetensors", struct.pack("<Q", 2**62) + b"{}"),
        "w.safetensors",
        consent=False,
    ),
    Hostile(
        "safetensors-offsets",
        _text("w.safetensors", struct.pack("<Q", len(_HEADER)) + _HEADER),
        "w.safetensors",
        consent=False,
    ),
    Hostile("report-deep", _text("r.json", _DEEP, "report"), "r.json", consent=False),
    Hostile("report-wide-number", _text("r.json", b"9" * 10_000, "report"), "r.json", consent=False),
    Hostile("onnx-is-a-pickle", _text("m.onnx", pickle.dumps(print), "info", "check"), "m.onnx", consent=False),
    Hostile("ops-toml", _text("m.toml", b"a = " + _DEEP, "info", "check"), "m.toml", consent=False),
    Hostile("map-deep", _map(_DEEP), "trueport.json", consent=False),
    Hostile("map-without-fields", _map(b'{"version": 1}'), "trueport.json", consent=False),
    Hostile(
        "tflite-noise",
        _text("m.tflite", b"\xff\xff\xff\x7fTFL3" + bytes(range(256)), "info", "run"),
        "m.tflite",
        consent=False,
    ),
]


def _shadow(module: str, *words: str) -> Callable[[Path, Path], list[Command]]:
    """Return commands beside which a file has the name of a real module."""

    def build(folder: Path, canary: Path) -> list[Command]:
        (folder / module).write_text(f"open({str(canary)!r}, 'w')\n")
        (folder / "nets.py").write_text("import torch\n\n\ndef build():\n    return torch.nn.ReLU()\n")
        (folder / "feeds.py").write_text(
            "import numpy\n\n\ndef load():\n    return [numpy.ones((2, 2), numpy.float32)]\n"
        )
        return [words]

    return build


_SAME = ("verify", "other.onnx", "other.onnx")
SHADOWS = [
    Hostile("shadow-json-isolated", _shadow("json.py", *_SAME, "--isolate")),
    Hostile("shadow-pickle-isolated", _shadow("pickle.py", *_SAME, "--isolate")),
    Hostile("shadow-onnxruntime-isolated", _shadow("onnxruntime.py", *_SAME, "--isolate")),
    Hostile("shadow-trueport-isolated", _shadow("trueport.py", *_SAME, "--isolate")),
    Hostile("shadow-torch-factory", _shadow("torch.py", "check", "nets:build", "--example", "input=float32[2,2]")),
    Hostile("shadow-onnxruntime-loader", _shadow("onnxruntime.py", *_SAME, "--data", "feeds:load")),
]
