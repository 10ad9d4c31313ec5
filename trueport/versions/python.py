"""What Python 3.10 lacks."""

from __future__ import annotations

import sys

__all__ = ["add_note", "module_command"]


def add_note(error: BaseException, note: str) -> None:
    """Add a line to an error, as ``error.add_note`` of Python 3.11 does."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.__notes__ = [*getattr(error, "__notes__", ()), note]


def module_command(module: str) -> list[str]:
    """Return the command that runs a module without the current folder, which may hold anything, on its path."""
    if sys.version_info >= (3, 11):
        return [sys.executable, "-P", "-m", module]
    code = f"import runpy, sys; del sys.path[0]; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    return [sys.executable, "-c", code]
