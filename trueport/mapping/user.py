"""Operators that users declare in their own modules: files given by ``--ops``, and installed entry points."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from trueport.errors import UsageError

__all__ = ["ENTRY_POINTS", "load_user_ops"]

ENTRY_POINTS = "trueport.ops"
"""Packages that list a module under this group have its declarations loaded in every conversion."""


def load_user_ops(ops: Sequence[str | Path | ModuleType]) -> list[ModuleType]:
    """The modules of all entry points, then those given: a file, a module's name, or the module itself."""
    installed = [entry.load() for entry in entry_points(group=ENTRY_POINTS)]
    return [*installed, *(op if isinstance(op, ModuleType) else _load(str(op)) for op in ops)]


def _load(name: str) -> ModuleType:
    path = Path(name)
    if path.suffix != ".py":
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise UsageError(
                f"there is no module {error.name!r}", where=f"--ops {name}", remedy="name a .py file or a module"
            ) from error
    if not path.is_file():
        raise UsageError("there is no such file", where=f"--ops {name}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
