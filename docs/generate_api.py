"""The reference of Trueport's public names, printed from their signatures and docstrings."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import trueport
from trueport.errors import TrueportError

__all__ = ["api_page"]

_MODULES = ("trueport.surgery", "trueport.backend")
_FUNCTION = re.compile(r"<function .*? at 0x[0-9a-f]+>")


def api_page() -> str:
    """``trueport`` itself, then the modules that users import by name; errors have a page of their own."""
    lines = [
        "# API reference",
        "",
        "Printed from the code by `make docs`. Errors: [errors.md](errors.md). What the words of a declaration mean: "
        "[custom-operators.md](custom-operators.md).",
        "",
        "## trueport",
        "",
        *_members(trueport),
    ]
    for name in _MODULES:
        module = importlib.import_module(name)
        lines += [f"## {name}", "", *_text(module), *_members(module)]
    return "\n".join(lines).rstrip() + "\n"


def _members(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__, key=str.lower):
        item = getattr(module, name)
        if isinstance(item, ModuleType) or (inspect.isclass(item) and issubclass(item, TrueportError)):
            continue
        yield from (f"### {module.__name__}.{name}", "")
        yield from _class(name, item) if inspect.isclass(item) else _function(name, item)


def _function(name: str, item: Any) -> Iterator[str]:
    if callable(item):
        yield from ("```text", _signature(name, item), "```", "")
    yield from _text(item)


def _class(name: str, item: type) -> Iterator[str]:
    yield from _text(item)
    rows = [*_fields(item), *_methods(item)]
    if rows:
        yield from ("| member | meaning |", "| --- | --- |", *rows, "")


def _fields(item: type) -> Iterator[str]:
    if dataclasses.is_dataclass(item):
        yield from (f"| `{field.name}` | `{_cell(str(field.type))}` |" for field in dataclasses.fields(item))


def _methods(item: type) -> Iterator[str]:
    for name, member in vars(item).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"| `{name}` | {_cell(_first(member))} |"
        elif inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod)):
            yield f"| `{_cell(_signature(name, getattr(item, name)))}` | {_cell(_first(member))} |"


def _signature(name: str, item: Any) -> str:
    """With its types, and without what differs from run to run."""
    plain = _FUNCTION.sub("…", str(inspect.signature(item))).replace("self, ", "").replace("(self)", "()")
    return f"{name}{plain.replace(chr(39), '')}"


def _text(item: Any) -> list[str]:
    words = inspect.getdoc(item) or ""
    return [words.replace("``", "`"), ""] if words else []


def _first(item: Any) -> str:
    return (inspect.getdoc(item) or "").partition("\n")[0].replace("``", "`")


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
