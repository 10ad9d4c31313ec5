"""Calls of `verify` in a worker process with a time limit; results go to a file of JSON lines."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

__all__ = ["LIMIT", "NOT_JUDGED", "Item", "Result", "Worker", "results_file", "run_items"]

LIMIT = 300.0
"""seconds for making one pair and comparing it"""
NOT_JUDGED = ("not made", "error", "time limit", "crash", "no verdict")
"""outcomes that are not verdicts"""
_FRESH_AFTER = 40
"""items after which a worker is replaced, so that memory does not grow"""


@dataclass(frozen=True)
class Item:
    """A pair or a hidden fault, found again by name in the worker."""

    part: str
    """which catalogue has it: "pairs" or "hidden", nothing else"""
    name: str
    kind: str
    seed: int = 0


@dataclass(frozen=True)
class Result:
    """What became of an item."""

    part: str
    name: str
    kind: str
    seed: int
    outcome: str
    """the verdict, or one of `NOT_JUDGED`; "error": verify raised; "no verdict": it gave none"""
    seconds: float
    """of `verify` alone where it ran, else of the whole item"""
    text: str
    """what the verdict prints, or the error"""


class Worker:
    """A process that compares one pair after another."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=False)
        self._process.start()
        other.close()
        self.served = 0

    def judge(self, item: Item, limit: float = LIMIT) -> Result:
        """Return the result; a worker that crashed or ran out of time must not be asked again."""
        start = time.monotonic()
        self.served += 1
        try:
            self._connection.send(item)
            if not self._connection.poll(limit):
                return _result(item, "time limit", limit, "")
            result: Result = self._connection.recv()
            return result
        except (EOFError, OSError) as error:
            self._process.join(5)
            text = f"exit code {self._process.exitcode}, {type(error).__name__}"
            return _result(item, "crash", time.monotonic() - start, text)

    def stop(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._connection.send(None)
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._connection.close()


def run_items(items: Sequence[Item], path: Path, limit: float = LIMIT, shown: bool = True) -> list[Result]:
    """Return the results of all items; those that the file has already are not run again.

    ``shown`` False: the progress on stderr has no names and no verdicts.
    """
    known = {(r.part, r.name, r.seed): r for r in _read(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    results = []
    worker: Worker | None = None
    try:
        for number, item in enumerate(items, 1):
            result = known.get((item.part, item.name, item.seed))
            if result is None:
                worker = worker or Worker()
                result = worker.judge(item, limit)
                with path.open("a") as file:
                    file.write(json.dumps(asdict(result)) + "\n")
                if result.outcome in ("time limit", "crash") or worker.served >= _FRESH_AFTER:
                    worker.stop()
                    worker = None
                told = f": {item.name}: {result.outcome}, {result.seconds:.1f} s" if shown else ""
                print(f"{item.part} {number}/{len(items)}{told}", file=sys.stderr, flush=True)
            results.append(result)
    finally:
        if worker:
            worker.stop()
    return results


def results_file(part: str, resume: Path | None, cache: Path) -> Path:
    """Return the file named for resuming, or a new one in the cache."""
    if resume:
        return resume
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return cache / "pairs" / f"{part}-{stamp}.jsonl"


def _read(path: Path) -> list[Result]:
    if not path.exists():
        return []
    return [Result(**json.loads(line)) for line in path.read_text().splitlines() if line.strip()]


def _result(item: Item, outcome: str, seconds: float, text: str) -> Result:
    return Result(item.part, item.name, item.kind, item.seed, outcome, round(seconds, 2), text)


def _serve(connection: Connection) -> None:
    """Answer items until None comes."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    while (item := connection.recv()) is not None:
        with tempfile.TemporaryDirectory() as folder:
            connection.send(_judge(item, Path(folder)))


def _judge(item: Item, folder: Path) -> Result:
    from trueport.comparison import verify

    start = time.monotonic()
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            source, target, options = _make(item, folder)
        except Exception:  # any tool's own error type
            return _result(item, "not made", time.monotonic() - start, traceback.format_exc(limit=-3))
        start = time.monotonic()
        try:
            found = verify(source, target, **options)
        except Exception as error:  # as above; the report lists it apart from alarms
            text = f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}"
            return _result(item, "error", time.monotonic() - start, text)
    verdict = found.verdict.value if found.verdict else "no verdict"
    return _result(item, verdict, time.monotonic() - start, str(found))


def _make(item: Item, folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    """Return source, target and further arguments of `verify`."""
    if item.part == "pairs":
        from bench.faults.pairs.catalogue import find_pair

        pair = find_pair(item.name, item.seed)
        return (*pair.make(folder), dict(pair.options))
    from bench.faults.hidden.catalogue import find_fault

    fault = find_fault(item.name)
    return (*fault.make(folder), dict(fault.options()))
