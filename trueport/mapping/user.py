"""Operators that users declare in their own modules: files given by ``--ops``, and installed entry points."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from types import ModuleType

from trueport.consent.folders import find_modules_here
from trueport.errors import UsageError
from trueport.ir.files import why_not_a_file
from trueport.mapping.registry import Registry
from trueport.quiet import start_up_hidden
from trueport.quoting import plain_text

__all__ = ["ENTRY_POINTS", "with_user_ops"]

ENTRY_POINTS = "trueport.ops"
"""Packages that list a module under this group have its declarations loaded in every conversion."""


def with_user_ops(registry: Registry, ops: Sequence[str | Path | ModuleType]) -> Registry:
    """The registry with the users' declarations before its own: those of all entry points, and before them
    those given: a file, a module's name, or the module itself."""
    installed = [_run(entry.load, f"entry point {entry.name!r}") for entry in _entry_points()]
    given = [op if isinstance(op, ModuleType) else _load(str(op)) for op in ops]
    try:
        return registry.extended(*installed).extended(*given)
    except TypeError as error:
        raise UsageError(str(error), where="--ops", remedy="declare an operator in one module only") from error


def _entry_points() -> list[EntryPoint]:
    """Return those of installed packages: not of those in the current folder, even where modules are found there."""
    here = os.path.realpath(os.getcwd())
    elsewhere = [path for path in sys.path if path and os.path.realpath(path) != here]
    found = {
        (distribution.name, entry.name): entry
        for distribution in reversed(list(distributions(path=elsewhere)))
        for entry in distribution.entry_points
        if entry.group == ENTRY_POINTS
    }
    return [found[key] for key in sorted(found)]


def _load(name: str) -> ModuleType:
    path = Path(name)
    find_modules_here()
    if path.suffix == ".py" and not path.is_file():
        raise UsageError(why_not_a_file(path), where=f"--ops {name}", remedy="name a .py file")
    return _run(lambda: _from_file(path) if path.suffix == ".py" else importlib.import_module(name), f"--ops {name}")


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(load: Callable[[], ModuleType], where: str) -> ModuleType:
    """A user's module, loaded; whatever its code raises is an error in the way it was called."""
    try:
        with start_up_hidden():
            return load()
    except ModuleNotFoundError as error:
        raise UsageError(
            f"there is no module {error.name!r}", where=where, remedy="name a .py file or a module"
        ) from error
    except Exception as error:
        raise UsageError(f"can't be loaded: {type(error).__name__}: {plain_text(error)}", where=where) from error
