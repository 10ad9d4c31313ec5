"""What is opened as a file must be one: a pipe never ends, and a device may answer with anything."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from trueport.errors import InvalidModel

__all__ = ["check_regular", "check_regular_below", "kind_if_irregular", "why_not_a_file"]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def kind_if_irregular(path: Path) -> str:
    """Return what is at ``path``, after symbolic links; empty if it is a regular file, or if nothing is there."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # nothing there, a link that leads to itself, a name that nothing can have
        return ""
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "not a file")


def why_not_a_file(path: Path) -> str:
    """Return why ``path``, which is not a regular file, cannot be read as one."""
    kind = kind_if_irregular(path)
    return f"expected a regular file, got {kind}" if kind else "there is no such file"


def check_regular(path: Path) -> None:
    """Raise `InvalidModel` if ``path`` is a folder, a pipe, a socket or a device; nothing if it is missing."""
    if kind := kind_if_irregular(path):
        raise InvalidModel(
            f"expected a regular file, got {kind}",
            where=str(path),
            remedy="copy its content to a file and name that" if kind != "a folder" else "name a file inside of it",
        )


def check_regular_below(folder: Path) -> None:
    """Raise `InvalidModel` for what is neither a folder nor a regular file, at any depth; links are followed."""
    seen: set[tuple[int, int]] = set()
    for parent, folders, files in os.walk(folder, followlinks=True):
        place = os.stat(parent)
        if (place.st_dev, place.st_ino) in seen:
            folders.clear()  # a link that leads back
            continue
        seen.add((place.st_dev, place.st_ino))
        for name in files:
            check_regular(Path(parent, name))
