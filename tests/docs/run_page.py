"""Run the snippets of one page, in order, in the current folder: ``run_page.py PAGE``.

```python            runs; all blocks of a page share their names, and ``x`` is there, a batch of inputs
```python file=NAME  is written to NAME
```python no-run     is for reading only
```console           lines ``$ trueport …`` run; ``# exit 2`` at their end is the exit code to expect, 0 without
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.docs.workspace import furnish
from trueport.cli.app import main

__all__ = ["Block", "blocks"]

_FENCE = re.compile(r"^```(\w*) *(.*)$")
_COMMAND = re.compile(r"^\$ (trueport .*?)(?:\s+# .*?(?:exit (\d)).*|\s+#.*)?$")


class Block(NamedTuple):
    """A fenced block: where its text begins, its language, the words after that, its text."""

    line: int
    language: str
    option: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    opened: tuple[int, str, str] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence is None:
            body.append(line)
        elif opened is None:
            opened, body = (number, fence[1], fence[2]), []
        else:
            yield Block(*opened, "\n".join(body) + "\n")
            opened = None
    assert opened is None, f"{page}: a block is not closed"


def _run_command(words: list[str], wanted: int, where: str) -> None:
    sys.argv = words
    code: Any = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code or 0
    assert code == wanted, f"{where}: {shlex.join(words)} gave {code}, the page says {wanted}"


def _run_page(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "__page__", "x": np.load("x.npy")}
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.language == "console":
            for line in block.text.splitlines():
                command = _COMMAND.match(line)
                assert command or not line.startswith("$ trueport"), f"{where}: {line}"
                if command:
                    _run_command(shlex.split(command[1]), int(command[2] or 0), where)
        elif block.language == "python" and block.option.startswith("file="):
            Path(block.option.removeprefix("file=")).write_text(block.text)
        elif block.language == "python" and block.option != "no-run":
            # Lines are counted from the page's beginning, so that an error points into the page.
            exec(compile("\n" * block.line + block.text, str(page), "exec"), names)


if __name__ == "__main__":
    furnish(Path.cwd())
    _run_page(Path(sys.argv[1]))
