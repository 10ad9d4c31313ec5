"""Commands: each parses its words, calls the library, shows the result and chooses the exit code.

Exit codes: 0 faithful or no findings; 1 finished, but not shown to be faithful; 2 refused; 128 and the signal's
number when a signal ends the command.
Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from trueport import __version__
from trueport.cli import check, convert, inspection, report, verify
from trueport.cli.words import REFUSED
from trueport.errors import TrueportError

__all__ = ["app", "main"]

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Move neural networks between PyTorch, ONNX and TensorFlow, and see that nothing was lost.",
)
for command in (
    convert.convert,
    check.check,
    verify.verify,
    verify.locate,
    inspection.run,
    inspection.info,
    inspection.ops,
    report.diff,
    report.report,
):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trueport {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="show the version and exit")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main() -> None:
    """Run a command; an error of ours or of the system is one screen on stderr and exit code 2."""
    verbose = not {"-v", "--verbose"}.isdisjoint(sys.argv[1:])
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0" if verbose else "3")
    try:
        with ended_by_signals():
            app()
    except (TrueportError, OSError) as error:
        if verbose:
            traceback.print_exception(error)
        typer.echo(f"trueport: {_words(error)}", err=True)
        sys.exit(REFUSED)


def _words(error: TrueportError | OSError) -> str:
    """Return an error as the user reads it; the system's own ones (a full disk, no temporary folder) name a file."""
    if isinstance(error, TrueportError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


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
