"""Advisory locks on files: the system releases them when a process ends, however it ends."""

from __future__ import annotations

import errno
import os
from enum import Enum
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["Lock", "is_still_at", "try_lock"]

_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}
"""Errors of file systems that have no flock."""


class Lock(Enum):
    """The answer to an attempt to lock a file."""

    TAKEN = "taken"
    HELD = "held by another process"
    UNSUPPORTED = "not supported by the file system"


def try_lock(descriptor: int) -> Lock:
    """Lock an open file or folder without waiting; closing the descriptor releases the lock."""
    if fcntl is None:
        return Lock.UNSUPPORTED
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return Lock.HELD
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return Lock.UNSUPPORTED
        raise
    return Lock.TAKEN


def is_still_at(path: Path, descriptor: int) -> bool:
    """True if ``path`` names the open file; a process that released its lock may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
