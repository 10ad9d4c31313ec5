"""Commands in a process from which packages are hidden, which stands for an install without them.

``python -m tests.installs.without HIDDEN COMMANDS WATCHED`` takes three JSON lists and prints one: of each command the
exit code, stdout, stderr, and which of the watched modules are loaded after it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Collection
from typing import Any

__all__ = ["main"]


class _Hiding:
    """A finder that does not find some packages; no finder before it could deny what a later one finds."""

    def __init__(self, finder: Any, names: Collection[str]) -> None:
        self._finder, self._names = finder, names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return None if name.partition(".")[0] in self._names else self._finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


def _run(command: str, watched: Collection[str]) -> tuple[int, str, str, list[str]]:
    from trueport.cli import main as run

    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["trueport", *command.split()]
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run()
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.getvalue(), err.getvalue(), sorted(set(watched) & set(sys.modules))


def main(hidden: Collection[str], commands: Collection[str], watched: Collection[str]) -> None:
    """Run commands one after the other."""
    sys.meta_path[:] = [_Hiding(finder, hidden) for finder in sys.meta_path]
    print(json.dumps([_run(command, watched) for command in commands]))


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:4]))
