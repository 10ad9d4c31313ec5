"""Strings taken apart and put together with what ONNX has: StringSplit, StringConcat, and a Loop to join many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer
from trueport.ir.schemas import EXTENSIONS

__all__ = ["empty", "extended", "joined", "literals", "numpy_of", "pieces", "replaced", "static_text", "word"]

_UNROLLED = 8
"""Pieces up to which a join is written out."""
_MEANING = frozenset("\\.^$*+?()[]{}|")
"""Characters that are not themselves in a regular expression."""
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}


def word(t: Writer, text: str) -> ir.Value:
    """A constant of one string."""
    return t.op.const(np.array(text, object))


def extended(
    t: Writer,
    op_type: str,
    text: ir.Value,
    *inputs: ir.Value,
    dtype: ir.DataType = ir.DataType.STRING,
    **attributes: Any,
) -> ir.Value:
    """An operator of onnxruntime-extensions that works on each string alone."""
    made: ir.Value = t.op.add(op_type, (text, *inputs), {**attributes, "domain": EXTENSIONS})
    made.type, made.shape = ir.TensorType(dtype), text.shape
    return made


def empty(t: Writer, like: ir.Value) -> ir.Value:
    """Empty strings in another value's shape."""
    return t.op.Expand(word(t, ""), t.op.Shape(like))


def static_text(t: Writer, value: ir.Value, what: str) -> str:
    """A string that ONNX wants fixed."""
    text = str(numpy_of(t.need(value, what)).item())
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise t.fail(
            f"cannot take {what}, because it is not UTF-8, which ONNX's strings are", "use a string that is UTF-8"
        )
    return text


def pieces(t: Writer, text: ir.Value, delimiter: str, maxsplit: int | None = None) -> tuple[ir.Value, ir.Value]:
    """The pieces between delimiters, [..., most], filled up with empty strings, and how many there are.

    An empty text has one piece: ONNX's specification says so, ONNX Runtime says none; a column more serves both.
    """
    table, counts = t.op.several(2).StringSplit(text, delimiter=delimiter, maxsplit=maxsplit)
    column = t.op.Unsqueeze(empty(t, text), [-1])
    return t.op.Concat(table, column, axis=-1), t.op.Max(counts, t.op.const(np.array(1)))


def joined(t: Writer, table: ir.Value, separator: str = "") -> ir.Value:
    """The strings along the last axis, one after the other."""
    width = t.dims(table)[-1]
    if width is not None and 0 < width <= _UNROLLED:
        found: ir.Value = t.op.Gather(table, 0, axis=-1)
        for index in range(1, width):
            found = t.op.StringConcat(found, word(t, separator)) if separator else found
            found = t.op.StringConcat(found, t.op.Gather(table, index, axis=-1))
        return found
    if separator:
        place = t.op.Range(0, _width(t, table), 1)
        glue = t.op.Where(t.op.Greater(place, t.op.const(np.array(0))), word(t, separator), word(t, ""))
        table = t.op.StringConcat(glue, table)
    return _looped(t, table)


def _looped(t: Writer, table: ir.Value) -> ir.Value:
    """One step for each place of the last axis; in a Scan ONNX Runtime's StringConcat adds to what it made before."""
    start = t.op.Expand(word(t, ""), t.op.Slice(t.op.Shape(table), [0], [-1]))
    place = ir.Value(name="place", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([]))
    going = ir.Value(name="going", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    before = ir.Value(name="text", type=start.type, shape=start.shape)
    inner = t.inside([place, going, before])
    body = inner.close([going, inner.op.StringConcat(before, inner.op.Gather(table, place, axis=-1))])
    made: ir.Value = t.op.Loop(_width(t, table), None, start, body=body)
    made.type, made.shape = start.type, start.shape
    return made


def _width(t: Writer, table: ir.Value) -> ir.Value:
    return t.op.Gather(t.op.Shape(table), -1)


def replaced(t: Writer, text: ir.Value, old: str, new: str, maxsplit: int | None = None) -> ir.Value:
    """Every occurrence of one string replaced by another, from the left."""
    table, counts = pieces(t, text, old, maxsplit)
    if new:
        place = t.op.Range(0, _width(t, table), 1)
        inner = t.op.And(t.op.Greater(place, t.op.const(np.array(0))), t.op.Less(place, t.op.Unsqueeze(counts, [-1])))
        table = t.op.StringConcat(t.op.Where(inner, word(t, new), word(t, "")), table)
    return _looped(t, table)


def literals(pattern: str) -> list[str] | None:
    """What a regular expression matches, where that is one string or one of a few characters; else None."""
    if pattern.startswith("[") and pattern.endswith("]"):
        return _class(list(_tokens(pattern[1:-1])))
    tokens = list(_tokens(pattern))
    plain = tokens and all(char is not None and (escaped or char not in _MEANING) for char, escaped in tokens)
    return ["".join(char or "" for char, _ in tokens)] if plain else None


def _tokens(pattern: str) -> Iterator[tuple[str | None, bool]]:
    """Characters, and whether each was escaped; None for an escape that means more than one character."""
    chars = iter(pattern)
    for char in chars:
        if char != "\\":
            yield char, False
            continue
        following = next(chars, "")
        plain = following and not following.isalnum()
        yield (following if plain else _CONTROLS.get(following)), True


def _class(tokens: list[tuple[str | None, bool]]) -> list[str] | None:
    bare = [(char if not escaped else "") for char, escaped in tokens]
    if not tokens or bare[0] == "^" or "[" in bare or "]" in bare or any(char is None for char, _ in tokens):
        return None
    found: list[str] = []
    at = 0
    while at < len(tokens):
        first = tokens[at][0] or ""
        last = first
        if at + 2 < len(tokens) and bare[at + 1] == "-":
            last = tokens[at + 2][0] or ""
            at += 2
        found += [chr(code) for code in range(ord(first), ord(last) + 1)]
        at += 1
    return list(dict.fromkeys(found))


def numpy_of(array: Any) -> np.ndarray:
    """An array with plain strings in place of bytes."""
    found = np.asarray(array)
    if found.dtype.kind in "SO":
        plain = [item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else item for item in found.ravel()]
        made = np.empty(len(plain), object)
        made[:] = plain
        return made.reshape(found.shape)
    return found
