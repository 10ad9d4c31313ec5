"""A limit of time for a command in this process."""

from __future__ import annotations

import faulthandler
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["limited"]


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TimeoutError if the block takes longer: it waits for a pipe, or reads a device without end.

    A framework that waits outside of Python takes no notice of signals: after twice the time the process is ended.
    """

    def stop(*_: Any) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    faulthandler.dump_traceback_later(2 * seconds, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
