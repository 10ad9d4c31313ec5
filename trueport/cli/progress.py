"""Stages on the screen while something long runs; nothing when the output is not a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(*, enabled: bool) -> Iterator[Callable[[str], None]]:
    """A function to call with the name of each stage as it begins."""
    if not enabled or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    # A descriptor of its own: where trueport.quiet redirects that of stderr, the display goes on.
    with (
        os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding) as screen,
        Progress(*columns, console=Console(file=screen), transient=True) as bar,
    ):
        task = bar.add_task("starting", total=None)
        yield lambda stage: bar.update(task, description=stage)
