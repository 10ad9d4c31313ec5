"""TensorFlow's functions at extreme magnitudes: stable forms in ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import mpmath
import numpy as np
import tensorflow as tf

import trueport
from tests.cells import grid
from tests.families.numbers import EXTREMES, PAIRS, ROWS, Functions, groups
from tests.families.tensorflow_numbers import DTYPES, Judge, elementwise
from trueport.fidelity import AGAINST_INPUT

M: Any = tf.math
N: Any = tf.nn
K: Any = keras.layers

UNARY: Functions = {
    "softplus": N.softplus,
    "log1p": M.log1p,
    "expm1": M.expm1,
    "log": M.log,
    "exp": M.exp,
    "log_sigmoid": M.log_sigmoid,
    "sigmoid": M.sigmoid,
    "logit": lambda x: M.log(x) - M.log1p(-x),
    "keras logit": lambda x: M.log(x / (1 - x)),
    "softsign": N.softsign,
    "gelu": N.gelu,
    "gelu tanh": lambda x: N.gelu(x, approximate=True),
    "silu": N.silu,
    "mish": keras.activations.mish,
    "elu": N.elu,
    "selu": N.selu,
    "celu": keras.activations.celu,
    "relu6": N.relu6,
    "leaky relu": N.leaky_relu,
    "hard sigmoid": keras.activations.hard_sigmoid,
    "hard silu": keras.activations.hard_silu,
    "tanh shrink": keras.activations.tanh_shrink,
    "squareplus": keras.activations.squareplus,
    "erf": M.erf,
    "erfc": M.erfc,
    "erfinv": M.erfinv,
    "erfcinv": M.erfcinv,
    "ndtri": M.ndtri,
    "lgamma": M.lgamma,
    "digamma": M.digamma,
    "sin": M.sin,
    "cos": M.cos,
    "tan": M.tan,
    "tanh": M.tanh,
    "atanh": M.atanh,
    "asinh": M.asinh,
    "acosh": M.acosh,
    "sinh": M.sinh,
    "cosh": M.cosh,
    "asin": M.asin,
    "acos": M.acos,
    "atan": M.atan,
    "sqrt": M.sqrt,
    "rsqrt": M.rsqrt,
    "reciprocal": M.reciprocal,
    "square": M.square,
    "sinc": lambda x: tf.experimental.numpy.sinc(x),
    "sign": M.sign,
    "abs": M.abs,
    "round": M.round,
    "rint": M.rint,
    "floor": M.floor,
    "ceil": M.ceil,
    "is finite": M.is_finite,
    "is nan": M.is_nan,
    "clip": lambda x: tf.clip_by_value(x, -1, 1),
    "relu": N.relu,
    "cube": lambda x: x**3,
    "root": lambda x: x**0.5,
    "inverse root": lambda x: x**-0.5,
    "power of two": lambda x: 2**x,
    "dawsn": M.special.dawsn,
    "expint": M.special.expint,
    "spence": M.special.spence,
    "bessel i0e": M.bessel_i0e,
    "bessel i1e": M.bessel_i1e,
    "bessel i0": M.special.bessel_i0,
    "bessel j0": M.special.bessel_j0,
    "bessel k0": M.special.bessel_k0,
    "bessel k1e": M.special.bessel_k1e,
    "fresnel sin": M.special.fresnel_sin,
}
BINARY: Functions = {
    "atan2": M.atan2,
    "hypot": lambda a, b: M.sqrt(a * a + b * b),
    "numpy hypot": lambda a, b: tf.experimental.numpy.hypot(a, b),
    "pow": M.pow,
    "xlogy": M.xlogy,
    "xlog1py": M.xlog1py,
    "xdivy": M.xdivy,
    "multiply no nan": M.multiply_no_nan,
    "divide no nan": M.divide_no_nan,
    "divide": M.divide,
    "floormod": M.floormod,
    "truncatemod": lambda a, b: tf.raw_ops.TruncateMod(x=a, y=b),
    "floordiv": lambda a, b: a // b,
    "truncatediv": lambda a, b: tf.raw_ops.TruncateDiv(x=a, y=b),
    "maximum": M.maximum,
    "minimum": M.minimum,
    "squared difference": M.squared_difference,
    "sigmoid cross entropy": lambda a, b: N.sigmoid_cross_entropy_with_logits(labels=a, logits=b),
    "logaddexp": lambda a, b: tf.experimental.numpy.logaddexp(a, b),
    "keras logaddexp": lambda a, b: keras.ops.logaddexp(a, b),
    "next after": M.nextafter,
    "copysign": lambda a, b: tf.where(b < 0, -M.abs(a), M.abs(a)),
    "weighted cross entropy": lambda a, b: N.weighted_cross_entropy_with_logits(labels=a, logits=b, pos_weight=2.0),
    "log poisson": lambda a, b: N.log_poisson_loss(a, b),
}
SPECIAL: Functions = {
    "igamma": M.igamma,
    "igammac": M.igammac,
    "betainc": lambda a, b: M.betainc(a, b, tf.fill(tf.shape(a), tf.cast(0.3, a.dtype))),
    "zeta": M.zeta,
    "polygamma": M.polygamma,
}
_FEW = EXTREMES[~(np.isfinite(EXTREMES) & (np.abs(EXTREMES) > 500))]
"""Of larger numbers TensorFlow's own incomplete integrals lose digits: of 1e4 and 1e4 five of sixteen."""
_WIDE = ("float32", "float64")
"""What TensorFlow has kernels of special functions of two numbers for."""
FEW_PAIRS = tuple(part.ravel().copy() for part in np.meshgrid(_FEW, _FEW))
REDUCTIONS: Functions = {
    "logsumexp": lambda x: tf.reduce_logsumexp(x, -1),
    "logsumexp 0": lambda x: tf.reduce_logsumexp(x, 0, keepdims=True),
    "logsumexp all": tf.reduce_logsumexp,
    "keras logsumexp": lambda x: keras.ops.logsumexp(x, -1),
    "cumulative logsumexp": lambda x: M.cumulative_logsumexp(x, -1),
    "cumulative logsumexp 0": lambda x: M.cumulative_logsumexp(x, 0, exclusive=True, reverse=True),
    "softmax": N.softmax,
    "softmax 0": lambda x: N.softmax(x, 0),
    "log softmax": N.log_softmax,
    "log softmax 0": lambda x: N.log_softmax(x, 0),
    "keras softmax": lambda x: keras.ops.softmax(x, -1),
    "softmax cross entropy": lambda x: N.softmax_cross_entropy_with_logits(
        labels=tf.one_hot([1, 0, 3, 2], 6, dtype=x.dtype), logits=x
    ),
    "sparse cross entropy": lambda x: N.sparse_softmax_cross_entropy_with_logits(labels=[1, 0, 3, 2], logits=x),
    "soft cross entropy": lambda x: N.softmax_cross_entropy_with_logits(
        labels=tf.fill([4, 6], tf.cast(1 / 8, x.dtype)), logits=x
    ),
    "categorical": lambda x: keras.losses.categorical_crossentropy(
        tf.one_hot([1, 0, 3, 2], 6, dtype=x.dtype), x, from_logits=True
    ),
    "norm": lambda x: tf.norm(x, axis=-1),
    "norm 1": lambda x: tf.norm(x, ord=1, axis=-1),
    "norm 3": lambda x: tf.norm(x, ord=3, axis=-1),
    "norm inf": lambda x: tf.norm(x, ord=np.inf, axis=-1),
    "norm all": tf.norm,
    "euclidean norm": lambda x: M.reduce_euclidean_norm(x, -1),
    "normalize": lambda x: M.l2_normalize(x, -1),
    "normalize 0": lambda x: M.l2_normalize(x, 0, epsilon=1e-6),
    "linalg normalize": lambda x: tf.linalg.normalize(x, axis=-1)[0],
    "variance": lambda x: M.reduce_variance(x, -1),
    "std": lambda x: M.reduce_std(x, -1),
    "std 0": lambda x: M.reduce_std(x, 0, keepdims=True),
    "moments": lambda x: N.moments(x, [-1])[1],
    "moments mean": lambda x: N.moments(x, [0])[0],
    "sum": lambda x: tf.reduce_sum(x, -1),
    "mean": lambda x: tf.reduce_mean(x, -1),
    "prod": lambda x: tf.reduce_prod(x, -1),
    "max": lambda x: tf.reduce_max(x, -1),
    "min": lambda x: tf.reduce_min(x, 0),
    "argmax": lambda x: tf.argmax(x, -1),
    "argmin": lambda x: tf.argmin(x, 0),
    "cumsum": lambda x: tf.cumsum(x, -1),
    "cumprod": lambda x: M.cumprod(x, -1),
    "l2 loss": lambda x: N.l2_loss(x),
    "clip by norm": lambda x: tf.clip_by_norm(x, 2.0, axes=[-1]),
    "clip by global norm": lambda x: tf.clip_by_global_norm([x], 2.0)[0][0],
    "cosine": lambda x: keras.losses.cosine_similarity(x, tf.reverse(x, [0]), axis=-1),
    "top": lambda x: M.top_k(x, 3)[0],
    "zero fraction": N.zero_fraction,
    "batch normalization": lambda x: N.batch_normalization(x, *N.moments(x, [0]), None, None, 1e-3),
    "kl divergence": lambda x: keras.losses.kl_divergence(x, tf.reverse(x, [0])),
    "log cosh": lambda x: keras.losses.log_cosh(x, tf.reverse(x, [0])),
    "huber": lambda x: keras.losses.huber(x, tf.reverse(x, [0])),
}


NORMALIZATIONS: dict[str, Callable[[str], Any]] = {
    "layer": lambda dtype: K.LayerNormalization(dtype=dtype),
    "rms": lambda dtype: K.RMSNormalization(dtype=dtype),
    "batch": lambda dtype: K.BatchNormalization(dtype=dtype),
    "group": lambda dtype: K.GroupNormalization(3, dtype=dtype),
    "unit": lambda dtype: K.UnitNormalization(dtype=dtype),
    "softmax": lambda dtype: K.Softmax(dtype=dtype),
}


def _dawson(x: Any) -> Any:
    if abs(x) > 1e4:  # the next term is lost beside it
        return 1 / (2 * x)
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


def _log_sums(values: np.ndarray) -> np.ndarray:
    return np.logaddexp.accumulate(values, -1)


def _log_sums_of_what_follows(values: np.ndarray) -> np.ndarray:
    shifted = np.concatenate([np.full((1, values.shape[1]), -np.inf), values[:0:-1]])
    return np.asarray(np.logaddexp.accumulate(shifted, 0)[::-1])


JUDGE = Judge(
    against=dict.fromkeys(("tanh shrink", "squareplus"), AGAINST_INPUT),
    references={
        "erf": elementwise(mpmath.erf, (-1, 1)),
        "erfinv": elementwise(lambda x: mpmath.erfinv(x) if abs(x) <= 1 else mpmath.nan, (np.nan, np.nan)),
        "dawsn": elementwise(_dawson, (-0.0, 0)),
        "spence": elementwise(lambda x: mpmath.polylog(2, 1 - x) if x >= 0 else mpmath.nan, (np.nan, -np.inf)),
        "bessel j0": elementwise(lambda x: mpmath.besselj(0, x), (0, 0)),
        "fresnel sin": elementwise(mpmath.fresnels, (-0.5, 0.5)),
        "cumulative logsumexp": _log_sums,
        "cumulative logsumexp 0": _log_sums_of_what_follows,
    },
    # Where NaN stands among numbers is left to the runtime, which check notes.
    left_out={"top": "nan"},
)


Cell = tuple[Functions, str]


def cells(functions: Functions) -> dict[str, Cell]:
    """One conversion per group and element type, named after the group's first function."""
    return {f"{next(iter(part))}-{dtype}": (part, dtype) for part in groups(functions, 12) for dtype in DTYPES}


@grid(cells(UNARY), quick=2)
def test_unary(cell: Cell) -> None:
    functions, dtype = cell
    assert not JUDGE.wrong(functions, {"": [EXTREMES]}, dtype)


@grid(cells(BINARY), quick=1)
def test_binary(cell: Cell) -> None:
    functions, dtype = cell
    assert not JUDGE.wrong(functions, {"": PAIRS}, dtype)


@grid({name: (part, dtype) for name, (part, dtype) in cells(SPECIAL).items() if dtype in _WIDE}, quick=1)
def test_special(cell: Cell) -> None:
    functions, dtype = cell
    assert not JUDGE.wrong(functions, {"": FEW_PAIRS}, dtype)


@grid(cells(REDUCTIONS), quick=2)
def test_reductions(cell: Cell) -> None:
    functions, dtype = cell
    assert not JUDGE.wrong(functions, {name: [rows] for name, rows in ROWS.items()}, dtype)


@grid({f"{name}-{dtype}": (name, dtype) for name in [*NORMALIZATIONS, "dot"] for dtype in DTYPES}, quick=1)
def test_layers(cell: tuple[str, str]) -> None:
    name, dtype = cell
    # Keras casts to a layer's type: the reference has a layer of its own.
    makers = {**NORMALIZATIONS, "dot": lambda dtype: K.Dot(axes=-1, normalize=True, dtype=dtype)}
    layers = {kind: makers[name](kind) for kind in (dtype, "float64")}

    def function(x: Any) -> Any:
        return layers[x.dtype.name]([x, tf.reverse(x, [0])] if name == "dot" else x)

    for kind in layers:
        function(tf.ones([4, 6], kind))
    assert not JUDGE.wrong({name: function}, {label: [rows] for label, rows in ROWS.items()}, dtype)


def test_what_a_nan_does_to_orderings_is_noted() -> None:
    spec = tf.TensorSpec([None, 6], tf.float32, name="x")
    for name in JUDGE.left_out:
        source = tf.function(REDUCTIONS[name], input_signature=[spec])
        assert "nan-in-orderings" in {remark.rule for remark in trueport.check(source, "onnx").remarks}, name
