"""An error as a user comes by it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from unittest import mock

from trueport.cli.app import main

__all__ = ["Case", "cli"]


@dataclass(frozen=True)
class Case:
    """What to do, in an empty folder, for the error to come up."""

    name: str
    provoke: Callable[[], object]


def cli(*words: object) -> None:
    """The command line; its messages go to stderr."""
    with mock.patch.object(sys, "argv", ["trueport", *map(str, words)]):
        main()
