"""Text: strings taken apart, joined, cleaned, matched and counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.lookup import index_of
from trueport.fidelity import BITWISE, LOSSY, Limit
from trueport.mapping.declare import maps
from trueport.mapping.examples import example

__all__: list[str] = []

_SPACE = r"[\t-\r\x1c-\x20\x{85}\p{Z}]"
_NO_SPACE = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"
_DOTTED = ("tr", "az")
"""Languages in which I and i are two letters each, with and without a dot."""


@maps("StringConcat", fidelity=BITWISE, audited=20)
def string_concat(t: Emission, X: Tensor, Y: Tensor) -> Tensor:
    return tf.raw_ops.Add(x=X, y=Y)


@maps("RegexFullMatch", fidelity=BITWISE, audited=20)
def regex_full_match(t: Emission, X: Tensor, *, pattern: str | None) -> Tensor:
    return tf.strings.regex_full_match(X, pattern or "")


@maps("StringSplit", fidelity=BITWISE, audited=20)
def string_split(t: Emission, X: Tensor, *, delimiter: str | None, maxsplit: int | None) -> tuple[Tensor, Tensor]:
    limit = -1 if maxsplit is None else maxsplit
    flat = tf.reshape(X, [-1])
    text = flat if delimiter else _single_spaces(flat, limit)
    pieces = tf.strings.split(text, delimiter or " ", limit)
    counts = pieces.row_lengths()
    if not delimiter:
        # Between spaces there is nothing in an empty text, between delimiters there is one empty piece.
        counts = tf.where(tf.equal(text, ""), tf.constant(0, tf.int64), counts)
    width = tf.maximum(tf.reduce_max(counts), 0)
    table = pieces.to_tensor("")[:, :width]
    shape = tf.shape(X, out_type=tf.int64)
    return tf.reshape(table, tf.concat([shape, [width]], 0)), tf.reshape(counts, shape)


def _single_spaces(text: Tensor, limit: int) -> Tensor:
    """Text whose first ``limit`` separators (all, if negative) are single spaces, with none at its ends."""
    bare = tf.strings.regex_replace(text, rf"^{_SPACE}+|{_SPACE}+$", "")
    if limit < 0:
        return tf.strings.regex_replace(bare, rf"{_SPACE}+", " ")
    for done in range(limit):
        bare = tf.strings.regex_replace(bare, rf"^((?:{_NO_SPACE}+ ){{{done}}}{_NO_SPACE}+){_SPACE}+", r"\1 ")
    return bare


def _has_language(node: ir.Node, language: str) -> bool:
    locale = node.attributes.get("locale")
    return locale is not None and str(locale.as_string()).lower().startswith(language)


@maps(
    "StringNormalizer",
    fidelity=BITWISE,
    audited=10,
    limits=[
        Limit(
            "lithuanian-case",
            lambda node: _has_language(node, "lt"),
            LOSSY,
            "TensorFlow maps case by Unicode's common rules, Lithuanian keeps the dot of an accented i",
            "use another locale, or normalize the case before the model",
            example=example(
                "(string[n] x) => (string[m] y)"
                '{ y = StringNormalizer <case_change_action = "LOWER", locale = "lt_LT"> (x) }'
            ),
        )
    ],
)
def string_normalizer(
    t: Emission,
    X: Tensor,
    *,
    case_change_action: str,
    is_case_sensitive: int,
    locale: str | None,
    stopwords: list[str] | None,
) -> Tensor:
    language = (locale or "en_US").lower()[:2]
    words = tf.reshape(X, [-1])
    kept = _cased(words, case_change_action, language)
    if stopwords:
        action = "NONE" if is_case_sensitive else "UPPER" if case_change_action == "UPPER" else "LOWER"
        with tf.init_scope():
            stops = _cased(tf.constant(stopwords), action, language).numpy()
        kept = tf.boolean_mask(kept, tf.equal(index_of(_cased(words, action, language), stops), len(stops)))
    filled = tf.concat([kept, tf.fill([tf.maximum(1 - tf.size(kept), 0)], "")], 0)
    return tf.reshape(filled, tf.concat([tf.shape(X)[:-1], [-1]], 0))


def _cased(words: Tensor, action: str, language: str) -> Tensor:
    if action == "NONE":
        return words
    if action == "UPPER":
        words = tf.strings.regex_replace(words, "i", "İ") if language in _DOTTED else words
        return tf.strings.upper(words, "utf-8")
    if language in _DOTTED:
        words = tf.strings.regex_replace(tf.strings.regex_replace(words, "I", "ı"), "İ", "i")
    return tf.strings.lower(words, "utf-8")


@maps("TfIdfVectorizer", audited=9)
def tf_idf_vectorizer(
    t: Emission,
    X: Tensor,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: list[int],
    ngram_indexes: list[int],
    pool_int64s: list[int] | None,
    pool_strings: list[str] | None,
    weights: list[float] | None,
) -> Tensor:
    pool = pool_int64s if pool_strings is None else pool_strings
    assert pool is not None
    vocabulary = list(dict.fromkeys(pool))
    words = {word: index for index, word in enumerate(vocabulary)}
    tokens = tf.cast(index_of(X, np.array(vocabulary, object if pool_strings else np.int64)), tf.int64)
    batch = tf.shape(X)[:-1]
    rows = tf.reshape(tokens, [tf.reduce_prod(batch), tf.shape(X)[-1]])
    outputs = max(ngram_indexes) + 1
    scale = np.ones(len(ngram_indexes), np.float32) if weights is None else np.array(weights, np.float32)
    # One more place takes what is in no pool.
    counts = tf.zeros([tf.shape(rows)[0], len(ngram_indexes) + 1], tf.float32)
    for length, first, grams in _pools(pool, ngram_counts, min_gram_length, max_gram_length):
        ids = np.array([[words[word] for word in gram] for gram in grams], np.int64)
        for skip in range(max_skip_count + 1 if length > 1 else 1):
            found = _find_grams(rows, ids, length, skip + 1, len(vocabulary) + 1)
            place = tf.where(found < len(ids), found + first, len(ngram_indexes))
            counts += _histogram(place, len(ngram_indexes) + 1)
    counts = counts[:, :-1]
    if mode != "TF":
        counts = (tf.cast(counts > 0, tf.float32) if mode == "IDF" else counts) * scale
    return tf.reshape(_to_outputs(counts, ngram_indexes, outputs), tf.concat([batch, [outputs]], 0))


def _pools(
    pool: list[int] | list[str], starts: list[int], shortest: int, longest: int
) -> Iterator[tuple[int, int, Any]]:
    """For each length that counts: the length, the number of n-grams before, its n-grams."""
    ends = [*starts[1:], len(pool)]
    before = 0
    for length, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        grams = [pool[at : at + length] for at in range(start, end, length)]
        if grams and shortest <= length <= longest:
            yield length, before, grams
        before += len(grams)


def _find_grams(rows: Tensor, grams: np.ndarray, length: int, distance: int, base: int) -> Tensor:
    """For every start in every row the index of the n-gram that stands there, ``len(grams)`` where none does."""
    starts = tf.maximum(tf.shape(rows)[1] - distance * (length - 1), 0)
    known, state = grams[:, 0], rows[:, :starts]
    for place in range(1, length):
        # A prefix has the number of its first n-gram: with the next word it stays below 2**63.
        prefixes, numbers = np.unique(known, return_inverse=True)
        state = tf.cast(index_of(state, prefixes), tf.int64) * base + rows[:, place * distance :][:, :starts]
        known = numbers * base + grams[:, place]
    return index_of(state, known)


def _histogram(places: Tensor, count: int) -> Tensor:
    height = tf.shape(places)[0]
    cells = places + tf.range(height)[:, tf.newaxis] * count
    ones = tf.ones_like(places, tf.float32)
    return tf.reshape(tf.math.unsorted_segment_sum(ones, cells, height * count), [height, count])


def _to_outputs(counts: Tensor, indexes: list[int], outputs: int) -> Tensor:
    if indexes == list(range(outputs)):
        return counts
    return tf.transpose(tf.math.unsorted_segment_sum(tf.transpose(counts), indexes, outputs))
