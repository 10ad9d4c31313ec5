"""Strings: joined, split, matched, replaced, made of numbers and read as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.indices import shaped
from trueport.formulas.texts import extended, joined, literals, pieces, replaced, static_text, word
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Opaque, Translated
from trueport.ir.dtypes import INTEGERS
from trueport.mapping.declare import maps

__all__: list[str] = []

_SPACES = " \n\t\r\v\f"
"""What TensorFlow splits at when no separator is given."""
_MOST_REPLACED = 64


@maps("StringJoin", domain=TF, fidelity=BITWISE)
def string_join(t: Translation, inputs: tuple[ir.Value, ...], *, separator: str) -> ir.Value:
    made = inputs[0]
    for value in inputs[1:]:
        made = t.op.StringConcat(made, word(t, separator)) if separator else made
        made = t.op.StringConcat(made, value)
    return made


@maps("ReduceJoin", domain=TF, fidelity=BITWISE)
def reduce_join(
    t: Translation, inputs: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool, separator: str
) -> ir.Value:
    rank = t.rank(inputs)
    known = [int(axis) % rank for axis in np.ravel(t.need(reduction_indices, "axis"))]
    # The first axis runs fastest; no axis at all stands for all of them, the last one first.
    axes = known[::-1] or list(range(rank))
    kept = [axis for axis in range(rank) if axis not in axes]
    moved = t.op.Transpose(inputs, perm=[*kept, *axes])
    if len(axes) > 1:
        moved = t.op.Reshape(moved, t.op.Concat(t.op.Slice(t.op.Shape(moved), [0], [len(kept)]), [-1], axis=0))
    made = joined(t, moved, separator) if axes else inputs
    return t.op.Unsqueeze(made, sorted(axes)) if keep_dims and axes else made


@maps("StringLower", domain=TF, fidelity=BITWISE)
def string_lower(t: Translation, input: ir.Value, *, encoding: str) -> ir.Value:
    return _cased(t, input, "LOWER", encoding)


@maps("StringUpper", domain=TF, fidelity=BITWISE)
def string_upper(t: Translation, input: ir.Value, *, encoding: str) -> ir.Value:
    return _cased(t, input, "UPPER", encoding)


def _cased(t: Translation, text: ir.Value, action: str, encoding: str) -> ir.Value:
    if encoding:
        raise t.fail(
            "maps case by Unicode's full rules (ß to SS, a final Σ to ς); ONNX's StringNormalizer maps single letters "
            "by a locale that may not be there",
            "leave the encoding empty: letters of ASCII, or change the case before the model",
        )
    flat = text if t.rank(text) == 1 else t.op.Reshape(text, [-1])
    # StringNormalizer takes no empty list of strings.
    longer = t.op.Concat(flat, np.array([""], object), axis=0)
    # The C locale has letters of ASCII only, as TensorFlow has without an encoding, and it is everywhere.
    made = t.op.Slice(t.op.StringNormalizer(longer, case_change_action=action, locale="C"), [0], [-1])
    return made if t.rank(text) == 1 else shaped(t, made, t.op.Shape(text))


@maps("StringSplitV2", domain=TF, fidelity=BITWISE)
def string_split(
    t: Translation, input: ir.Value, sep: ir.Value, *, maxsplit: int
) -> tuple[ir.Value, ir.Value, ir.Value]:
    delimiter = static_text(t, sep, "the separator")
    if delimiter:
        table, counts = pieces(t, input, delimiter, None if maxsplit < 0 else maxsplit)
        there = t.op.Less(t.op.Range(0, t.op.Gather(t.op.Shape(table), -1), 1), t.op.Unsqueeze(counts, [-1]))
        return _ragged(t, input, table, there)
    if maxsplit >= 0:
        raise t.fail(
            "splits at a number of spaces only; ONNX's StringSplit drops the spaces at the end then",
            "split at all spaces, or name a separator",
        )
    return _split_at_spaces(t, input)


def _split_at_spaces(t: Translation, text: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Split at each kind of space in turn: a piece that is left empty is none."""
    table = text
    for space in _SPACES:
        table = t.op.several(2).StringSplit(table, delimiter=space)[0]
    shape = t.op.Shape(table)
    width = t.op.ReduceProd(t.op.Slice(shape, [1], [1 + len(_SPACES)]), keepdims=1)
    table = t.op.Reshape(table, t.op.Concat(t.op.Slice(shape, [0], [1]), width, axis=0), allowzero=1)
    return _ragged(t, text, table, t.op.Not(t.op.Equal(table, word(t, ""))))


def _ragged(t: Translation, text: ir.Value, table: ir.Value, there: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Indices, values and shape of the pieces that are there, as of a sparse matrix."""
    ones = t.op.Cast(there, to=ir.DataType.INT64)
    places = t.op.Transpose(t.op.NonZero(there), perm=[1, 0])
    columns = t.op.GatherND(t.op.Sub(t.op.CumSum(ones, np.array(1)), t.op.const(np.array(1))), places)
    rows = t.op.Gather(places, [0], axis=1)
    counts = t.op.Concat(t.op.ReduceSum(ones, [1], keepdims=0), [0], axis=0)
    shape = t.op.Concat(t.op.Shape(text), t.op.ReduceMax(counts, [0], keepdims=1), axis=0)
    return t.op.Concat(rows, t.op.Unsqueeze(columns, [1]), axis=1), t.op.GatherND(table, places), shape


@maps("StaticRegexFullMatch", domain=TF, fidelity=BITWISE)
def static_regex_full_match(t: Translation, input: ir.Value, *, pattern: str) -> ir.Value:
    return t.op.RegexFullMatch(input, pattern=pattern)


@maps("RegexFullMatch", domain=TF, fidelity=BITWISE)
def regex_full_match(t: Translation, input: ir.Value, pattern: ir.Value) -> ir.Value:
    return t.op.RegexFullMatch(input, pattern=static_text(t, pattern, "the pattern"))


@maps("StaticRegexReplace", domain=TF, fidelity=BITWISE)
def static_regex_replace(
    t: Translation, input: ir.Value, *, pattern: str, rewrite: str, replace_global: bool
) -> ir.Value:
    return _regex_replaced(t, input, pattern, rewrite, replace_global)


@maps("RegexReplace", domain=TF, fidelity=BITWISE)
def regex_replace(
    t: Translation, input: ir.Value, pattern: ir.Value, rewrite: ir.Value, *, replace_global: bool
) -> ir.Value:
    found = static_text(t, pattern, "the pattern"), static_text(t, rewrite, "the rewrite")
    return _regex_replaced(t, input, *found, replace_global)


def _regex_replaced(t: Translation, text: ir.Value, pattern: str, rewrite: str, everywhere: bool) -> ir.Value:
    plural = pattern.removesuffix("+") if pattern.endswith("]+") and everywhere and not rewrite else pattern
    old = _replaceable(plural, rewrite, everywhere)
    if t.extensions and (old is None or len(old) > 1):
        parts = t.op.const(np.array([pattern], object)), t.op.const(np.array([rewrite], object))
        return extended(t, "StringRegexReplace", text, *parts, global_replace=int(everywhere))
    if old is None:
        raise t.fail(
            f"replaces what matches {pattern!r}; ONNX can only match whole strings and split at fixed ones",
            "use a pattern that is one string or a class of characters, replaced by a string without them; "
            "or allow onnxruntime-extensions (--extensions)",
        )
    for item in old:
        text = replaced(t, text, item, rewrite, None if everywhere else 1)
    return text


def _replaceable(pattern: str, rewrite: str, everywhere: bool) -> Sequence[str] | None:
    """The strings that can be replaced one after the other with the same result."""
    old = literals(pattern)
    if old is None or len(old) > _MOST_REPLACED or "\\" in rewrite or (len(old) > 1 and not everywhere):
        return None
    alone = len(old) == 1 or not any(item in rewrite for item in old)
    return old if alone else None


@maps("StringStrip", domain=TF, fidelity=BITWISE)
def string_strip(t: Translation, input: ir.Value) -> ir.Value:
    if not t.extensions:
        raise t.fail(
            "drops spaces at the ends; ONNX has no operator for it", "allow onnxruntime-extensions (--extensions)"
        )
    return extended(t, "StringStrip", input)


@maps("StringLength", domain=TF, fidelity=BITWISE)
def string_length(t: Translation, input: ir.Value, *, unit: str) -> ir.Value:
    if not t.extensions or unit != "UTF8_CHAR":
        raise t.fail(
            "counts what a string is made of; ONNX has no operator for it",
            "count characters (unit UTF8_CHAR) and allow onnxruntime-extensions (--extensions)",
        )
    return t.cast(extended(t, "StringLength", input, dtype=ir.DataType.INT64), ir.DataType.INT32)


@maps(
    "AsString",
    domain=TF,
    fidelity=BITWISE,
    ignores={"shortest": "for floats only, which are refused", "scientific": "for floats only, which are refused"},
)
def as_string(t: Translation, input: ir.Value, *, precision: int, width: int, fill: str) -> ir.Value:
    if t.dtype(input) == ir.DataType.BOOL and width < 0:
        return t.op.Where(input, word(t, "true"), word(t, "false"))
    if t.dtype(input) not in INTEGERS or width >= 0 or precision >= 0:
        raise t.fail(
            "writes numbers in C's format; ONNX's Cast writes integers as they are and floats with as many digits "
            "as the runtime likes",
            "write integers without a width",
        )
    return t.op.Cast(input, to=ir.DataType.STRING)


@maps("StringToNumber", domain=TF, fidelity=BITWISE)
def string_to_number(t: Translation, string_tensor: ir.Value, *, out_type: ir.DataType) -> ir.Value:
    return t.op.Cast(string_tensor, to=out_type)


@maps(
    "StringFormat",
    domain=TF,
    fidelity=BITWISE,
    ignores={
        "template": "what it makes is a message; only one that is shown or checked is taken",
        "placeholder": "what it makes is a message; only one that is shown or checked is taken",
        "summarize": "what it makes is a message; only one that is shown or checked is taken",
    },
)
def string_format(t: Translation, inputs: tuple[Translated, ...]) -> Opaque:
    return Opaque("message")
