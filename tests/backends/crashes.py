"""Crashes on purpose: the writer under ``strace``, which kills it at, or fails, one system call that changes a file."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ENOSPC", "KILL", "Call", "Scene", "changing_calls", "digest", "leftovers", "run_writer", "why_no_strace"]

_DRIVER = Path(__file__).parent / "write_artifact.py"
_ROOT = Path(__file__).parents[2]
_NAMING = ("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat")
_REMOVING = ("unlink", "unlinkat", "rmdir")
_FILLING = ("openat", "open", "creat", "write", "pwrite64", "writev", "ftruncate", "fsync", "fdatasync")
_TRACED = ",".join(f"?{name}" for name in (*_NAMING, *_REMOVING, *_FILLING))
KILL, ENOSPC = "signal=KILL", "error=ENOSPC"
_NO_EXCHANGE = "renameat2:error=ENOSYS"


@dataclass(frozen=True)
class Call:
    """The ``number``-th call of one name in a run of the writer, from 1 on."""

    name: str
    number: int

    @property
    def may_fill_the_disk(self) -> bool:
        return self.name not in _REMOVING


@dataclass(frozen=True)
class Scene:
    """What is written where: ``old`` and ``new`` are folders with one artifact each, under the same name."""

    old: Path
    new: Path
    name: str
    target: str
    overwrite: bool
    exchange: bool = True
    """False: as on a system that has no renameat2"""

    def prepare(self, folder: Path) -> Path:
        """Return the output's path in a new folder; with ``overwrite`` the old artifact has its name."""
        folder.mkdir()
        if self.overwrite:
            shutil.copytree(self.old, folder, dirs_exist_ok=True)
        return folder / self.name


@functools.cache
def why_no_strace() -> str:
    """Return why system calls can't be injected here; empty if they can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-e", "inject=rmdir:error=ENOSPC", "true"], capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"strace does not work here: {tried.stderr.strip()[:200]}"


def run_writer(
    scene: Scene, output: Path, injected: str = "", log: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Write the new artifact; ``injected`` is ``CALL:WHAT:when=N`` in the words of strace."""
    words = [sys.executable, str(_DRIVER), str(scene.new), str(output), scene.target]
    words += ["--overwrite"] if scene.overwrite else []
    faults = [word for word in (injected, "" if scene.exchange else _NO_EXCHANGE) if word]
    if faults or log:
        options = [option for fault in faults for option in ("-e", f"inject={fault}")]
        words = ["strace", "-f", "-o", str(log or os.devnull), "-e", f"trace={_TRACED}", *options, *words]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(words, capture_output=True, text=True, env=environment)


def changing_calls(scene: Scene, folder: Path) -> list[Call]:
    """Return the calls of an undisturbed run that change a file, in their order."""
    output, log = scene.prepare(folder), folder.with_suffix(".log")
    done = run_writer(scene, output, log=log)
    assert done.returncode == 0, done.stderr
    return list(_calls(log.read_text(errors="replace")))


def _calls(log: str) -> Iterator[Call]:
    seen: Counter[str] = Counter()
    for line in log.splitlines():
        match = re.match(r"\d+\s+(\w+)\(", line)
        if match is None:
            continue
        seen[match[1]] += 1
        opens = match[1] in ("open", "openat")
        failed_by_us = match[1] == "renameat2" and "(INJECTED)" in line
        if not failed_by_us and (not opens or "O_CREAT" in line):
            yield Call(match[1], seen[match[1]])


def digest(path: Path) -> str:
    """Return a digest of a file, or of all files below a folder with their names."""
    files = [path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file())
    held = hashlib.sha256()
    for file in files:
        held.update(str(file.relative_to(path)).encode() + b"\0" + file.read_bytes())
    return held.hexdigest()


def leftovers(folder: Path) -> list[str]:
    """Return hidden names: locks and folders of the writer."""
    return sorted(name for name in os.listdir(folder) if name.startswith("."))
