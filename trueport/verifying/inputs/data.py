"""A user's own inputs, one set after the other: from files, a folder, or a loader in Python; nothing is held."""

from __future__ import annotations

import importlib
import importlib.util
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from trueport.consent.archives import check_size
from trueport.consent.folders import find_modules_here
from trueport.errors import UsageError
from trueport.ir.files import kind_if_irregular, why_not_a_file
from trueport.ir.ports import Port
from trueport.quiet import start_up_hidden
from trueport.quoting import plain_text

__all__ = ["Data", "named_samples", "read_data"]

Data = str | Path | Iterable[Any] | Callable[[], Iterable[Any]]
"""A file, a folder, ``module:loader``; or what yields sets of inputs; or a list of any of these."""


def read_data(data: Data) -> Iterator[Any]:
    """Sets of inputs as they stand there: dicts by name, tuples in the order of inputs, or single arrays."""
    if callable(data):
        yield from data()
    elif isinstance(data, (str, Path)):
        yield from _from_word(str(data))
    elif isinstance(data, Mapping):
        yield data
    else:
        items = iter(data)
        yield from chain.from_iterable(read_data(i) if isinstance(i, (str, Path)) else [i] for i in items)


def named_samples(data: Data, ports: Sequence[Port], limit: int | None = None) -> Iterator[Mapping[str, Any]]:
    """The same by the names of a model's inputs, ``limit`` sets at most."""
    for index, item in enumerate(islice(read_data(data), limit)):
        yield _named(item, ports, f"set {index} of the data")


def _from_word(word: str) -> Iterator[Any]:
    path = Path(word)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".npz", ".npy"))
        if not files:
            raise UsageError(
                "the folder holds no .npz or .npy file", where=f"data {word}", remedy="put files of inputs there"
            )
        for file in files:
            yield _load(file)
    elif path.suffix in (".npz", ".npy"):
        yield _load(path)
    elif ":" in word:
        yield from _from_loader(word)
    else:
        raise UsageError(
            "is no file with inputs",
            where=f"data {word}",
            remedy="name an .npz (np.savez(file, name=array, …)), an .npy, a folder of them, or module:loader",
        )


def _load(file: Path) -> Any:
    if not file.is_file():
        raise UsageError(why_not_a_file(file), where=f"data {file}", remedy="name a file that is there")
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            check_size(loaded.zip, str(file))
            return dict(loaded)
    except (ValueError, OSError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise UsageError(
            f"can't be read: {plain_text(error)}",
            where=f"data {file}",
            remedy="write it with np.savez, or np.save, once more",
        ) from error


def _from_loader(word: str) -> Iterator[Any]:
    """``package.module:name`` or ``file.py:name``: a callable without arguments, or something to walk through."""
    place, _, name = word.rpartition(":")
    module = _module(place, word)
    if not hasattr(module, name):
        raise UsageError(f"{place} has no {name!r}", where=f"data {word}", remedy="name a function or a list in it")
    found = getattr(module, name)
    try:
        made = found() if callable(found) else found
        if isinstance(made, Iterable):
            yield from ([made] if isinstance(made, Mapping) else made)
            return
    except Exception as error:  # whatever the user's own code raises
        raise UsageError(
            f"{name} fails: {type(error).__name__}: {plain_text(error)}",
            where=f"data {word}",
            remedy=f"walk through {name} in Python to see where",
        ) from error
    raise UsageError(
        f"{name} gives {type(made).__name__}: it can't be walked through",
        where=f"data {word}",
        remedy="give a list of inputs, or a function that yields them",
    )


def _module(place: str, word: str) -> ModuleType:
    try:
        if place.endswith(".py"):
            if kind := kind_if_irregular(Path(place)):
                raise ImportError(f"expected a regular file, got {kind}")
            spec = importlib.util.spec_from_file_location(Path(place).stem, place)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            with start_up_hidden():
                spec.loader.exec_module(module)
            return module
        find_modules_here()
        with start_up_hidden():
            return importlib.import_module(place)
    except Exception as error:  # whatever the user's own code raises
        raise UsageError(
            f"{place!r} can't be imported: {type(error).__name__}: {plain_text(error)}",
            where=f"data {word}",
            remedy="name a module, or a .py file, that can be imported from here",
        ) from error


def _named(item: Any, ports: Sequence[Port], where: str) -> Mapping[str, Any]:
    names = [port.name for port in ports]
    if isinstance(item, Mapping):
        return dict(zip(names, item.values(), strict=True)) if _by_place(item, names) else item
    values = list(item) if isinstance(item, (tuple, list)) else [item]
    if len(values) != len(names):
        raise UsageError(
            f"holds {len(values)} arrays, the model has {len(names)} inputs",
            where=where,
            remedy=f"give a dict by name: {names}",
        )
    return dict(zip(names, values, strict=True))


def _by_place(item: Mapping[str, Any], names: Sequence[str]) -> bool:
    """np.savez calls arrays without a name arr_0, arr_1, …"""
    own = [f"arr_{index}" for index in range(len(item))]
    return list(item) == own and len(own) == len(names) and own != list(names)
