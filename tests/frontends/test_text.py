"""Strings."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree
from trueport.errors import TrueportError
from trueport.formulas.texts import literals


def _s(*items: Any) -> np.ndarray:
    return np.array(items, object)


_TEXTS = [
    [_s("Hello, World!", "", " a  b\tc\n", "x,,y,", "ÀÉ ß İ Σ", "don't", "a\x0bb\x0cc\rd", "\\^_`{|}~")],
    [_s("one two", "<br />A<br />b", "3.5")],
    [_s("")],
]


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "join": lambda x: tf.strings.join([x, "-", x]),
    "join with a separator": lambda x: tf.strings.join([x, x, "z"], " + "),
    "reduce": lambda x: tf.strings.reduce_join(x),
    "reduce an axis": lambda x: tf.strings.reduce_join(tf.stack([x, x, x], 1), 1, separator="|"),
    "reduce both": lambda x: tf.strings.reduce_join(tf.stack([x, x], 1), [0, 1], keepdims=True, separator=","),
    "reduce both the other way": lambda x: tf.strings.reduce_join(tf.stack([x, x], 1), [1, 0]),
    "lower": tf.strings.lower,
    "upper": tf.strings.upper,
    "lower of a table": lambda x: tf.strings.lower(tf.stack([x, x], 1)),
    "split": lambda x: tf.raw_ops.StringSplitV2(input=x, sep=""),
    "split at commas": lambda x: tf.raw_ops.StringSplitV2(input=x, sep=","),
    "split at one comma": lambda x: tf.raw_ops.StringSplitV2(input=x, sep=",", maxsplit=1),
    "match": lambda x: tf.strings.regex_full_match(x, r"[\w, !]*"),
    "match computed": lambda x: tf.raw_ops.RegexFullMatch(input=x, pattern=r".+"),
    "replace one": lambda x: tf.strings.regex_replace(x, "<br />", " "),
    "replace the first": lambda x: tf.strings.regex_replace(x, ",", "; ", replace_global=False),
    "replace some": lambda x: tf.strings.regex_replace(x, r"[,\.!a-c]", ""),
    "replace many": lambda x: tf.strings.regex_replace(x, r"[!\"#]+", ""),
    "replace by a word": lambda x: tf.strings.regex_replace(x, "[, ]", "__"),
    "n-grams": lambda x: tf.strings.ngrams(tf.strings.split(x), 2),
    "n-grams of two widths": lambda x: tf.strings.ngrams(tf.strings.split(x, ","), (1, 3), separator=""),
    "n-grams with ends": lambda x: tf.strings.ngrams(tf.strings.split(x), (3, 2), pad_values=("<", ">")),
    "n-grams with one end": lambda x: tf.strings.ngrams(tf.strings.split(x), 3, pad_values="#", padding_width=1),
    "equal": lambda x: tf.equal(x, "one two"),
}


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_functions(name: str) -> None:
    agree(_FUNCTIONS[name], *_TEXTS)


def test_no_strings_at_all() -> None:
    none = np.array([], object)
    agree(tf.strings.lower, [none], [_s("A")])
    agree(lambda x: tf.raw_ops.StringSplitV2(input=x, sep=""), [none], [_s("A b")])
    agree(lambda x: tf.raw_ops.StringSplitV2(input=x, sep=","), [none], [_s("A,b")])
    agree(lambda x: tf.strings.regex_replace(x, ",", ""), [none], [_s("A,b")])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64", "bool"])
def test_numbers_as_strings(dtype: str) -> None:
    top = 1 if dtype == "bool" else np.iinfo(dtype).max
    agree(tf.strings.as_string, [np.array([0, 1, top], dtype)], [np.array([1]).astype(dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64"])
def test_strings_as_numbers(dtype: str) -> None:
    texts = ["0", "12", " 7 "] + (["-1.5e3", "nan", "-inf", ".5"] if dtype.startswith("float") else [])
    agree(lambda x: tf.strings.to_number(x, dtype), [_s(*texts)], [_s("3")])


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: tf.strings.lower(x, "utf-8"), "full rules"),
        (lambda x: tf.strings.regex_replace(x, r"\s+", " "), "whole strings"),
        (lambda x: tf.strings.regex_replace(x, r"(a)", r"\1\1"), "whole strings"),
        (lambda x: tf.strings.as_string(tf.strings.to_number(x)), "C's format"),
        (lambda x: tf.strings.format("{}", x), "opaque"),
        (lambda x: tf.raw_ops.StringSplitV2(input=x, sep="", maxsplit=1), "number of spaces"),
    ],
)
def test_what_onnx_cannot_say(function: Any, says: str) -> None:
    with pytest.raises(TrueportError, match=says):
        agree(function, [_s("a")], [_s("a", "b")])


@pytest.mark.parametrize(
    ("pattern", "want"),
    [
        ("abc", ["abc"]),
        (r"a\.b", ["a.b"]),
        (r"\n", ["\n"]),
        ("a.b", None),
        ("a|b", None),
        ("", None),
        (r"\d", None),
        ("[ab]", ["a", "b"]),
        ("[a-c_-]", ["a", "b", "c", "_", "-"]),
        (r"[,-\.]", [",", "-", "."]),
        (r"[\]\\]", ["]", "\\"]),
        ("[^a]", None),
        ("[[:alpha:]]", None),
        ("[ab][cd]", None),
        ("[]", None),
    ],
)
def test_patterns_that_are_fixed(pattern: str, want: list[str] | None) -> None:
    assert literals(pattern) == want


@pytest.mark.parametrize(
    "function",
    [
        tf.strings.strip,
        lambda x: tf.strings.length(x, "UTF8_CHAR"),
        lambda x: tf.strings.regex_replace(x, r"\s+", " "),
        lambda x: tf.strings.regex_replace(x, r"(\w)", r"<\1>", replace_global=False),
    ],
)
@pytest.mark.skipif(find_spec("onnxruntime_extensions") is None, reason="onnxruntime-extensions is not installed")
def test_extensions_where_they_are_allowed(function: Any) -> None:
    agree(function, *_TEXTS, [np.array([], object)], extensions=True)
    with pytest.raises(TrueportError, match="--extensions"):
        agree(function, *_TEXTS)


@pytest.mark.skipif(find_spec("onnxruntime_extensions") is not None, reason="onnxruntime-extensions is installed")
def test_extensions_that_are_not_installed_are_named() -> None:
    with pytest.raises(TrueportError, match="onnxruntime-extensions"):
        agree(tf.strings.strip, [_s("a")], [_s("a", "b")], extensions=True)
