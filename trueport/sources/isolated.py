"""A source in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueport.errors import UsageError
from trueport.runtimes.child import ChildModel, Limits
from trueport.stages import Source

__all__ = ["child", "in_child"]

_LOADER = "trueport.sources.open:load"


def in_child(source: Source, environment: Mapping[str, str] | None = None, **settings: Any) -> ChildModel:
    """Return a source as :func:`trueport.load` opens it there."""
    return child(source, _LOADER, environment or {}, settings)


def child(source: Source, loader: str, environment: Mapping[str, str], settings: Mapping[str, Any]) -> ChildModel:
    """Return a source as ``loader`` (``module:function``) opens it there."""
    if not isinstance(source.artifact, (str, Path)):
        raise UsageError(
            f"a {type(source.artifact).__name__} in memory can't be run in a process of its own",
            where="isolate",
            remedy="save it, and name the file",
        )
    return ChildModel(loader, str(source.artifact), source.limits or Limits(), environment, settings)
