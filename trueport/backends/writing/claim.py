"""A name claimed for one conversion: checked, locked against others, recovered, written aside, published."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from trueport.backends.writing.forms import reason_to_keep
from trueport.backends.writing.holder import fresh_path, holders_of, new_holder, publish, settle, short_name
from trueport.backends.writing.moves import has_name
from trueport.errors import OutputExists, WriteFailed
from trueport.locks import Lock, is_still_at, try_lock

__all__ = ["Claim", "claimed", "write_failures_named"]

_REMEDIES = {
    errno.ENOSPC: "free some space, or name an output on another disk",
    errno.EDQUOT: "free some space, or name an output on another disk",
    errno.EFBIG: "raise the limit (ulimit -f), or name an output on a file system that takes larger files",
    errno.ENAMETOOLONG: "give it a shorter name",
}


@contextmanager
def write_failures_named(path: Path) -> Iterator[None]:
    """Turn an error of the system into one that names the output."""
    try:
        yield
    except FileExistsError as error:
        raise OutputExists(
            f"{Path(error.filename).name!r} appeared while the output was being written",
            where=str(path),
            remedy="nothing was replaced; name another output",
        ) from error
    except OSError as error:
        raise WriteFailed(
            f"cannot be written: {error.strerror or f'a file was cut short ({error})'}",
            where=str(path),
            remedy=_REMEDIES.get(error.errno or errno.ENOSPC, "name an output in a folder that can be written to"),
        ) from error


@dataclass(frozen=True)
class Claim:
    """A name that no other conversion writes to until this one ends."""

    path: Path
    target: str
    """the form that is written: ``tensorflow``, ``onnx`` or ``tflite``"""
    overwrite: bool
    locked: bool
    """False where the file system has no locks: then leftovers are not removed, they may belong to a live process"""

    @contextmanager
    def written_aside(self) -> Iterator[Path]:
        """A path to write to; published when the block ends well, removed when it does not.

        What had the name before stays untouched until the new output is complete.
        """
        holder = new_holder(self.path)
        fresh = fresh_path(holder, self.path)
        try:
            with write_failures_named(self.path):
                holder.mkdir(0o700)
                fresh.parent.mkdir()
            yield fresh
            with write_failures_named(self.path):
                _check(self.path, self.target, overwrite=self.overwrite)
                publish(holder, self.path, overwrite=self.overwrite)
        finally:
            if holder.is_dir():
                settle(holder, self.path)

    def recover(self) -> None:
        """Settle what processes left behind that died while they wrote to this name."""
        for holder in holders_of(self.path) if self.locked else []:
            settle(holder, self.path)


@contextmanager
def claimed(path: str | Path, target: str, *, overwrite: bool = False) -> Iterator[Claim]:
    """Claim a name for a model of the form ``target``; refuse early what could not be written later."""
    place = Path(path)
    if place.name in ("", ".."):
        place = place.resolve()
    with write_failures_named(place):
        _check(place, target, overwrite=overwrite)
        lock = _lock(place)
    try:
        claim = Claim(place, target, overwrite, lock is not None)
        with write_failures_named(place):
            claim.recover()
            _check(place, target, overwrite=overwrite)
        yield claim
    finally:
        if lock is not None:
            _unlock(place, lock)


def _check(path: Path, target: str, *, overwrite: bool) -> None:
    if not path.absolute().parent.is_dir():
        raise OutputExists("its folder does not exist", where=str(path), remedy=f"mkdir -p {path.parent}")
    if path.is_symlink() and not path.exists():
        raise OutputExists(
            "is a symbolic link to a place that does not exist",
            where=str(path),
            remedy="remove it, or name another output",
        )
    if path.resolve() in (here := Path.cwd().resolve(), *here.parents):
        raise OutputExists(
            "is the current folder or one above it",
            where=str(path),
            remedy="name a new folder in it, like saved_model/",
        )
    if not has_name(path):
        return
    if not overwrite:
        raise OutputExists("exists already", where=str(path), remedy="name another place, or pass --overwrite")
    reason = reason_to_keep(path, target)
    if reason:
        raise OutputExists(
            f"cannot be overwritten: it {reason}",
            where=str(path),
            remedy="--overwrite replaces a model of the form that is written, or an empty folder; name another output",
        )


def _lock_file(path: Path) -> Path:
    return path.absolute().parent / f"{short_name(path)}.trueport-lock"


def _lock(path: Path) -> int | None:
    """Return the descriptor that holds the lock of a name; None where the file system has no locks."""
    while True:
        descriptor = os.open(_lock_file(path), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            answer = try_lock(descriptor)
            if answer == Lock.TAKEN and is_still_at(_lock_file(path), descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if answer == Lock.HELD:
            raise OutputExists(
                "another conversion is writing to it", where=str(path), remedy="wait for it, or name another output"
            )
        if answer == Lock.UNSUPPORTED:
            with suppress(OSError):
                _lock_file(path).unlink()
            return None


def _unlock(path: Path, descriptor: int) -> None:
    with suppress(OSError):
        _lock_file(path).unlink()
    os.close(descriptor)
