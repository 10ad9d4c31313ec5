"""When a name, a text or a piece of code names an operator."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["means", "mentioned", "names", "texts"]

_WORD = re.compile(r"\w+")


def names(text: str, wanted: AbstractSet[str]) -> bool:
    """True if a text has one of the words, or is one in another spelling: ``leaky_relu``, ``leaky relu``."""
    return not wanted.isdisjoint(_WORD.findall(text)) or _squashed(text) in map(_squashed, wanted)


def _squashed(text: str) -> str:
    return text.replace("_", "").replace(" ", "").lower()


def means(name: str, operator: str) -> bool:
    """True if the last part of a public name is the operator's: ``tf.nn.leaky_relu``, ``keras.layers.LeakyReLU``."""
    wanted = _squashed(operator)
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


def mentioned(nodes: Iterable[ast.AST], wanted: AbstractSet[str]) -> bool:
    """True if a name, an attribute or a string of the code, docstrings aside, has one of the ``wanted`` words."""
    parts = [part for node in nodes for part in ast.walk(node)]
    docstrings = {id(part.value) for part in parts if isinstance(part, ast.Expr)}
    for part in parts:
        if isinstance(part, ast.Constant):
            found = isinstance(part.value, str) and id(part) not in docstrings and names(part.value, wanted)
        else:
            found = getattr(part, "attr", getattr(part, "id", "")) in wanted
        if found:
            return True
    return False
