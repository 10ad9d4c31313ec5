"""A command in a process of its own: how long it took, how much memory it had at most, what it said."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Outcome", "run"]


@dataclass(frozen=True)
class Outcome:
    """What became of a child."""

    seconds: float
    peak_bytes: int
    failure: str = ""
    """why it failed, in a line; empty when it did not"""
    late: bool = False
    """it was ended at the time limit"""
    cpu: float = 0.0
    """seconds that processors worked for it: on a busy machine the fairer measure"""


PATIENCE = 10
"""how many times the limit a child may wait for processors that others keep busy"""


def run(command: Sequence[str], *, limit: float, folder: Path | None = None) -> Outcome:
    """Run to the end, or until processors worked ``limit`` seconds for it; ``folder`` is where the child works."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        child = subprocess.Popen(
            command, stdout=said, stderr=said, env={**os.environ, **quiet}, cwd=folder, start_new_session=True
        )
        ended = threading.Event()
        threading.Thread(target=_watch, args=(child.pid, limit, ended), daemon=True).start()
        # Popen has no way to ask for the usage of this one child.
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        ended.set()
        said.seek(0)
        text = said.read().decode(errors="replace")
    cpu = usage.ru_utime + usage.ru_stime
    late = child.returncode != 0 and (cpu >= limit or seconds >= PATIENCE * limit)
    failure = "" if child.returncode == 0 else f"over {limit:.0f} s" if late else _reason(text)
    return Outcome(seconds, usage.ru_maxrss * 1024, failure, late, cpu)


def _watch(pid: int, limit: float, ended: threading.Event) -> None:
    """End a child that is late. Not by a resource limit: the kernel then reads the child's clock by whole ticks."""
    start = time.perf_counter()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended by itself
        while not ended.wait(0.5):
            if _worked(pid) >= limit or time.perf_counter() - start >= PATIENCE * limit:
                os.killpg(pid, signal.SIGKILL)
                return


def _worked(pid: int) -> float:
    """Seconds that processors have worked for a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _reason(text: str) -> str:
    """The line that says most: the last one that names an error."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error:" in line.lower()]
    return (errors or lines or ["no message"])[-1][:160]
