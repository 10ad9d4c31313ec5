"""Tables known at conversion, looked up with plain operations: a hash table would be state to initialize."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueport.backends.tensorflow._tf import tf

__all__ = ["index_of", "translated"]

_BUCKETS = 2**63 - 1


def index_of(x: Any, keys: Any) -> Any:
    """For each element the position of the first equal key, ``len(keys)`` where none is equal; NaN equals NaN."""
    table = np.asarray(keys)
    if table.size == 0:
        return tf.zeros(tf.shape(x), tf.int32)
    if x.dtype == tf.string:
        return _index_of_string(x, [k if isinstance(k, bytes) else k.encode() for k in table.tolist()])
    if x.dtype.is_integer:
        return _index_in_sorted(tf.cast(x, tf.int64), table.astype(np.int64), len(table))
    found = _index_in_sorted(x, table[~np.isnan(table)], len(table), np.flatnonzero(~np.isnan(table)))
    nans = np.flatnonzero(np.isnan(table))
    return tf.where(tf.math.is_nan(x), int(nans[0]) if nans.size else len(table), found)


def translated(x: Any, keys: Any, values: Sequence[Any] | np.ndarray, default: Any, dtype: Any) -> Any:
    """Each element's value in a table of keys and values."""
    table = tf.concat([tf.reshape(tf.constant(values, dtype), [-1]), tf.constant([default], dtype)], 0)
    return tf.gather(table, index_of(x, keys))


def _index_in_sorted(x: Any, keys: np.ndarray, missing: int, places: np.ndarray | None = None) -> Any:
    """By bisection; ``places`` are the positions of the keys in the whole table."""
    if keys.size == 0:
        return tf.fill(tf.shape(x), missing)
    ordered, first = np.unique(keys, return_index=True)
    positions = first if places is None else places[first]
    at = _bisect(ordered, x)
    hit = tf.equal(tf.gather(tf.constant(ordered), at), x)
    index = tf.where(hit, tf.gather(tf.constant(positions, tf.int32), at), missing)
    return tf.ensure_shape(index, x.shape)


def _index_of_string(x: Any, keys: list[bytes]) -> Any:
    """By the hash, which narrows the search to one key; then that key is compared."""
    unique = list(dict.fromkeys(keys))
    seed, hashes = _distinct_hashes(unique)
    order = np.argsort(hashes)
    hashed = tf.strings.to_hash_bucket_strong(x, _BUCKETS, key=[seed, seed])
    at = _bisect(hashes[order], hashed)
    hit = tf.equal(tf.gather(tf.constant([unique[i] for i in order]), at), x)
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    positions = tf.constant([first[unique[i]] for i in order], tf.int32)
    return tf.ensure_shape(tf.where(hit, tf.gather(positions, at), len(keys)), x.shape)


def _bisect(ordered: np.ndarray, x: Any) -> Any:
    """The one position that may hold each element; tf.searchsorted would refuse an empty ``x``."""
    at = tf.raw_ops.LowerBound(sorted_inputs=tf.constant(ordered[np.newaxis]), values=tf.reshape(x, [1, -1]))
    return tf.reshape(tf.minimum(at, len(ordered) - 1), tf.shape(x))


def _distinct_hashes(keys: list[bytes]) -> tuple[int, np.ndarray]:
    for seed in itertools.count():
        with tf.init_scope():
            hashes = tf.strings.to_hash_bucket_strong(tf.constant(keys), _BUCKETS, key=[seed, seed]).numpy()
        if len(np.unique(hashes)) == len(keys):
            return seed, hashes
    raise AssertionError("counting never ends")
