"""Strings: joined, split, normalized, matched, counted; bytes and Unicode alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from tests.grid.harness import check, make_model, run_ort
from trueport.backend import prepare

WORDS = ["Monday", "tuesday", "TUESDAY", "été", "ÉTÉ", "straße", "", "日本", "😀 x"]


def strings(*items: str) -> np.ndarray:
    return np.array(items, object)


def run(op: str, *inputs: np.ndarray, outputs: int = 1, **attributes: Any) -> list[Any]:
    model = make_model(op, [inputs], outputs, **attributes)
    return list(prepare(model).run({f"x{i}": array for i, array in enumerate(inputs)}))


def test_concat_broadcasts() -> None:
    check("StringConcat", [strings(*WORDS).reshape(9, 1), strings("ß", "")], [strings("a").reshape(1, 1), strings()])
    check("StringConcat", [np.array("é", object), np.array("x", object)])


@pytest.mark.parametrize("pattern", ["", "t.*", "(?i)tuesday", r"\pL+", "[é]t(é|e)", r"..", "a|b"])
def test_regex_full_match(pattern: str) -> None:
    check("RegexFullMatch", [strings(*WORDS)], [strings()], pattern=pattern)
    check("RegexFullMatch", [strings("ab", "t\n").reshape(1, 2)], pattern=pattern)


SENTENCES = ["a,b,c", "hello  world ", ",x,,y,", "日,本", "one", " lead and trail  "]


@pytest.mark.parametrize("delimiter", [",", ",,", "本", "a"])
@pytest.mark.parametrize("maxsplit", [None, 0, 1, 2, 9])
def test_split_at_a_delimiter(delimiter: str, maxsplit: int | None) -> None:
    given = {} if maxsplit is None else {"maxsplit": maxsplit}
    check("StringSplit", [strings(*SENTENCES)], [strings("x").reshape(1)], outputs=2, delimiter=delimiter, **given)
    check("StringSplit", [strings(*SENTENCES).reshape(2, 3)], outputs=2, delimiter=delimiter, **given)


@pytest.mark.parametrize("maxsplit", [None, 0, 1, 2, 9])
@pytest.mark.parametrize("delimiter", [None, ""])
def test_split_at_spaces(maxsplit: int | None, delimiter: str | None) -> None:
    given = {name: value for name, value in (("maxsplit", maxsplit), ("delimiter", delimiter)) if value is not None}
    check("StringSplit", [strings(*SENTENCES, "")], [strings("", "")], [strings()], outputs=2, **given)
    check("StringSplit", [np.array("a b", object)], outputs=2, **given)


@pytest.mark.parametrize("maxsplit", [None, 1, 2])
def test_split_at_all_kinds_of_space(maxsplit: int | None) -> None:
    """ONNX Runtime knows the plain space only; the specification says whitespace."""
    texts = ["a\tb\nc", "a\u00a0 \u2003b\u3000", "\x85a\x1cb c", "x"]
    given = {} if maxsplit is None else {"maxsplit": maxsplit}
    pieces, counts = run("StringSplit", strings(*texts), outputs=2, **given)
    want = [text.strip().split(None, -1 if maxsplit is None else maxsplit) for text in texts]
    assert counts.tolist() == [len(row) for row in want]
    assert [row[:count].tolist() for row, count in zip(pieces, counts, strict=True)] == want


def test_split_of_nothing_at_a_delimiter_is_one_empty_piece() -> None:
    """As in the reference and in Python; ONNX Runtime says there is none."""
    pieces, counts = run("StringSplit", strings("", "a,b"), outputs=2, delimiter=",")
    assert pieces.tolist() == [["", ""], ["a", "b"]] and counts.tolist() == [1, 2]


@pytest.mark.parametrize("action", ["NONE", "LOWER", "UPPER"])
@pytest.mark.parametrize("sensitive", [0, 1])
@pytest.mark.parametrize("stopwords", [None, ["tuesday", "Été"], WORDS])
def test_normalizer(action: str, sensitive: int, stopwords: list[str] | None) -> None:
    given = {} if stopwords is None else {"stopwords": stopwords}
    # ONNX Runtime maps one character to one: ß has no capital there, as it has in Unicode's own tables.
    words = strings(*(word for word in WORDS if word != "straße"))
    options = {"case_change_action": action, "is_case_sensitive": sensitive, "locale": "C.UTF-8", **given}
    for shape in ((-1,), (1, -1)):
        model = normalizer(len(shape), **options)
        rep = prepare(model)
        for given_words in (words, words[:1]):
            x = given_words.reshape(shape)
            np.testing.assert_array_equal(rep.run([x])[0], run_ort(model, {"x": x})[0], strict=True)


def normalizer(rank: int, **options: Any) -> onnx.ModelProto:
    """ONNX infers no type for its output where dims are not known."""
    node = oh.make_node("StringNormalizer", ["x"], ["y"], **options)
    x, y = (oh.make_tensor_value_info(name, onnx.TensorProto.STRING, [1, None][-rank:]) for name in "xy")
    graph = oh.make_graph([node], "g", [x], [y])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(
    ("locale", "action", "text", "want"),
    [
        ("en_US", "UPPER", "straße ﬁn i", "STRASSE FIN I"),
        ("en_US", "LOWER", "ΟΔΥΣΣΕΥΣ I", "οδυσσευς i"),
        ("tr_TR", "UPPER", "diyarbakır", "DİYARBAKIR"),
        ("tr_TR", "LOWER", "DİYARBAKIR", "diyarbakır"),
    ],
)
def test_normalizer_by_language(locale: str, action: str, text: str, want: str) -> None:
    (got,) = prepare(normalizer(1, case_change_action=action, locale=locale)).run([strings(text)])
    assert got.tolist() == [want]


POOL = {
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 7, 7, 8],
    "ngram_counts": [0, 4, 10],
    "ngram_indexes": [0, 2, 1, 3, 6, 5, 4, 7],
}
TEXTS = ["b", "c", "e", "d", "e", "f", "g", "h", "f", "g", "g", "g", "h"]


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize(
    ("shortest", "longest", "skip"), [(1, 1, 0), (1, 2, 5), (2, 2, 0), (2, 3, 1), (1, 3, 2), (3, 3, 3)]
)
def test_tf_idf(mode: str, shortest: int, longest: int, skip: int) -> None:
    options = {"mode": mode, "min_gram_length": shortest, "max_gram_length": longest, "max_skip_count": skip}
    weights = [0.5, 2.0, 3.25, 0.1, 7.0, 1.5, 0.25, 9.0]
    given = {**POOL, **options, "weights": weights}
    row = np.array([1, 1, 3, 3, 3, 7, 7, 7, 8, 6, 7, 5, 6, 8], np.int64)
    check("TfIdfVectorizer", [row], [row[:3]], **given)
    check("TfIdfVectorizer", [row.astype(np.int32).reshape(2, 7)], [row.astype(np.int32).reshape(7, 2)], **given)
    del given["pool_int64s"]
    letters = np.array([chr(ord("`") + n) for n in row], object)
    check("TfIdfVectorizer", [letters], [letters[:1]], pool_strings=TEXTS, **given)


def test_tf_idf_without_weights() -> None:
    options = {"mode": "TFIDF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0}
    pool = {"pool_strings": ["é", "zz"], "ngram_counts": [0], "ngram_indexes": [1, 0]}
    check("TfIdfVectorizer", [strings("é", "a", "é", "zz")], **options, **pool)
