"""When a name, a text or a piece of code names an operator."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["means", "mentioned", "texts", "words"]

_WORD = re.compile(r"\w+")


def words(text: str) -> set[str]:
    """Return the words of a text: letters, digits and underscores."""
    return set(_WORD.findall(text))


def means(name: str, operator: str) -> bool:
    """True if the last part of a public name is the operator's: ``tf.nn.leaky_relu``, ``keras.layers.LeakyReLU``."""
    wanted = operator.replace("_", "").lower()
    tokens = [token for token in name.rpartition(".")[2].lower().split("_") if token]
    starts = range(len(tokens))
    return any("".join(tokens[i:j]) == wanted for i in starts for j in range(i + 1, len(tokens) + 1))


def texts(value: Any, depth: int = 3) -> Iterator[str]:
    """Yield the texts in a test's parameter, which may be a tuple, list or dict of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and depth:
        yield from texts([*value, *value.values()], depth)
    elif isinstance(value, tuple | list | set | frozenset) and depth:
        for part in value:
            yield from texts(part, depth - 1)


def mentioned(nodes: Iterable[ast.AST], wanted: set[str]) -> bool:
    """True if code names one of the ``wanted`` words: as a name, an attribute, or in a text that is no docstring."""
    parts = [part for node in nodes for part in ast.walk(node)]
    docstrings = {id(part.value) for part in parts if isinstance(part, ast.Expr)}
    for part in parts:
        if isinstance(part, ast.Constant):
            named = words(part.value) if isinstance(part.value, str) and id(part) not in docstrings else set()
        else:
            named = {getattr(part, "attr", getattr(part, "id", ""))}
        if named & wanted:
            return True
    return False
