"""A model in a process of its own, with a limit on time and memory: what kills a runtime does not kill this one.

A native crash, a run without end or beyond its memory becomes a `RunFailed`. It is a fence against accidents, not
against hostile models: the child has the user's rights.
"""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from trueport import errors
from trueport.consent.folders import paths_for_child
from trueport.errors import RunFailed, TrueportError, UsageError
from trueport.ir.artifact import InnerValue
from trueport.quoting import one_line, plain_text
from trueport.runtimes.base import Model
from trueport.runtimes.machine import Machine, describe_machine
from trueport.runtimes.on_demand import OnDemand
from trueport.versions.python import module_command

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["ChildFailure", "ChildModel", "Limits", "main"]

_POLL_SECONDS = 0.05
_LOAD_SECONDS = 60.0
_SAID = 2000
"""Characters of what a child printed that an error shows."""


class ChildFailure(Exception):
    """What the runtime raised in the child, in words."""


@dataclass(frozen=True)
class Limits:
    """What one call may take."""

    seconds: float | None = None
    """for a run; to start a framework and load a model takes longer, and a minute is always allowed for it"""
    memory: int | None = None
    """bytes that the child holds in memory at any time"""


class ChildModel(Model):
    """A model that ``loader`` (``module:function``) opens in a child, called as any other."""

    def __init__(
        self,
        loader: str,
        path: str,
        limits: Limits,
        environment: Mapping[str, str],
        options: Mapping[str, Any],
    ) -> None:
        if limits.memory is not None and not Path("/proc/self/statm").exists():
            raise UsageError("memory can't be watched here: there is no /proc", where="memory", remedy="leave it out")
        self._where = path
        self._limits = limits
        self._opened_by = (loader, environment, options)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        self._process, self._connection = _start(environment, self._said)
        self._end = weakref.finalize(self, _end, self._process, self._connection)
        self.runtime, self.inputs, self.outputs = self._ask("load", loader, path, dict(options))

    def as_run_here(self) -> Model | None:
        if not self._ask("as_run_here"):
            return None
        loader, environment, options = self._opened_by
        return ChildModel(loader, self._where, self._limits, environment, {**options, "exact_sums": False})

    def inner(self) -> Mapping[str, InnerValue]:
        found: Mapping[str, InnerValue] = self._ask("inner")
        return found

    def constants(self) -> Mapping[str, Any]:
        names: list[str] = self._ask("names of constants")
        return OnDemand({name: functools.partial(self._ask, "constant", name) for name in names})

    def segment(self, fed: Mapping[str, Any], fetch: Sequence[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("segment", dict(fed), list(fetch), dict(feeds))
        return found

    def cut(self, fed: Mapping[str, Any], fetch: str, feeds: Mapping[str, Any], place: Path) -> None:
        self._ask("cut", dict(fed), fetch, dict(feeds), place)

    def machine(self) -> Machine:
        """Return what the child has loaded, and whether its oneDNN operators are on."""
        found: Machine = self._ask("machine")
        return found

    def close(self) -> None:
        """End the child."""
        self._end()

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("_run", dict(feeds), fetch)
        return found

    def _ask(self, what: str, *arguments: Any) -> Any:
        try:
            self._connection.send((what, arguments))
            self._wait(self._allowed(what))
            ok, answer = self._connection.recv()
        except (EOFError, OSError) as error:
            self._process.wait()
            raise self._dead() from error
        if ok:
            return answer
        raise _rebuilt(*answer)

    def _allowed(self, what: str) -> float | None:
        seconds = self._limits.seconds
        return seconds if seconds is None or what != "load" else max(seconds, _LOAD_SECONDS)

    def _wait(self, seconds: float | None) -> None:
        """Until there is an answer, or a limit is reached."""
        start = time.monotonic()
        while not self._connection.poll(_POLL_SECONDS):
            if self._process.poll() is not None and not self._connection.poll(0):
                raise EOFError
            memory = self._limits.memory
            if seconds is not None and time.monotonic() - start > seconds:
                raise self._stopped(f"took longer than {seconds:g} s", "allow more with timeout=… (--timeout)")
            if memory is not None and (held := _resident(self._process.pid)) > memory:
                words = f"held {held / 2**20:.0f} MB in memory, {memory / 2**20:.0f} MB are allowed"
                raise self._stopped(words, "allow more with memory=… (--memory)")

    def _stopped(self, why: str, remedy: str) -> RunFailed:
        self._process.kill()
        self._process.wait()
        return RunFailed(why, where=self._where, remedy=remedy)

    def _dead(self) -> RunFailed:
        code = self._process.returncode
        how = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        self._said.seek(0)
        said = plain_text(self._said.read().decode(errors="replace")).strip()[-_SAID:]
        return RunFailed(
            f"the process that ran the model died ({how})" + (f"; it said: {said}" if said else ""),
            where=self._where,
            remedy="the runtime itself crashed: try another version of it, or other inputs",
        )


def _start(environment: Mapping[str, str], said: IO[bytes]) -> tuple[subprocess.Popen[bytes], Connection]:
    # Here, and where the child begins: most processes start no child.
    from multiprocessing.connection import Pipe

    ours, theirs = Pipe()
    handle = theirs.fileno()
    process = subprocess.Popen(
        [*module_command("trueport.runtimes.child"), str(handle)],
        pass_fds=[handle],
        # It finds the same modules as this process, the user's included.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths_for_child()), **environment},
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
    )
    theirs.close()
    return process, ours


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    connection.close()
    process.kill()
    process.wait()


def _resident(process: int) -> int:
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):  # it has just ended: there is nothing to measure
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _rebuilt(kind: str, why: str, where: str, remedy: str) -> Exception:
    known = getattr(errors, kind, None)
    return known(why, where=where, remedy=remedy) if known is not None else ChildFailure(f"{kind}: {why}")


def _described(error: Exception) -> tuple[str, str, str, str]:
    if isinstance(error, TrueportError):
        kind = type(error).__name__
        plain = kind if kind not in ("Unsupported", "MissingDependency") else "TrueportError"
        return plain, error.why, error.where, error.remedy
    return type(error).__name__, one_line(error, _SAID), "", ""


def main(handle: int) -> None:
    """The child: opens one model, then answers until it is left alone."""
    from multiprocessing.connection import Connection

    connection = Connection(handle)
    model: Any = None
    while True:
        try:
            what, arguments = connection.recv()
        except EOFError:
            return
        try:
            if what == "load":
                model = _load(*arguments)
                answer: Any = (model.runtime, model.inputs, model.outputs)
            elif what == "machine":
                answer = describe_machine()
            elif what == "names of constants":
                answer = list(model.constants())
            elif what == "constant":
                answer = model.constants()[arguments[0]]
            elif what == "as_run_here":
                answer = model.as_run_here() is not None
            else:
                answer = getattr(model, what)(*arguments)
            message = pickle.dumps((True, answer))
        except Exception as error:  # a runtime's own error types: they go to the parent in words
            message = pickle.dumps((False, _described(error)))
        connection.send_bytes(message)


def _load(loader: str, path: str, options: Mapping[str, Any]) -> Any:
    module, _, name = loader.partition(":")
    return getattr(importlib.import_module(module), name)(path, **options)


if __name__ == "__main__":
    main(int(sys.argv[1]))
