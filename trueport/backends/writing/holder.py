"""The folder in which an output is written before it gets its name, and what is done when a process died meanwhile.

    .NAME.<8 hex>.trueport/
        new/NAME        the new output; the data files of an ONNX model stand beside it
        companions      names of data files, new and old: those that no graph references at the end are removed
        replaced        the old output, for a moment, where the system can't exchange two names in one step

``settle`` brings such a folder to its end, in the process that made it and, if that died, in the next one that
writes to the same name.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from trueport.backends.writing.companions import companions_of, remove_unreferenced
from trueport.backends.writing.moves import exchange, has_name, is_folder, move_to_new, sync_folder, sync_tree

__all__ = ["fresh_path", "holders_of", "new_holder", "publish", "settle", "short_name"]

_LONGEST = 200
"""Bytes of a name that leave room for what is added to it; a file name has at most 255."""


def short_name(path: Path) -> str:
    """Return the start of the hidden names that belong to an output; a digest stands for too long a name."""
    name = os.fsencode(path.name)
    return f".{path.name}" if len(name) <= _LONGEST else f".{hashlib.sha256(name).hexdigest()}"


def new_holder(path: Path) -> Path:
    """Return a name for a holder; it is not made yet."""
    return path.absolute().parent / f"{short_name(path)}.{secrets.token_hex(4)}.trueport"


def holders_of(path: Path) -> list[Path]:
    """Return the holders of an output that exist."""
    shape = re.compile(re.escape(short_name(path)) + r"\.[0-9a-f]{8}\.trueport")
    return sorted(item for item in path.absolute().parent.iterdir() if shape.fullmatch(item.name) and is_folder(item))


def fresh_path(holder: Path, path: Path) -> Path:
    """Return where the new output is written."""
    return holder / "new" / path.name


def publish(holder: Path, path: Path, *, overwrite: bool) -> None:
    """Give the new output its name: data files first, the output itself last, each when it is on the disk."""
    fresh, folder = fresh_path(holder, path), path.absolute().parent
    companions = sorted(item for item in fresh.parent.iterdir() if item != fresh)
    replaced = companions_of(path) if has_name(path) else []
    if companions or replaced:
        names = [*(item.name for item in companions), *replaced]
        (holder / "companions").write_bytes(b"".join(os.fsencode(name) + b"\0" for name in names))
    sync_tree(holder)
    for companion in companions:
        move_to_new(companion, folder / companion.name)
    if companions:
        sync_folder(folder)
    if overwrite and has_name(path):
        _replace(fresh, path, holder / "replaced")
    else:
        move_to_new(fresh, path)
    # The output has its name: if this fails, only a power cut could take it back, to what was there before.
    with suppress(OSError):
        sync_folder(folder)


def _replace(fresh: Path, path: Path, aside: Path) -> None:
    if not is_folder(fresh) and not is_folder(path):
        os.replace(fresh, path)
    elif not exchange(fresh, path):
        os.rename(path, aside)
        os.rename(fresh, path)


def settle(holder: Path, path: Path) -> None:
    """Remove a holder; first put back an output that was set aside when its replacement did not get its name."""
    replaced, fresh = holder / "replaced", fresh_path(holder, path)
    if has_name(replaced) and has_name(fresh) and not has_name(path):
        os.rename(replaced, path)
        sync_folder(path.absolute().parent)
    listed = holder / "companions"
    if listed.is_file():
        # Each name ends with a zero: behind the last one is what a full disk or a crash cut short.
        *names, _ = map(os.fsdecode, listed.read_bytes().split(b"\0"))
        # One that is still here was not moved: a file of its name in the output's folder is not ours.
        moved = [name for name in names if not has_name(fresh.parent / name)]
        remove_unreferenced(path.absolute(), moved)
    shutil.rmtree(holder, ignore_errors=True)
