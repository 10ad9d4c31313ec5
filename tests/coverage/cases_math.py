"""Arithmetic, comparisons, bits, reductions and special functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.coverage.case import Cannot, Case, NoGraph

__all__ = ["CASES"]

_RNG = np.random.default_rng(7)
Samples = Sequence[Sequence[np.ndarray]]


def _pair(make: Callable[[int], Sequence[np.ndarray]]) -> Samples:
    return [make(2), make(5)]


def _floats(low: float = -3, high: float = 3, count: int = 1) -> Samples:
    return _pair(lambda n: [_RNG.uniform(low, high, (n, 3)).astype(np.float32) for _ in range(count)])


def _integers(low: int = -9, high: int = 9, count: int = 1, dtype: Any = np.int32) -> Samples:
    return _pair(lambda n: [_RNG.integers(low, high, (n, 3)).astype(dtype) for _ in range(count)])


def _line(count: int) -> np.ndarray:
    return _RNG.normal(size=count).astype(np.float32)


ANY, TWO = _floats(), _floats(count=2)
POSITIVE, UNIT, ABOVE_ONE = _floats(0.1, 4), _floats(-0.95, 0.95), _floats(1.05, 4)
FRACTIONS = _floats(0.05, 0.95)
DIVISORS = _pair(
    lambda n: [_RNG.uniform(-3, 3, (n, 3)).astype(np.float32), _RNG.uniform(0.5, 2, (n, 3)).astype(np.float32)]
)
TWO_POSITIVE, THREE_POSITIVE = _floats(0.3, 4, 2), _floats(0.3, 0.9, 3)
TRUTHS = _pair(lambda n: [_RNG.random((n, 3)) > 0.5 for _ in range(2)])
TRUTH = _pair(lambda n: [_RNG.random((n, 3)) > 0.5])
WHOLE, TWO_WHOLE, SHIFTS = _integers(), _integers(count=2), _integers(0, 5, 2)
STEPS = _integers(1, 9, 2)
HOLES = _pair(lambda n: [np.where(_RNG.random((n, 3)) > 0.4, 1.5, np.nan).astype(np.float32)])
ODD = _pair(lambda n: [np.array([[np.nan, np.inf, -np.inf, 0, 1.5]] * n, np.float32)])


def _function(space: Any, name: str, **options: Any) -> Callable[[], Any]:
    # Keras names are looked up in its own tree, so that the case does not depend on how it lazily loads.
    return lambda: lambda *inputs: getattr(space, name)(*inputs, **options)


def _cases(prefix: str, space: Any, names: str, samples: Samples, **options: Any) -> Iterable[Case]:
    for name in names.split():
        yield Case(f"{prefix}.{name}", _function(space, name, **options), samples)


def _keras(names: str, samples: Samples, **options: Any) -> Iterable[Case]:
    return _cases("keras.ops", keras.ops, names, samples, **options)


def _math(names: str, samples: Samples, **options: Any) -> Iterable[Case]:
    return _cases("tf.math", tf.math, names, samples, **options)


def _case(name: str, function: Callable[..., Any], samples: Samples, label: str = "") -> Case:
    return Case(name, lambda: function, samples, label=label)


_KERAS = [
    *_keras(
        "abs absolute arcsinh arctan ceil cos cosh deg2rad erf erfc exp exp2 expm1 fabs floor i0 isreal negative "
        "rad2deg round sign signbit sin sinc sinh square tan tanh trunc",
        ANY,
    ),
    *_keras("cbrt", ANY),
    *_keras("arccos arcsin arctanh erfinv", UNIT),
    *_keras("arccosh", ABOVE_ONE),
    *_keras("log log10 log1p log2 reciprocal rsqrt sqrt", POSITIVE),
    *_keras("add arctan2 heaviside hypot logaddexp logaddexp2 maximum minimum fmax fmin multiply subtract", TWO),
    *_keras("divide divide_no_nan floor_divide fmod mod true_divide", DIVISORS),
    *_keras("power nextafter", TWO_POSITIVE),
    *_keras("equal greater greater_equal isclose less less_equal not_equal", TWO),
    *_keras("isfinite isinf isnan isneginf isposinf nan_to_num", ODD),
    *_keras("logical_and logical_or logical_xor", TRUTHS),
    *_keras("logical_not", TRUTH),
    *_keras("bitwise_and bitwise_or bitwise_xor", TWO_WHOLE),
    *_keras("bitwise_invert bitwise_not", WHOLE),
    *_keras("bitwise_left_shift bitwise_right_shift left_shift right_shift", SHIFTS),
    *_keras("gcd lcm", [STEPS[0], STEPS[0][::-1]]),
    *_keras("amax amin max min mean prod std sum var average ptp logsumexp", ANY, axis=-1),
    *_keras("median", ANY, axis=-1),
    *_keras("percentile", ANY, q=30, axis=-1),
    *_keras("quantile", ANY, q=0.3, axis=-1),
    *_keras("nanmax nanmean nanmin nanprod nanstd nansum nanvar", HOLES, axis=-1),
    *_keras("moments", ANY, axes=[0]),
    *_keras("all any", TRUTH, axis=-1),
    *_keras("allclose", TWO),
    *_keras("count_nonzero", WHOLE, axis=-1),
    *_keras("diff", ANY),
    *_keras("stop_gradient", ANY),
    _case("keras.ops.cast", lambda x: keras.ops.cast(x, "int32"), ANY),
    _case("keras.ops.saturate_cast", lambda x: keras.ops.saturate_cast(x * 100, "int8"), ANY),
    _case("keras.ops.clip", lambda x: keras.ops.clip(x, -1.0, 1.5), ANY),
    _case("keras.ops.floor_divide", keras.ops.floor_divide, STEPS, "integers"),
    _case("keras.ops.mod", keras.ops.mod, STEPS, "integers"),
    _case("keras.ops.power", lambda x: keras.ops.power(x, 3), WHOLE, "integers"),
    _case("keras.ops.mean", keras.ops.mean, ANY, "all"),
    _case("keras.ops.sum", lambda x: keras.ops.sum(x, axis=0, keepdims=True), WHOLE, "integers"),
    _case("keras.ops.ldexp", keras.ops.ldexp, _pair(lambda n: [*_floats()[0][:1], np.full((2, 3), n, np.int32)])),
    _case(
        "keras.ops.correlate",
        lambda a, b: keras.ops.correlate(a, b, mode="same"),
        _pair(lambda n: [_line(6), _line(3)]),
    ),
    _case("keras.ops.trapezoid", keras.ops.trapezoid, ANY),
    _case("keras.ops.vander", lambda x: keras.ops.vander(x, 4), _pair(lambda n: [_line(n)])),
    _case("keras.ops.cdist", keras.ops.cdist, TWO),
    _case("keras.ops.polar", lambda a, b: keras.ops.real(keras.ops.polar(a, b)), TWO_POSITIVE),
    _case("keras.ops.psnr", lambda a, b: keras.ops.psnr(a, b, max_val=4.0), TWO_POSITIVE),
    *(
        _case(f"keras.ops.{name}", lambda x, name=name: x * getattr(keras.ops, name)(3), ANY)
        for name in ["blackman", "hamming", "hanning"]
    ),
    _case("keras.ops.kaiser", lambda x: x * keras.ops.kaiser(3, 2.0), ANY),
]


_MATH = [
    *_math(
        "abs asinh atan ceil cos cosh erf erfc exp expm1 floor negative reciprocal_no_nan rint round sign sin sinh "
        "square tan tanh zero_fraction",
        ANY,
    ),
    *_math("bessel_i0 bessel_i0e bessel_i1 bessel_i1e", ANY),
    *_math("acos asin atanh erfinv", UNIT),
    *_math("acosh", ABOVE_ONE),
    *_math("erfcinv ndtri", FRACTIONS),
    *_math("digamma lbeta lgamma log log1p reciprocal rsqrt sqrt", POSITIVE),
    *_math("add atan2 maximum minimum multiply multiply_no_nan squared_difference subtract", TWO),
    *_math("divide divide_no_nan floordiv floormod mod truediv", DIVISORS),
    *_math("igamma igammac nextafter pow xdivy xlog1py xlogy", TWO_POSITIVE),
    *_math("betainc", THREE_POSITIVE),
    *_math("equal greater greater_equal less less_equal not_equal", TWO),
    *_math("is_finite is_inf is_nan", ODD),
    *_math("logical_and logical_or logical_xor", TRUTHS),
    *_math("logical_not", TRUTH),
    *_math(
        "reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum "
        "reduce_variance",
        ANY,
        axis=-1,
    ),
    *_math("reduce_all reduce_any", TRUTH, axis=-1),
    *_math("count_nonzero", WHOLE, axis=-1),
    *_math("l2_normalize", ANY, axis=-1),
    _case("tf.math.accumulate_n", lambda a, b: tf.math.accumulate_n([a, b, a]), TWO),
    _case("tf.math.add_n", lambda a, b: tf.math.add_n([a, b, a]), TWO),
    _case("tf.math.polyval", lambda x: tf.math.polyval([1.0, -2.0, 0.5], x), ANY),
    _case("tf.math.scalar_mul", lambda x: tf.math.scalar_mul(2.5, x), ANY),
    _case("tf.math.polygamma", lambda x: tf.math.polygamma(2.0, x), POSITIVE),
    _case("tf.math.zeta", lambda x: tf.math.zeta(x, 1.5), ABOVE_ONE),
    Case("tf.math.sobol_sample", lambda: lambda x: x + tf.math.sobol_sample(3, 4)[:2, :3], [ANY[0]]),
]

_UNTRACEABLE = "Keras computes it eagerly only: tracing it into a graph fails in Keras itself"

CASES: list[Case | Cannot | NoGraph] = [
    *_KERAS,
    *_MATH,
    *(
        NoGraph(f"keras.ops.{name}", _UNTRACEABLE)
        for name in ["bartlett", "corrcoef", "nanmedian", "nanpercentile", "nanquantile"]
    ),
]
