"""Formulas that stand for an operator in some implementations: approximations, other roundings, other remainders."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.attributes import bound_attributes
from trueport.verifying.causes.hypothesis import OPERATOR, among, hypothesis, instead

__all__ = ["approximations", "other_casts", "other_normalizations", "other_roundings"]

Formula = Callable[..., Any]
_ROOT = np.sqrt(2 / np.pi)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


_FORMULAS: Mapping[str, Mapping[str, Formula]] = {
    "Gelu": {
        "the tanh approximation": lambda x: 0.5 * x * (1 + np.tanh(_ROOT * (x + 0.044715 * x**3))),
        "the sigmoid approximation x * sigmoid(1.702 x)": lambda x: x * _sigmoid(1.702 * x),
        "x * sigmoid(x)": lambda x: x * _sigmoid(x),
    },
    "Erf": {
        "a tanh approximation": lambda x: np.tanh(2 / np.sqrt(np.pi) * (x + 0.089430 * x**3)),
        "an approximation by polynomials (Abramowitz and Stegun 7.1.26)": lambda x: _erf_by_polynomials(x),
    },
    "Sigmoid": {
        "a piecewise linear approximation, clip(x / 6 + 0.5, 0, 1)": lambda x: np.clip(x / 6 + 0.5, 0, 1),
        "a piecewise linear approximation, clip(x / 4 + 0.5, 0, 1)": lambda x: np.clip(x / 4 + 0.5, 0, 1),
        "the rational approximation 0.5 + 0.5 x / (1 + |x|)": lambda x: 0.5 + 0.5 * x / (1 + np.abs(x)),
    },
    "Tanh": {
        "the approximation clip(x, -1, 1)": lambda x: np.clip(x, -1, 1),
        "the rational approximation x (27 + x²) / (27 + 9 x²)": lambda x: x * (27 + x * x) / (27 + 9 * x * x),
        "the clipped rational approximation x (27 + x²) / (27 + 9 x²)": lambda x: np.clip(
            x * (27 + x * x) / (27 + 9 * x * x), -1, 1
        ),
        "the rational approximation x / (1 + |x|)": lambda x: x / (1 + np.abs(x)),
    },
    "Softplus": {"max(x, 0)": lambda x: np.maximum(x, 0)},
    "Exp": {f"(1 + x / {n}) ** {n}": lambda x, n=n: (1 + x / n) ** n for n in (8, 16, 64, 256, 1024)},
    "Swish": {"the piecewise approximation x * clip(x / 6 + 0.5, 0, 1)": lambda x: x * np.clip(x / 6 + 0.5, 0, 1)},
    "Relu": {"a Relu that is clipped at 6": lambda x: np.clip(x, 0, 6)},
    "Div": {
        "a division that rounds to zero": lambda x, y: np.trunc(x / y),
        "a division that rounds down": lambda x, y: np.floor(x / y),
        "a division that rounds to nearest": lambda x, y: np.rint(x / y),
        "a product with the reciprocal rounded to float32": lambda x, y: x * (1 / y).astype(np.float32),
    },
    "Mod": {
        "the remainder with the sign of the dividend": np.fmod,
        "the remainder with the sign of the divisor": np.mod,
        "the remainder without a sign": lambda x, y: np.mod(x, np.abs(y)),
    },
    "Pow": {"the power of the magnitude": lambda x, y: np.abs(x) ** y},
    "Sqrt": {"the square root of the magnitude": lambda x: np.sqrt(np.abs(x))},
    "Log": {"log(x + 1)": np.log1p, "the logarithm to base 2": np.log2, "the logarithm to base 10": np.log10},
    "Sign": {"1 for what is not negative, else -1": lambda x: np.where(x >= 0, 1, -1)},
    "BitShift": {"a shift to the left": np.left_shift, "a shift to the right": np.right_shift},
}
_ROUNDINGS: Mapping[str, Formula] = {
    "halves go away from zero": lambda v: np.sign(v) * np.floor(np.abs(v) + 0.5),
    "halves go up": lambda v: np.floor(v + 0.5),
    "it rounds down": np.floor,
    "it rounds up": np.ceil,
    "it rounds to zero": np.trunc,
    "it rounds to the nearest even": np.rint,
}
_OPERATORS = {"it rounds down": "Floor", "it rounds up": "Ceil", "it rounds to the nearest even": "Round"}
"""Operators of ONNX that round in this way."""


def _erf_by_polynomials(x: Any) -> Any:
    t = 1 / (1 + 0.3275911 * np.abs(x))
    terms = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    return np.sign(x) * (1 - sum(a * t ** (n + 1) for n, a in enumerate(terms)) * np.exp(-x * x))


def approximations(case: NodeCase) -> Iterator[Hypothesis]:
    """The node computed by another formula that some implementation has for it."""
    found = _FORMULAS.get(case.node.op_type, {}) if not case.node.domain else {}
    for words, formula in found.items():
        on = functools.partial(_computed, formula=formula)
        yield hypothesis(case, "operator", f"it behaves as {words}, the source has {case.node.op_type}", on, OPERATOR)


def _computed(case: NodeCase, formula: Formula) -> Any:
    given = [array for array in case.inputs if array is not None]
    return instead(case, _as_result(case, formula(*given)))


def _as_result(case: NodeCase, array: Any) -> Any:
    """In the element type of what the node makes; floats are wide."""
    kind = case.node.outputs[0].dtype
    own = np.dtype(kind.numpy()) if kind is not None else None
    return np.asarray(array).astype(own) if own is not None and own.kind in "iub" else np.asarray(array)


def other_roundings(case: NodeCase) -> Iterator[Hypothesis]:
    """Where the node rounds: the other ways to do it."""
    if case.node.domain or case.node.op_type not in ("Round", "Cast", "Floor", "Ceil"):
        return
    if case.node.op_type == "Cast" and np.asarray(case.target).dtype.kind not in "iu":
        return
    for words, way in _ROUNDINGS.items():
        op = _OPERATORS.get(words)
        said = f"{words}, as {op}; the source has {case.node.op_type}" if op else words
        on = functools.partial(_rounded, way=way)
        yield hypothesis(case, "rounding", said, on, OPERATOR - 2 + among(len(_ROUNDINGS)))


def other_casts(case: NodeCase) -> Iterator[Hypothesis]:
    """Casts to integers: numbers beyond the type are saturated or wrap around, as those of this type or another."""
    kind = case.node.outputs[0].dtype
    own = np.dtype(kind.numpy()) if kind is not None else None
    if case.node.domain or case.node.op_type != "Cast" or own is None or own.kind not in "iu":
        return
    if not isinstance(case.inputs[0], np.ndarray) or case.inputs[0].dtype.kind not in "fiu":
        return
    through = [np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")]
    ways: list[tuple[str, Formula]] = [(f"out of range is saturated to {own}", functools.partial(_saturated, kind=own))]
    ways.append((f"out of range wraps around as {own}", functools.partial(_wrapped, kind=np.dtype(np.int64))))
    for other in through:
        if other != own:
            ways.append((f"out of range is saturated to {other} first", functools.partial(_saturated, kind=other)))
            ways.append((f"out of range wraps around as {other} first", functools.partial(_wrapped, kind=other)))
    smallest = np.iinfo(own).min
    ways.append((f"out of range becomes {smallest}", functools.partial(_replaced, kind=own, number=smallest)))
    for number, (words, way) in enumerate(ways):
        said = f"cast to {own}: {words}"
        yield hypothesis(case, "dtype", said, functools.partial(_cast, way=way), OPERATOR - 3 + among(number + 1))


def _cast(case: NodeCase, way: Formula) -> Any:
    whole = np.trunc(case.inputs[0]) if case.inputs[0].dtype.kind == "f" else case.inputs[0]
    return instead(case, _as_result(case, way(whole)))


def _saturated(x: Any, kind: np.dtype) -> Any:
    """Return integers between the ends of a type; as floats the upper end of 64 bits is not one of them."""
    limits = np.iinfo(kind)
    found = np.where(x >= limits.max, limits.max, np.where(x <= limits.min, limits.min, 0)).astype(kind)
    inside = (x > limits.min) & (x < limits.max)
    return np.where(inside, np.where(inside, x, 0).astype(kind), found)


def _wrapped(x: Any, kind: np.dtype) -> Any:
    """Return the lowest bits; what 64 bits do not hold either is taken as 0."""
    held = (x >= -(2.0**63)) & (x < 2.0**63)
    return np.where(held, x, 0).astype(np.int64).astype(kind)


def _replaced(x: Any, kind: np.dtype, number: int) -> Any:
    limits = np.iinfo(kind)
    inside = (x >= limits.min) & (x <= limits.max)
    return np.where(inside, np.where(inside, x, 0).astype(kind), number)


def _rounded(case: NodeCase, way: Formula) -> Any:
    return instead(case, _as_result(case, way(case.inputs[0])))


def other_normalizations(case: NodeCase) -> Iterator[Hypothesis]:
    """Statistics of a normalization that are left out, or taken in another way."""
    if case.node.domain or case.node.op_type not in (
        "LayerNormalization",
        "InstanceNormalization",
        "GroupNormalization",
    ):
        return
    ways = {
        "the mean is not subtracted": lambda x, m, v, e: x / np.sqrt(v + m * m + e),
        "the mean is not subtracted, the variance is taken around it": lambda x, m, v, e: x / np.sqrt(v + e),
        "epsilon is added to the standard deviation instead of the variance": lambda x, m, v, e: (
            (x - m) / (np.sqrt(v) + e)
        ),
        "it divides by the variance instead of the standard deviation": lambda x, m, v, e: (x - m) / (v + e),
        "it does not divide by the standard deviation": lambda x, m, v, e: x - m,
    }
    for words, way in ways.items():
        yield hypothesis(case, "operator", words, functools.partial(_normalized, way=way), OPERATOR + 2)
    words = "the variance is the unbiased one, divided by n - 1"
    yield hypothesis(case, "operator", words, functools.partial(_normalized, way=None), OPERATOR + 2)


def _normalized(case: NodeCase, way: Formula | None) -> Any:
    has, x = bound_attributes(case), case.inputs[0]
    data = x
    if case.node.op_type == "LayerNormalization":
        axes = tuple(range(has["axis"] % x.ndim, x.ndim))
        spread: tuple[int, ...] = ()
    else:
        if case.node.op_type == "GroupNormalization":
            data = x.reshape(x.shape[0], has["num_groups"], -1)
        axes = tuple(range(2, data.ndim))
        spread = (-1, *[1] * (x.ndim - 2))
    mean, variance = data.mean(axes, keepdims=True), data.var(axes, keepdims=True)
    if way is None:
        count = np.prod([data.shape[axis] for axis in axes])
        made = (data - mean) / np.sqrt(variance * count / (count - 1) + has["epsilon"])
    else:
        made = way(data, mean, variance, has["epsilon"])
    for index, join in ((1, np.multiply), (2, np.add)):
        if len(case.inputs) > index and case.inputs[index] is not None:
            other = case.inputs[index]
            made = join(made.reshape(x.shape), other.reshape(spread) if spread else other)
    return instead(case, made.reshape(x.shape))
