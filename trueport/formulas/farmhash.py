"""FarmHash's 64-bit fingerprint of integers written as decimals, in integer arithmetic.

ONNX gives no bytes of a string, but those of a decimal can be computed: at most 19 digits and a sign. Sums and
products wrap in int64 as they do in uint64; shifts and bits are taken in uint64.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer

__all__ = ["bucket", "fingerprint_of_decimal"]

_MOST_DIGITS = 19
_MOST_BYTES = _MOST_DIGITS + 1
_K0, _K1, _K2 = (
    int(np.uint64(key).view(np.int64)) for key in (0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F)
)
_D = ir.DataType


def bucket(t: Writer, fingerprint: ir.Value, count: int) -> ir.Value:
    """The fingerprint's remainder, as of a number without sign."""
    made = t.op.Mod(_bits(t, fingerprint), t.op.const(np.uint64(count)))
    return t.cast(made, _D.INT64)


def fingerprint_of_decimal(t: Writer, number: ir.Value) -> ir.Value:
    """The fingerprints of integers' decimals, in int64."""
    length, last_first = _bytes(t, t.cast(number, _D.INT64))
    place = t.op.Sub(t.op.Unsqueeze(length, [-1]), t.op.const(np.arange(1, _MOST_BYTES + 1)))
    first_last = t.op.GatherElements(last_first, t.op.Max(place, t.op.const(np.array(0))), axis=-1)
    scale = t.op.Add(t.op.Mul(length, _n(t, 2)), _n(t, _K2))

    def head(start: int, count: int) -> ir.Value:
        return _word(t, first_last, {start + i: 8 * i for i in range(count)})

    def tail(end: int, count: int) -> ir.Value:
        return _word(t, last_first, {end + i: 8 * (count - 1 - i) for i in range(count)})

    tiny = _tiny(t, length, first_last, tail(0, 1))
    small = _mixed(t, t.op.Add(length, t.op.Mul(head(0, 4), _n(t, 8))), tail(0, 4), scale)
    middle = _middle(t, head(0, 8), tail(0, 8), scale)
    large = _large(t, (head(0, 8), head(8, 8), tail(0, 8), tail(8, 8)), scale)
    made = t.op.Where(t.op.Greater(length, _n(t, 16)), large, middle)
    made = t.op.Where(t.op.Less(length, _n(t, 8)), small, made)
    return t.op.Where(t.op.Less(length, _n(t, 4)), tiny, made)


def _bytes(t: Writer, number: ir.Value) -> tuple[ir.Value, ir.Value]:
    """How many bytes a decimal has, and the bytes from the last to the first, [..., 20]."""
    signed = t.op.Less(number, _n(t, 0))
    # The lowest integer has no positive counterpart: digits are those of negative numbers.
    below = t.op.Where(signed, number, t.op.Neg(number))
    powers = 10 ** np.arange(_MOST_DIGITS)
    wide = t.op.Unsqueeze(below, [-1])
    quotients = t.op.Div(wide, t.op.const(powers))
    zero = t.op.Mul(wide, _n(t, 0))
    # Not by Mod: with the sign of the dividend ONNX Runtime takes it in float64.
    higher = t.op.Concat(t.op.Slice(quotients, [1], [_MOST_DIGITS], [-1]), zero, axis=-1)
    digits = t.op.Sub(t.op.Mul(higher, _n(t, 10)), quotients)
    reached = t.op.Cast(t.op.LessOrEqual(wide, t.op.const(-powers[1:])), to=_D.INT64)
    count = t.op.Add(t.op.ReduceSum(reached, [-1], keepdims=1), _n(t, 1))
    places = t.op.const(np.arange(_MOST_BYTES))
    filled = t.op.Concat(t.op.Add(digits, _n(t, ord("0"))), zero, axis=-1)
    sign = t.op.Where(t.op.Equal(places, count), _n(t, ord("-")), _n(t, 0))
    made = t.op.Where(t.op.Less(places, count), filled, sign)
    return t.op.Add(t.op.Squeeze(count, [-1]), t.op.Cast(signed, to=_D.INT64)), made


def _word(t: Writer, data: ir.Value, shifts: dict[int, int]) -> ir.Value:
    """Bytes put together, each at its shift; all are below 64, so that the sum stays positive."""
    weights = np.zeros(_MOST_BYTES, np.int64)
    for place, shift in shifts.items():
        weights[place] = 1 << shift
    return t.op.ReduceSum(t.op.Mul(data, t.op.const(weights)), [-1], keepdims=0)


def _tiny(t: Writer, length: ir.Value, first_last: ir.Value, last: ir.Value) -> ir.Value:
    """Up to three bytes."""
    half = t.op.Unsqueeze(t.op.Div(length, _n(t, 2)), [-1])
    middle = t.op.Squeeze(t.op.GatherElements(first_last, t.op.Min(half, _n(t, _MOST_BYTES - 1)), axis=-1), [-1])
    y = t.op.Add(t.op.Gather(first_last, 0, axis=-1), t.op.Mul(middle, _n(t, 256)))
    z = t.op.Add(length, t.op.Mul(last, _n(t, 4)))
    mixed = _xor(t, t.op.Mul(y, _n(t, _K2)), t.op.Mul(z, _n(t, _K0)))
    return t.op.Mul(_shift_mixed(t, mixed), _n(t, _K2))


def _middle(t: Writer, head: ir.Value, tail: ir.Value, scale: ir.Value) -> ir.Value:
    """8 to 16 bytes."""
    a = t.op.Add(head, _n(t, _K2))
    c = t.op.Add(t.op.Mul(_rotated(t, tail, 37), scale), a)
    d = t.op.Mul(t.op.Add(_rotated(t, a, 25), tail), scale)
    return _mixed(t, c, d, scale)


def _large(t: Writer, words: tuple[ir.Value, ...], scale: ir.Value) -> ir.Value:
    """17 to 32 bytes."""
    first, b, last, before = words
    a, c, d = t.op.Mul(first, _n(t, _K1)), t.op.Mul(last, scale), t.op.Mul(before, _n(t, _K2))
    u = t.op.Add(t.op.Add(_rotated(t, t.op.Add(a, b), 43), _rotated(t, c, 30)), d)
    v = t.op.Add(t.op.Add(a, _rotated(t, t.op.Add(b, _n(t, _K2)), 18)), c)
    return _mixed(t, u, v, scale)


def _mixed(t: Writer, u: ir.Value, v: ir.Value, scale: ir.Value) -> ir.Value:
    a = _shift_mixed(t, t.op.Mul(_xor(t, u, v), scale))
    b = _shift_mixed(t, t.op.Mul(_xor(t, v, a), scale))
    return t.op.Mul(b, scale)


def _shift_mixed(t: Writer, x: ir.Value) -> ir.Value:
    bits = _bits(t, x)
    moved = t.op.BitShift(bits, t.op.const(np.uint64(47)), direction="RIGHT")
    return t.cast(t.op.BitwiseXor(bits, moved), _D.INT64)


def _rotated(t: Writer, x: ir.Value, places: int) -> ir.Value:
    bits = _bits(t, x)
    right = t.op.BitShift(bits, t.op.const(np.uint64(places)), direction="RIGHT")
    left = t.op.BitShift(bits, t.op.const(np.uint64(64 - places)), direction="LEFT")
    return t.cast(t.op.BitwiseOr(right, left), _D.INT64)


def _xor(t: Writer, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.BitwiseXor(x, y)


def _bits(t: Writer, x: ir.Value) -> ir.Value:
    return t.cast(x, _D.UINT64)


def _n(t: Writer, number: int) -> ir.Value:
    return t.op.const(np.array(number, np.int64))
