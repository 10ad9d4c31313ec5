"""Signals that end a command let it clean up first, as Ctrl-C does."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ended_by_signals"]

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise SystemExit, with the code that shells give, when a signal comes that would end the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    # What the caller ignores (nohup) or handles stays as it is.
    changed = [number for number, handler in before.items() if handler == signal.SIG_DFL]
    for number in changed:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, before[number])


def _end(number: int, _: FrameType | None) -> None:
    # A second signal must not break off the cleaning up.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)
