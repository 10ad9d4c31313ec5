"""Element-wise arithmetic: sums, products, powers, extremes, rounding, exponentials."""

from __future__ import annotations

import functools

import numpy as np

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels import numeric
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.backends.tensorflow.kernels.numeric import is_half, is_integer, is_unsigned, like, via, widened
from trueport.backends.tensorflow.kernels.rows import plus_bias
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Add", audited=14)
def add(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    for product, bias in ((A, B), (B, A)):
        if (made := plus_bias(product, bias)) is not None:
            return made
    return tf.add(A, B)


@maps("Div", audited=14)
def div(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    if not is_integer(A):
        return tf.divide(A, B)
    divisor, flipped = _without_minus_one(t, B)
    quotient = tf.truncatediv(A, divisor)
    return quotient if flipped is None else tf.where(flipped, -A, quotient)


@maps("Mod", audited=28)
def mod(t: Emission, A: Tensor, B: Tensor, *, fmod: int) -> Tensor:
    if not is_integer(A):
        return widened(_truncated_mod if fmod else _floored_mod, A, B)
    divisor, flipped = _without_minus_one(t, B)
    if not fmod or is_unsigned(A):
        remainder = tf.math.floormod(A, divisor)
    elif A.dtype.size < 4:
        remainder = via(tf.int32, tf.truncatemod, A, divisor)
    else:
        remainder = tf.truncatemod(A, divisor)
    return remainder if flipped is None else tf.where(flipped, like(0, A), remainder)


def _without_minus_one(t: Emission, divisor: Tensor) -> tuple[Tensor, Tensor | None]:
    """The divisor with -1 replaced by 1, and where it was: the least integer by -1 traps the processor."""
    known = t.static(divisor)
    if is_unsigned(divisor) or (known is not None and not np.any(known == -1)):
        return divisor, None
    flipped = tf.equal(divisor, like(-1, divisor))
    return tf.where(flipped, like(1, divisor), divisor), flipped


def _floored_mod(a: Tensor, b: Tensor) -> Tensor:
    remainder = tf.math.floormod(a, b)
    # A zero has the sign of the divisor.
    return tf.where(tf.equal(remainder, 0), tf.where(b < 0, like(-0.0, b), like(0.0, b)), remainder)


def _truncated_mod(a: Tensor, b: Tensor) -> Tensor:
    """Of the magnitudes, with the sign of the dividend: TruncateMod is the same, but has no gradient."""
    remainder = tf.math.floormod(tf.abs(a), tf.abs(b))
    return tf.where(tf.equal(remainder, 0), a * 0, tf.where(a < 0, -remainder, remainder))


@maps("Abs", audited=13)
def abs_(t: Emission, X: Tensor) -> Tensor:
    return X if is_unsigned(X) else tf.abs(X)


@maps("Sign", audited=13)
def sign(t: Emission, input: Tensor) -> Tensor:
    return tf.minimum(input, like(1, input)) if is_unsigned(input) else tf.sign(input)


@maps("Reciprocal", audited=13)
def reciprocal(t: Emission, X: Tensor) -> Tensor:
    # Division is rounded right; tf.math.reciprocal, which the optimizer would put for 1 / x, refines an estimate.
    return tf.divide(opaque(like(1, X)), X)


# The bounds of these kernels are their largest distances from the truth over every 509th float32.


@maps("Erf", audited=13)
def erf(t: Emission, input: Tensor) -> Tensor:
    return numeric.erf(input)


@maps("Max", audited=13)
def max_(t: Emission, *data_0: Tensor) -> Tensor:
    return functools.reduce(tf.maximum, data_0)


@maps("Min", audited=13)
def min_(t: Emission, *data_0: Tensor) -> Tensor:
    return functools.reduce(tf.minimum, data_0)


@maps("Sum", audited=13)
def sum_(t: Emission, *data_0: Tensor) -> Tensor:
    return widened(lambda *terms: functools.reduce(tf.add, terms), *data_0)


@maps("Mean", audited=13)
def mean(t: Emission, *data_0: Tensor) -> Tensor:
    return widened(lambda *terms: functools.reduce(tf.add, terms) / like(len(terms), terms[0]), *data_0)


@maps("Clip", audited=13)
def clip(t: Emission, input: Tensor, min: Tensor | None, max: Tensor | None) -> Tensor:
    if (_scalar(t, min), _scalar(t, max)) == (0, 6) and not is_integer(input):
        return tf.nn.relu6(input)
    # In this order the greater wins where the limits cross.
    x = input if min is None and is_integer(input) else tf.maximum(input, _limit(min, input.dtype.min, input))
    return x if max is None and is_integer(input) else tf.minimum(x, _limit(max, input.dtype.max, input))


def _scalar(t: Emission, limit: Tensor | None) -> float | None:
    known = t.static(limit)
    return None if known is None else known.item()


def _limit(given: Tensor | None, own: float, x: Tensor) -> Tensor:
    """An absent limit is the type's own: infinities are cut too."""
    return tf.constant(own, x.dtype) if given is None else tf.reshape(given, [])


@maps("Pow", audited=15)
def pow_(t: Emission, X: Tensor, Y: Tensor) -> Tensor:
    if is_integer(X):
        return _integer_power(X, Y) if is_integer(Y) else via(tf.float64, tf.pow, X, Y)
    known = t.static(Y)
    exponent = None if known is None or known.size != 1 else float(known.item())
    wide = tf.float64 if X.dtype == tf.float64 or not _fits_float32(Y, known) else tf.float32
    y = tf.cast(Y, wide)
    if exponent in (0.5, -0.5) or (X.shape.rank or 0) < (Y.shape.rank or 0):
        # The optimizer would put a square root, which departs from the power at minus infinity and minus zero, or a
        # square, which has no more axes than the base.
        y = opaque(y)
    return tf.cast(tf.pow(tf.cast(X, wide), y), X.dtype)


def _fits_float32(exponent: Tensor, known: np.ndarray | None) -> bool:
    """Whether float32 holds every value of the exponent."""
    if known is not None:
        return bool(np.all(known.astype(np.float32) == known))
    return exponent.dtype == tf.float32 or is_half(exponent) or exponent.dtype.size < 4


def _integer_power(x: Tensor, exponent: Tensor) -> Tensor:
    """Exact, modulo 2ⁿ; a negative exponent gives the quotient 1 / xⁿ truncated, as integer division does."""
    wide = tf.cast(exponent, tf.int64)
    power = via(tf.int64, lambda base: tf.pow(base, tf.maximum(wide, 0)), x)
    if is_unsigned(exponent):
        return power
    one, minus_one = tf.equal(x, like(1, x)), tf.equal(x, like(-1, x))
    odd = tf.bitwise.bitwise_and(wide, 1) > 0
    inverse = tf.where(one | (minus_one & ~odd), like(1, x), tf.where(minus_one, like(-1, x), like(0, x)))
    return tf.where(wide < 0, inverse, power)
