"""The current folder as a place of modules: only where the user names code, and behind all other places."""

from __future__ import annotations

import os
import sys

__all__ = ["find_modules_here", "paths_for_child"]


def find_modules_here() -> None:
    """Let modules in the current folder be imported, but never in the place of an installed one."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def paths_for_child() -> list[str]:
    """Return where a child finds modules: as this process does, with an implicit current folder last."""
    explicit = [path for path in sys.path if path]
    return [*explicit, *([os.getcwd()] if "" in sys.path and os.getcwd() not in explicit else [])]
