"""Folders for unpacked zips: they live as long as the process, and none outlives it for long.

Weights stay memory-mapped from such a folder, and runtimes open its files by their paths. It is removed when the
process ends; a killed process leaves it to the next one that unpacks a zip.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trueport.locks import Lock, is_still_at, try_lock

__all__ = ["folder_until_exit"]

_PREFIX = "trueport-zip-"


@contextmanager
def folder_until_exit() -> Iterator[Path]:
    """Yield a new folder to unpack into; if the block fails it is removed at once, else when the process ends."""
    _remove_abandoned()
    base, lock = _new_folder()
    try:
        (base / "model").mkdir()
        yield base / "model"
    except BaseException:
        _remove(base, lock, os.getpid())
        raise
    atexit.register(_remove, base, lock, os.getpid())


def _new_folder() -> tuple[Path, int]:
    """Make a folder and lock it; another process may take it for abandoned before it is locked."""
    while True:
        base = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(base / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        if try_lock(lock) != Lock.HELD and is_still_at(base / "lock", lock):
            return base, lock
        os.close(lock)


def _remove(base: Path, lock: int, owner: int) -> None:
    if os.getpid() == owner:  # a forked child has inherited the duty, but not the folder
        shutil.rmtree(base, ignore_errors=True)
        os.close(lock)


def _remove_abandoned() -> None:
    for base in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if base.is_symlink() or not _is_mine(base) or not (base / "lock").is_file():
            continue
        lock = os.open(base / "lock", os.O_RDWR)
        try:
            if try_lock(lock) == Lock.TAKEN:
                shutil.rmtree(base, ignore_errors=True)
        finally:
            os.close(lock)


def _is_mine(base: Path) -> bool:
    return not hasattr(os, "getuid") or base.stat().st_uid == os.getuid()
