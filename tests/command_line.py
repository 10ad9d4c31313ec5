"""The command as it is installed, run in this process: the fixture of all tests of the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from trueport.cli import main

__all__ = ["Cli", "Done", "cli"]


class Done(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Done]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """``cli("convert", path, …)``."""

    def run(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["trueport", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capsys.readouterr()
        return Done(int(exit_.value.code or 0), captured.out, captured.err)

    return run
