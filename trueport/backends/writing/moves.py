"""Renames that never overwrite, exchanges in one step, and data that is on the disk before it gets its name."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["exchange", "has_name", "is_folder", "move_to_new", "sync_folder", "sync_tree"]

_AT_FDCWD = -100
_NOREPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.EOPNOTSUPP, errno.EPERM}
"""Errors of kernels and file systems that lack renameat2 or one of its flags, and of containers that forbid it."""
_NO_FOLDER_SYNC = {errno.EINVAL, errno.EOPNOTSUPP, errno.EACCES}


def has_name(path: Path) -> bool:
    """True if anything has this name, a dangling symbolic link included."""
    return os.path.lexists(path)


def is_folder(path: Path) -> bool:
    """True for a folder itself; a symbolic link to one is a link."""
    return stat.S_ISDIR(os.lstat(path).st_mode)


def move_to_new(old: Path, new: Path) -> None:
    """Rename; raise FileExistsError if the new name is taken."""
    if _rename_with(old, new, _NOREPLACE):
        return
    if has_name(new):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
    os.rename(old, new)


def exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; return False, nothing changed, where the system can't."""
    return _rename_with(first, second, _EXCHANGE)


def _rename_with(old: Path, new: Path, flags: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(new))


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    """Return the C library's function, or None where it has none; Python does not offer it."""
    if not sys.platform.startswith("linux"):
        return None
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call


def sync_tree(folder: Path) -> None:
    """Wait until all files below a folder are on the disk."""
    for parent, _, files in os.walk(folder):
        for name in files:
            _sync(Path(parent, name))
        sync_folder(Path(parent))


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the file system can say so."""
    try:
        _sync(folder)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
