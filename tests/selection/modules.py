"""What a module of tests says of an operator, read from its text: nothing is imported."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

from tests.selection.names import mentioned

__all__ = ["Mentions", "mentions_of"]

_ROOT = Path(__file__).parents[2]
_TABLES = (
    "trueport.backends.tensorflow.registry",
    "trueport.frontends.tensorflow.registry",
    "trueport.operators.table",
)
"""Modules that list operators: tests whose rows come from them name none."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mentions:
    """Test functions of a module that concern an operator."""

    by_body: frozenset[str]
    """the function names it, or calls one that does"""
    by_rows: bool
    """a table or an imported module may name it: the rows that do"""

    def __bool__(self) -> bool:
        return bool(self.by_body) or self.by_rows


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def mentions_of(path: Path, wanted: frozenset[str]) -> Mentions:
    """Return what the module at ``path`` says of the operators ``wanted``."""
    functions = {node.name: node for node in _tree(path).body if isinstance(node, _Function)}
    named = {name for name, node in functions.items() if mentioned(node.body, wanted)}
    while more := {n for n, node in functions.items() if n not in named and mentioned(node.body, named)}:
        named |= more
    others = [node for node in _tree(path).body if not isinstance(node, _Function)]
    decorators = [decorator for node in functions.values() for decorator in node.decorator_list]
    by_rows = mentioned([*others, *decorators], wanted) or _imports_mention(path, wanted)
    return Mentions(frozenset(name for name in named if name.startswith("test")), by_rows)


def _imports_mention(path: Path, wanted: frozenset[str]) -> bool:
    modules = {node.module or "" for node in ast.walk(_tree(path)) if isinstance(node, ast.ImportFrom)}
    files = (_ROOT / f"{module.replace('.', '/')}.py" for module in modules if module.startswith("tests."))
    return bool(modules.intersection(_TABLES)) or any(
        mentioned(_tree(file).body, wanted) for file in files if file.exists()
    )
