"""Which outputs may be replaced: models of the form that is written, told by their content, and empty folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

__all__ = ["is_onnx_file", "reason_to_keep"]

_SAVED_MODEL_PARTS = {
    "saved_model.pb",
    "saved_model.pbtxt",
    "fingerprint.pb",
    "keras_metadata.pb",
    "variables",
    "assets",
    "assets.extra",
    "debug",
}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


def reason_to_keep(path: Path, target: str) -> str:
    """Return why ``path`` may not be replaced by a model of the form ``target``; empty if it may."""
    if path.is_dir():
        names = sorted(os.listdir(path))
        if not names:
            return ""
        return _reason_to_keep_folder(path, names) if target == "tensorflow" else "is a folder, not a model file"
    if not path.is_file():
        return "is neither a file nor a folder"
    if target == "tensorflow":
        return "is a file, not a SavedModel's folder"
    if target == "onnx":
        return "" if is_onnx_file(path) else "is not an ONNX model"
    if target == "tflite":
        return "" if _is_tflite_file(path) else "is not a TFLite model"
    return f"is not known to be a model of the form {target}"


def _reason_to_keep_folder(path: Path, names: list[str]) -> str:
    foreign = [name for name in names if name not in _SAVED_MODEL_PARTS]
    if "saved_model.pb" not in names and "saved_model.pbtxt" not in names:
        return f"is not a SavedModel, and holds {names[0]!r}"
    if foreign:
        return f"holds {foreign[0]!r}, which is not a part of a SavedModel"
    written = path / "saved_model.pb"
    if written.exists() and not (written.is_file() and _fields(written) >= {(1, _VARINT), (2, _BYTES)}):
        return "is not a SavedModel: its saved_model.pb is broken"
    return ""


def is_onnx_file(path: Path) -> bool:
    """True if the file is laid out as an ONNX ModelProto, with a version and a graph; its weights are not read."""
    return path.is_file() and _fields(path) >= {(1, _VARINT), (7, _BYTES)}


def _is_tflite_file(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8)[4:] == b"TFL3"


def _fields(path: Path) -> set[tuple[int, int]]:
    """Return the numbers and wire types of a protobuf message's top fields; none if it is not one."""
    found = set()
    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            tag = _varint(file)
            if tag is None or not _skip(file, tag & 7) or file.tell() > size:
                return set()
            found.add((tag >> 3, tag & 7))
    return found


def _skip(file: BinaryIO, wire_type: int) -> bool:
    if wire_type == _VARINT:
        return _varint(file) is not None
    length = {_FIXED64: 8, _FIXED32: 4}.get(wire_type) if wire_type != _BYTES else _varint(file)
    if length is None or length >= 1 << 62:
        return False
    file.seek(length, os.SEEK_CUR)
    return True


def _varint(file: BinaryIO) -> int | None:
    value = 0
    for position in range(_LONGEST_VARINT):
        byte = file.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << (7 * position)
        if byte[0] < 0x80:
            return value
    return None
