"""One hostile file: how it is made, what is done with it, and what must come of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Command", "Hostile", "Payload", "of_model", "touch"]

Command = tuple[object, ...]


@dataclass(frozen=True)
class Hostile:
    """A file that creates the canary file if anything in it is executed."""

    name: str
    build: Callable[[Path, Path], Sequence[Command]]
    """Write the file into a folder (first argument), with the canary's path (second); return the commands to run."""
    named: str = ""
    """What the refusal must name: a member, a layer, an operator. Empty for files that must change nothing."""
    consent: bool = True
    """True if the refusal must offer ``--trust``; False if it must not, because that would not help."""


def touch(canary: Path) -> str:
    """Return a shell command that creates the canary."""
    return f"touch {canary}"


class Payload:
    """Creates the canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (touch(self.canary),)


def of_model(file: Path, *, info: bool = True, words: Sequence[object] = ()) -> list[Command]:
    """Return the commands that a user runs on a model that is not ONNX; ``words`` are further options."""
    output = file.parent / "out.onnx"
    other = file.parent / "other.onnx"
    commands: list[Command] = [
        ("check", file, "--to", "onnx", *words),
        ("convert", file, "-o", output, "--overwrite", *words),
        ("verify", file, other, *(word for word in words if word not in ("--outputs", "y:0", "--inputs", "x:0"))),
    ]
    return [("info", file), *commands] if info else commands
