"""Every place in the package that raises one of its own errors, and which of them a piece of code comes by."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import cast
from unittest import mock

import trueport
from trueport import errors
from trueport.errors import TrueportError

__all__ = ["Site", "all_sites", "recorded"]

ROOT = Path(trueport.__file__).parent


@dataclass(frozen=True, order=True)
class Site:
    """A raise statement: the file, the function it stands in, and which one of that function it is."""

    file: str
    function: str
    number: int

    def __str__(self) -> str:
        return f"{self.file} {self.function} {self.number}"


@functools.cache
def all_sites() -> dict[tuple[str, int], Site]:
    """By file and line; a statement has all of its lines."""
    found: dict[tuple[str, int], Site] = {}
    trees = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}
    makers = {*errors.__all__, *(name for tree in trees.values() for name in _makers(tree))}
    for name, tree in sorted(trees.items()):
        for function, node in _raises(tree, "", makers):
            count = len({site.number for site in found.values() if (site.file, site.function) == (name, function)})
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[name, line] = Site(name, function, count)
    return found


def _makers(tree: ast.AST) -> Iterator[str]:
    """Functions that make one of our errors to be raised: ``raise t.fail(why, remedy)``."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef)
            and isinstance(node.returns, ast.Name)
            and node.returns.id in errors.__all__
        ):
            yield node.name


def _raises(tree: ast.AST, function: str, makers: Collection[str]) -> Iterator[tuple[str, ast.Raise]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from _raises(node, f"{function}.{node.name}" if function else node.name, makers)
            continue
        if isinstance(node, ast.Raise) and any(_called(part) in makers for part in ast.walk(node)):
            yield function, node
        yield from _raises(node, function, makers)


def _called(node: ast.AST) -> str:
    made = node.func if isinstance(node, ast.Call) else None
    return made.id if isinstance(made, ast.Name) else made.attr if isinstance(made, ast.Attribute) else ""


@contextmanager
def recorded() -> Iterator[set[Site]]:
    """The sites whose errors are made inside, also those that someone catches on the way."""
    found: set[Site] = set()
    make = TrueportError.__init__

    def noted(self: TrueportError, *args: object, **named: object) -> None:
        site, frame = None, cast("FrameType | None", sys._getframe(1))
        # The statement itself may stand further out: functions help to make the error.
        while site is None and frame is not None:
            site, frame = _site(frame), frame.f_back
        found.update([site] if site else [])
        make(self, *args, **named)  # type: ignore[arg-type]

    with mock.patch.object(TrueportError, "__init__", noted):
        yield found


def _site(frame: FrameType) -> Site | None:
    file = Path(frame.f_code.co_filename)
    return all_sites().get((file.relative_to(ROOT).as_posix(), frame.f_lineno)) if file.is_relative_to(ROOT) else None
