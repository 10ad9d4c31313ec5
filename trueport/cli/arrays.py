"""Arrays from and to files, for ``trueport run``."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueport.consent.archives import check_size
from trueport.errors import UsageError
from trueport.ir.files import kind_if_irregular
from trueport.quoting import plain_text
from trueport.report.plain import plain

__all__ = ["describe", "read_inputs", "save_outputs", "summarize"]


def read_inputs(options: Sequence[str]) -> dict[str, Any]:
    """``NAME=FILE.npy`` or ``NAME=FILE.npz`` (its arrays in order, for a sequence); pickles are refused."""
    feeds: dict[str, Any] = {}
    for option in options:
        name, separator, file = option.rpartition("=")
        if not separator or not name:
            raise UsageError(f"{option!r} is not NAME=FILE", where="--input")
        if not Path(file).is_file():
            kind = kind_if_irregular(Path(file))
            reason = f"expected a regular file, got {kind}: {file!r}" if kind else f"there is no file {file!r}"
            raise UsageError(reason, where=f"--input {name}")
        try:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.lib.npyio.NpzFile):
                assert loaded.zip is not None  # only after it is closed
                check_size(loaded.zip, file)
                loaded = list(loaded.values())
        except (ValueError, OSError, EOFError, MemoryError, zipfile.BadZipFile) as error:
            raise UsageError(f"{file!r} can't be read: {plain_text(error)}", where=f"--input {name}") from error
        feeds[name] = loaded
    return feeds


def save_outputs(path: Path, outputs: Mapping[str, Any]) -> None:
    """One array per output; the elements of a sequence as NAME.0, NAME.1, …"""
    flat: dict[str, np.ndarray] = {}
    for name, value in outputs.items():
        if isinstance(value, list):
            flat |= {f"{name}.{index}": _plain(element) for index, element in enumerate(value)}
        elif value is not None:
            flat[name] = _plain(value)
    np.savez(path, **flat)  # type: ignore[arg-type]


def _plain(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(str) if array.dtype == object else array


def describe(value: Any) -> Any:
    """The same for programs: dtype, shape and range of an array; of a list, of each element."""
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    if not isinstance(value, np.ndarray):
        return plain(value)
    described: dict[str, Any] = {"dtype": str(value.dtype), "shape": list(value.shape)}
    if value.size and value.dtype.kind in "fiu":
        described |= {"min": plain(value.min().item()), "max": plain(value.max().item())}
    return described


def summarize(value: Any) -> str:
    """Dtype, shape and, for numbers, the range."""
    if not isinstance(value, np.ndarray):
        return repr(value) if not isinstance(value, list) else f"[{', '.join(summarize(v) for v in value)}]"
    head = f"{value.dtype}{list(value.shape)}"
    if value.size == 0 or value.dtype.kind not in "fiu":
        return head
    return f"{head} min {value.min():.6g} max {value.max():.6g}"
