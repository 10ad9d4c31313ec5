"""Worker processes that run trials, each with a time limit: a crash ends one trial, not the run."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import queue
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

from bench.faults.strangers.cells import Choice, Ticket
from bench.faults.strangers.trials import Record, run_trial

__all__ = ["LIMIT", "run_trials"]

LIMIT = 300.0
"""Seconds of wall time for one trial."""
_START = 120.0
"""Seconds more for the first trial of a process, which imports frameworks."""


def _serve(connection: Connection) -> None:
    """Run trials until None is received; send the record before each stage and at the end."""
    while (asked := connection.recv()) is not None:
        ticket, choice = asked
        try:
            record = run_trial(ticket, choice, lambda r: connection.send((False, r)))
        except Exception as error:  # of the injector itself: shown, not scored
            record = Record(ticket.key, ticket.kind, error=f"injector: {type(error).__name__}: {error}")
        connection.send((True, record))


class Worker:
    """A process that runs one trial after another; it is started anew after a crash or the time limit."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._process: Any = None
        self._connection: Connection | None = None

    def run(self, ticket: Ticket, choice: Choice) -> Record:
        deadline = time.monotonic() + self.limit + (_START if self._process is None else 0.0)
        connection = self._open()
        connection.send((ticket, choice))
        last, ended = Record(ticket.key, ticket.kind), False
        try:
            while not ended:
                if not connection.poll(max(0.0, deadline - time.monotonic())):
                    return self._fail(last, f"time limit of {self.limit:.0f} s in {last.stage}")
                ended, last = connection.recv()
        except (EOFError, ConnectionError):
            return self._fail(last, f"the process ended in {last.stage}")
        return last

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._connection = None

    def _open(self) -> Connection:
        if self._process is None or self._connection is None:
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        return self._connection

    def _fail(self, record: Record, error: str) -> Record:
        """Stop the process; what was known before stands."""
        self.close()
        record.error = error
        return record


def run_trials(tickets: Sequence[Ticket], choice: Choice, jobs: int = 1, limit: float = LIMIT) -> Iterator[Record]:
    """Yield records as they are ready, ``jobs`` trials at a time."""
    workers: queue.Queue[Worker] = queue.Queue()
    for _ in range(jobs):
        workers.put(Worker(limit))

    def run(ticket: Ticket) -> Record:
        worker = workers.get()
        try:
            return worker.run(ticket, choice)
        finally:
            workers.put(worker)

    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        pending = [pool.submit(run, ticket) for ticket in tickets]
        for done in concurrent.futures.as_completed(pending):
            yield done.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        while not workers.empty():
            workers.get().close()
