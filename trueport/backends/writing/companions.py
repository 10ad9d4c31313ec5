"""Data files of an ONNX model: each writing gives them names of their own, so that graph and data never mix."""

from __future__ import annotations

import mmap
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

from trueport.backends.writing.forms import is_onnx_file

__all__ = ["companion_name", "companions_of", "remove_unreferenced"]

_LARGEST_GRAPH = 1 << 31
"""Bytes of the largest file that protobuf reads."""


def companion_name(model: str) -> str:
    """Return a new name for the data file of the ONNX file ``model``."""
    return f"{model}.{secrets.token_hex(4)}.data"


def companions_of(path: Path) -> list[str]:
    """Return the data files beside an ONNX file that carry its name and are referenced by it.

    A symbolic link has none: what it points to is not replaced together with the link.
    """
    if path.is_symlink() or not is_onnx_file(path):
        return []
    names = [item.name for item in path.absolute().parent.iterdir() if _is_data_file(item, path)]
    return [name for name in sorted(names) if _contains(path, _as_location(name))]


def remove_unreferenced(path: Path, names: Iterable[str]) -> None:
    """Remove those data files of the output ``path`` that no ONNX file beside it, a copy included, mentions."""
    folder = path.parent
    present = [name for name in names if _is_data_file(folder / name, path)]
    if not present:
        return
    others = [item for item in folder.iterdir() if item.name not in present]
    for name in present:
        if not any(_may_mention(item, name) for item in others):
            (folder / name).unlink()


def _is_data_file(item: Path, model: Path) -> bool:
    named_after = re.fullmatch(re.escape(model.name) + r"(\.[0-9a-f]{8})?\.data", item.name)
    return named_after is not None and item.is_file() and not item.is_symlink()


def _may_mention(path: Path, name: str) -> bool:
    """True for an ONNX file that holds the name of a data file, and for a file that can't be read."""
    try:
        is_graph = path.is_file() and path.stat().st_size < _LARGEST_GRAPH and is_onnx_file(path)
        return is_graph and _contains(path, name.encode("utf-8", "surrogateescape"))
    except OSError:
        return True


def _as_location(name: str) -> bytes:
    """Return the bytes of an external tensor's ``location`` in a graph: field 2 of an entry, its length, the name."""
    encoded = name.encode("utf-8", "surrogateescape")
    length = bytes([len(encoded)]) if len(encoded) < 0x80 else bytes([len(encoded) & 0x7F | 0x80, len(encoded) >> 7])
    return b"\x12" + length + encoded


def _contains(path: Path, part: bytes) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(part) >= 0
