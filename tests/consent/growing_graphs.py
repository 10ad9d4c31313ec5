"""Small TensorFlow graphs that describe gigabytes by constants."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

__all__ = ["GRAPHS"]

_MANY = 1 << 30


def _hidden(number: int) -> Any:
    """A constant that shape functions do not see: a graph without them is imported."""
    return tf.cast(tf.reduce_max(tf.where(tf.constant([False, True]))) * number, tf.int32)


def _png(width: int, height: int) -> bytes:
    """Return a picture of few bytes that has many pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes((width + 1) * height), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def _size(made: Any) -> Any:
    return tf.cast(tf.size(made), tf.float32)


GRAPHS: dict[str, Callable[[], Any]] = {
    "fill": lambda: _size(tf.fill([_MANY], 1)),
    "fill-of-hidden-size": lambda: _size(tf.fill([_hidden(_MANY)], 1)),
    "range": lambda: _size(tf.range(_MANY)),
    "range-of-hidden-size": lambda: _size(tf.range(_hidden(_MANY))),
    "tile": lambda: _size(tf.tile([1, 2], [_hidden(_MANY)])),
    "broadcast": lambda: _size(tf.broadcast_to(1, [_hidden(_MANY)])),
    "pad": lambda: _size(tf.pad([1], [[0, _hidden(_MANY)]])),
    "one-hot": lambda: _size(tf.one_hot([1], _hidden(_MANY))),
    "bin-count": lambda: _size(tf.math.bincount([1], minlength=_hidden(_MANY))),
    "scatter": lambda: _size(tf.scatter_nd([[0]], [1], [_hidden(_MANY)])),
    "repeat": lambda: _size(tf.repeat([1, 2], [_hidden(_MANY), 1])),
    "outer-product": lambda: _size(tf.range(60_000)[:, None] * tf.range(60_000)),
    "scaled-by-fill": lambda: _size(tf.cast(tf.constant([3]), tf.float32) * tf.fill([_MANY], 0.5)),
    "picture": lambda: _size(tf.io.decode_png(_png(30_000, 30_000))),
    "packed-text": lambda: _size(
        tf.strings.length(tf.io.decode_compressed([zlib.compress(bytes(1 << 30), 9)], compression_type="ZLIB"))
    ),
    "wide-number": lambda: _size(tf.strings.length(tf.strings.as_string([1, 2], width=1 << 30))),
    "replaced-text": lambda: _size(tf.strings.length(tf.strings.regex_replace(["x" * 4000], "x", "y" * 500_000))),
}
