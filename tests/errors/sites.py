"""Every place in the package that raises one of its own errors, and which of them a piece of code comes by."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import trueport
from trueport import errors
from trueport.errors import TrueportError

__all__ = ["Site", "all_sites", "recorded"]

ROOT = Path(trueport.__file__).parent
_HELPER = "fail"
"""The contexts' way to make an error at a node: ``raise t.fail(why, remedy)``."""


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
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for function, node in _raises(ast.parse(path.read_text(encoding="utf-8")), ""):
            count = len({site.number for site in found.values() if (site.file, site.function) == (name, function)})
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[name, line] = Site(name, function, count)
    return found


def _raises(tree: ast.AST, function: str) -> Iterator[tuple[str, ast.Raise]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from _raises(node, f"{function}.{node.name}" if function else node.name)
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and _is_ours(node.exc.func):
            yield function, node
        yield from _raises(node, function)


def _is_ours(made: ast.expr) -> bool:
    name = made.id if isinstance(made, ast.Name) else made.attr if isinstance(made, ast.Attribute) else ""
    return name in errors.__all__ or name == _HELPER


@contextmanager
def recorded() -> Iterator[set[Site]]:
    """The sites whose errors are made inside, also those that someone catches on the way."""
    found: set[Site] = set()
    make = TrueportError.__init__

    def noted(self: TrueportError, *args: object, **named: object) -> None:
        frame = sys._getframe(1)
        while frame.f_code.co_name in ("__init__", _HELPER) and frame.f_back is not None:
            frame = frame.f_back
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(ROOT):
            site = all_sites().get((file.relative_to(ROOT).as_posix(), frame.f_lineno))
            found.update([site] if site else [])
        make(self, *args, **named)  # type: ignore[arg-type]

    with mock.patch.object(TrueportError, "__init__", noted):
        yield found
