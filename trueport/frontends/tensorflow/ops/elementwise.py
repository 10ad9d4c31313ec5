"""Element-wise arithmetic: sums, products, quotients, powers, extremes, rounding, exponentials."""

from __future__ import annotations

import functools
from collections.abc import Callable

import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, BITWISE, accumulation, ulps
from trueport.formulas import numeric
from trueport.formulas.integers import integer_power, never_negative
from trueport.formulas.numeric import is_float, widened
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Add", domain=TF, error=ulps(0))
@maps("AddV2", domain=TF, error=ulps(0))
def add(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.StringConcat(x, y) if t.dtype(x) == ir.DataType.STRING else t.op.Add(x, y)


@maps("Mul", domain=TF, error=ulps(0))
def mul(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    # Every swish of Keras comes with a factor of one.
    for factor, other in ((x, y), (y, x)):
        if t.rank(factor) == 0 and (number := t.static(factor)) is not None and number == 1:
            return t.op.Identity(other)
    return t.op.Mul(x, y)


@maps("TruncateDiv", domain=TF, error=ulps(0))
def truncate_div(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    quotient = t.op.Div(x, y)
    if not is_float(x):
        return quotient
    return t.op.Where(t.op.Less(quotient, t.op.like(0, x)), t.op.Ceil(quotient), t.op.Floor(quotient))


@maps("FloorDiv", domain=TF, error=ulps(0))
def floor_div(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    quotient = t.op.Div(x, y)
    if is_float(x):
        return t.op.Floor(quotient)
    if never_negative(x) and never_negative(y):
        return quotient
    # Integers divide towards zero: one less where something is left over that has not the sign of the divisor.
    whole = t.op.Mul(quotient, y)
    if never_negative(y):
        above = t.op.Less(x, whole)
    else:
        above = t.op.Less(t.op.Mul(t.op.Sub(x, whole), t.op.Sign(y)), t.op.like(0, x))
    return t.op.Sub(quotient, t.cast(above, t.dtype(x)))


@maps("FloorMod", domain=TF, error=ulps(0))
def floor_mod(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return widened(t, functools.partial(_floored, t), x, y) if is_float(x) else t.op.Mod(x, y, fmod=0)


def _floored(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    """What is left over, with the sign of the divisor."""
    zero = t.op.like(0, x)
    rest = t.op.Mod(x, y, fmod=1)
    opposite = t.op.Less(t.op.Mul(t.op.Sign(rest), t.op.Sign(y)), zero)
    return t.op.Where(opposite, t.op.Add(rest, y), rest)


@maps("Mod", domain=TF, error=ulps(0))
@maps("TruncateMod", domain=TF, error=ulps(0))
def truncate_mod(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    if is_float(x):
        return t.op.Mod(x, y, fmod=1)
    # Not Mod: runtimes compute its fmod in floating point, which does not hold all integers.
    return t.op.Sub(x, t.op.Mul(t.op.Div(x, y), y))


@maps("DivNoNan", domain=TF, error=ulps(0))
def div_no_nan(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.Where(_is_zero(t, y), t.op.like(0, x), t.op.Div(x, y))


@maps("MulNoNan", domain=TF, error=ulps(0))
def mul_no_nan(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.Where(_is_zero(t, y), t.op.like(0, x), t.op.Mul(x, y))


def _is_zero(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Equal(x, t.op.like(0, x))


@maps("Pow", domain=TF, error=ulps(4))
def pow_(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.Pow(x, y) if is_float(x) else integer_power(t, x, y)


@maps("Sign", domain=TF, error=ulps(0))
def sign(t: Translation, x: ir.Value) -> ir.Value:
    # TensorFlow keeps NaN; runtimes do so from 32 bits on.
    return widened(t, t.op.Sign, x)


@maps("Square", domain=TF, error=ulps(0))
def square(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Mul(x, x)


@maps("SquaredDifference", domain=TF, error=ulps(1))
def squared_difference(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    difference = t.op.Sub(x, y)
    return t.op.Mul(difference, difference)


@maps("AddN", domain=TF, error=accumulation(against=AGAINST_TERMS))
def add_n(t: Translation, inputs: tuple[ir.Value, ...]) -> ir.Value:
    if len(inputs) > 2 and is_float(inputs[0]):
        return t.op.Sum(*inputs)
    return functools.reduce(t.op.Add, inputs)


@maps("AccumulateNV2", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores={"shape": "the terms have it"})
def accumulate_n(t: Translation, inputs: tuple[ir.Value, ...]) -> ir.Value:
    return add_n(t, inputs)


@maps("Rsqrt", domain=TF, error=ulps(2))
def rsqrt(t: Translation, x: ir.Value) -> ir.Value:
    return widened(t, lambda v: t.op.Reciprocal(t.op.Sqrt(v)), x)


@maps("Expm1", domain=TF, error=ulps(8))
def expm1(t: Translation, x: ir.Value) -> ir.Value:
    return widened(t, functools.partial(numeric.expm1, t), x)


@maps("Log1p", domain=TF, error=ulps(4))
def log1p(t: Translation, x: ir.Value) -> ir.Value:
    return widened(t, functools.partial(numeric.log1p, t), x)


@maps("Round", domain=TF, error=ulps(0))
def round_(t: Translation, x: ir.Value) -> ir.Value:
    # Integers as documented; TensorFlow's own kernel makes them zero (tf.round does not ask it).
    return t.op.Round(x) if is_float(x) else x


@maps("ClipByValue", domain=TF, error=ulps(0))
def clip_by_value(
    translation: Translation, t: ir.Value, clip_value_min: ir.Value, clip_value_max: ir.Value
) -> ir.Value:
    op = translation.op
    if translation.rank(clip_value_min) == translation.rank(clip_value_max) == 0:
        return op.Clip(t, clip_value_min, clip_value_max)
    return op.Max(op.Min(t, clip_value_max), clip_value_min)


@maps("Xlogy", domain=TF, error=ulps(3))
def xlogy(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return _unless_zero(t, x, lambda a, b: t.op.Mul(a, t.op.Log(b)), y)


@maps("Xlog1py", domain=TF, error=ulps(5))
def xlog1py(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return _unless_zero(t, x, lambda a, b: t.op.Mul(a, numeric.log1p(t, b)), y)


@maps("Xdivy", domain=TF, error=ulps(0))
def xdivy(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return _unless_zero(t, x, t.op.Div, y)


def _unless_zero(
    t: Translation, x: ir.Value, formula: Callable[[ir.Value, ir.Value], ir.Value], y: ir.Value
) -> ir.Value:
    """A formula of both; zero where x is, whatever y."""
    return t.op.Where(_is_zero(t, x), t.op.like(0, x), widened(t, formula, x, y))


@maps("Cross", domain=TF, error=ulps(1))
def cross(t: Translation, a: ir.Value, b: ir.Value) -> ir.Value:
    next_, last = ([1, 2, 0], [2, 0, 1])
    turned = [[t.op.Gather(v, order, axis=-1) for order in (next_, last)] for v in (a, b)]
    (a_next, a_last), (b_next, b_last) = turned
    return t.op.Sub(t.op.Mul(a_next, b_last), t.op.Mul(a_last, b_next))


@maps("NextAfter", domain=TF, fidelity=BITWISE)
def next_after(t: Translation, x1: ir.Value, x2: ir.Value) -> ir.Value:
    """The bits of floats, read as an integer, count them by magnitude."""
    bits = ir.DataType.INT64 if numeric.is_double(x1) else ir.DataType.INT32
    zero = t.op.like(0, x1)
    counted = t.op.BitCast(x1, to=bits)
    outwards = t.op.Equal(t.op.Greater(x2, x1), t.op.Greater(x1, zero))
    one = t.op.like(1, counted)
    moved = t.op.BitCast(t.op.Where(outwards, t.op.Add(counted, one), t.op.Sub(counted, one)), to=t.dtype(x1))
    least = t.op.Mul(t.op.Sign(x2), t.op.BitCast(one, to=t.dtype(x1)))
    stepped = t.op.Where(_is_zero(t, x1), least, moved)
    unordered = t.op.Or(t.op.IsNaN(x1), t.op.IsNaN(x2))
    return t.op.Where(t.op.Equal(x1, x2), x2, t.op.Where(unordered, t.op.Add(x1, x2), stepped))


@maps("CheckNumerics", domain=TF, fidelity=BITWISE, ignores={"message": "shown when the check fails"})
@maps("CheckNumericsV2", domain=TF, fidelity=BITWISE, ignores={"message": "shown when the check fails"})
def check_numerics(t: Translation, tensor: ir.Value) -> ir.Value:
    t.lose("the check that all numbers are finite", "ONNX has no assertions")
    return tensor
