"""Image files that are headers and plain pixels, read in the graph: binary PGM and PPM, uncompressed TIFF.

TensorFlow has decoders for compressed formats only.
"""

from __future__ import annotations

from collections.abc import Callable

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor

__all__ = ["is_plain_tiff", "read_pnm", "read_tiff", "starts_with"]

_HEADER = 256
"""Bytes of a portable pixmap that its header, comments included, is looked for in."""
_SPACES = (9, 10, 11, 12, 13, 32)
_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _STRIPS, _SAMPLES, _ROWS, _PLANES = 256, 257, 258, 259, 273, 277, 278, 284


def starts_with(data: Tensor, *prefixes: bytes) -> Tensor:
    """Whether a file [n] begins with one of some marks."""
    found = tf.constant(False)
    for prefix in prefixes:
        mark = tf.constant(list(prefix), tf.uint8)
        found = found | tf.reduce_all(tf.equal(_padded(data, len(prefix)), mark))
    return found


def read_pnm(data: Tensor) -> Tensor:
    """P5 (gray) or P6 (color) with one byte per sample: [height, width, 3]."""
    head = tf.cast(_padded(data, _HEADER), tf.int32)
    places = tf.range(_HEADER)
    # In a comment: the last # before stands behind the last line's end.
    comment = _last(head == ord("#"), places) > _last(head == ord("\n"), places)
    blank = tf.reduce_any(head[:, None] == tf.constant(_SPACES), 1) | comment
    before = tf.concat([[True], blank[:-1]], 0)
    starts = tf.reshape(tf.where(~blank & before), [-1])
    ends = tf.reshape(tf.where(blank & ~before), [-1])
    width, height, largest = (_decimal(head, starts[i], ends[i]) for i in (1, 2, 3))
    samples = tf.where(tf.equal(data[1], ord("6")), 3, 1)
    start = tf.cast(ends[3], tf.int32) + 1
    pixels = tf.reshape(data[start : start + width * height * samples], [height, width, samples])
    scaled = tf.round(tf.cast(pixels, tf.float32) * (255 / tf.cast(largest, tf.float32)))
    return tf.broadcast_to(tf.cast(scaled, tf.uint8), [height, width, 3])


def is_plain_tiff(data: Tensor) -> Tensor:
    """Whether a TIFF file holds uncompressed, interleaved bytes."""
    field, _ = _tiff_fields(data)
    plain = tf.equal(field(_COMPRESSION, 1), 1) & tf.equal(field(_PLANES, 1), 1)
    # Three samples have their three depths elsewhere, so a number of bits here is that of a single one.
    samples = field(_SAMPLES, 1)
    return plain & (tf.equal(samples, 3) | tf.equal(samples, 4) | (tf.equal(samples, 1) & tf.equal(field(_BITS, 1), 8)))


def read_tiff(data: Tensor) -> Tensor:
    """The first image of a file for which :func:`is_plain_tiff`: [height, width, 3]."""
    field, listed = _tiff_fields(data)
    width, height, samples = field(_WIDTH, 0), field(_HEIGHT, 0), field(_SAMPLES, 1)
    rows = tf.minimum(field(_ROWS, 2**30), tf.maximum(height, 1))
    row = tf.range(height)
    starts = tf.gather(listed(_STRIPS), row // rows) + row % rows * width * samples
    places = starts[:, None] + tf.range(width * samples)
    pixels = tf.reshape(tf.gather(data, places), [height, width, samples])[..., :3]
    return tf.broadcast_to(pixels, [height, width, 3])


def _padded(data: Tensor, count: int) -> Tensor:
    head = data[:count]
    padded = tf.pad(head, [[0, count - tf.shape(head)[0]]])
    padded.set_shape([count])
    return padded


def _last(mask: Tensor, places: Tensor) -> Tensor:
    """For each place the last one up to it where the mask holds, else -1."""
    seen = mask[None, :] & (places[None, :] <= places[:, None])
    return tf.reduce_max(tf.where(seen, places[None, :], -1), 1)


def _decimal(head: Tensor, start: Tensor, end: Tensor) -> Tensor:
    digits = tf.strings.unicode_encode(head[start:end], "UTF-8")
    return tf.strings.to_number(digits, tf.int32)


def _tiff_fields(data: Tensor) -> tuple[Callable[[int, int], Tensor], Callable[[int], Tensor]]:
    """Readers of a field's one number, or of all its numbers."""
    little = tf.equal(data[0], ord("I"))
    wide = tf.cast(data, tf.int32)

    def number(places: Tensor, size: int) -> Tensor:
        parts = tf.gather(wide, places[..., None] + tf.range(size))
        shifts = 8 * tf.range(size)
        shifts = tf.where(little, shifts, shifts[::-1])
        return tf.reduce_sum(tf.bitwise.left_shift(parts, shifts), -1)

    directory = number(tf.constant(4), 4)
    entries = directory + 2 + 12 * tf.range(number(directory, 2))
    tags = number(entries, 2)

    def listed(tag: int) -> Tensor:
        entry = tf.gather(entries, tf.argmax(tf.cast(tf.equal(tags, tag), tf.int32)))
        short, count = tf.equal(number(entry + 2, 2), 3), number(entry + 4, 4)
        size = tf.where(short, 2, 4)
        start = tf.where(count * size <= 4, entry + 8, number(entry + 8, 4))
        places = start + size * tf.range(count)
        return tf.cond(short, lambda: number(places, 2), lambda: number(places, 4))

    def field(tag: int, default: int) -> Tensor:
        there = tf.reduce_any(tf.equal(tags, tag))
        return tf.cond(there, lambda: listed(tag)[0], lambda: tf.constant(default))

    return field, listed
