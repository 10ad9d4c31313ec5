"""Which operations of a framework become an ONNX operator: found in the code of the frontends' handlers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import trueport
from tests.selection.names import mentioned

__all__ = ["operations"]

_FRONTENDS = Path(trueport.__file__).parent / "frontends"


def operations(frontend: str, operator: str) -> set[str]:
    """Return the operations whose handlers emit ``operator``, as ``t.op.Resize(…)``.

    Handlers that call a function of their own module that emits it count too; shared formulas do not.
    """
    return {name for file in sorted((_FRONTENDS / frontend / "ops").glob("*.py")) for name in _declared(file, operator)}


def _declared(file: Path, operator: str) -> Iterator[str]:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    emitting = {name for name, node in functions.items() if _emits(node, operator)}
    while more := {n for n, node in functions.items() if n not in emitting and mentioned(node.body, emitting)}:
        emitting |= more
    for name in emitting:
        for decorator in functions[name].decorator_list:
            if isinstance(decorator, ast.Call) and decorator.args and isinstance(decorator.args[0], ast.Constant):
                yield str(decorator.args[0].value).rpartition("::")[2].partition(".")[0]


def _emits(function: ast.FunctionDef, operator: str) -> bool:
    return any(
        isinstance(part, ast.Attribute) and part.attr == operator and getattr(part.value, "attr", "") == "op"
        for part in ast.walk(function)
    )
