"""One small call of each operator that takes several types, as text, with its inputs made for any type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["ROWS", "extremes", "values"]

Make = Callable[[np.dtype], list[Any]]


def values(dtype: np.dtype, *shape: int, seed: int = 0) -> np.ndarray:
    """Numbers over the type's whole range, its ends among them."""
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        made = rng.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
        made[: min(size, 4)] = np.array([limits.max, limits.min, 0, 1], dtype)[: min(size, 4)]
        return made.reshape(shape)
    return (rng.standard_normal(shape) * 4).astype(dtype)


def extremes(dtype: np.dtype, *shape: int, seed: int = 0) -> np.ndarray:
    """Like values, without a zero."""
    made = values(dtype, *shape, seed=seed)
    return np.where(made == 0, np.ones((), dtype), made)


def _pair(dtype: np.dtype) -> list[Any]:
    return [values(dtype, 3, 4), values(dtype, 4, seed=1)]


def _one(*shape: int) -> Make:
    return lambda dtype: [values(dtype, *shape)]


_I = np.int64

ROWS: Mapping[str, tuple[str, Make]] = {
    "Abs": ("Abs(a)", _one(6)),
    "Add": ("Add(a, b)", _pair),
    "ArgMax": ("ArgMax<axis=1>(a)", _one(3, 4)),
    "ArgMin": ("ArgMin<axis=1>(a)", _one(3, 4)),
    "BitShift": ('BitShift<direction="LEFT">(a, b)', lambda d: [values(d, 6), (np.arange(6) % 8).astype(d)]),
    "BitwiseAnd": ("BitwiseAnd(a, b)", _pair),
    "BitwiseNot": ("BitwiseNot(a)", _one(6)),
    "BitwiseOr": ("BitwiseOr(a, b)", _pair),
    "BitwiseXor": ("BitwiseXor(a, b)", _pair),
    "Clip": ("Clip(a, b, c)", lambda d: [values(d, 8), d.type(1), d.type(7)]),
    "Compress": ("Compress(a, b)", lambda d: [values(d, 4), np.array([True, False, True, True])]),
    "Concat": ("Concat<axis=0>(a, b)", lambda d: [values(d, 2, 3), values(d, 1, 3, seed=1)]),
    "CumSum": ("CumSum(a, b)", lambda d: [values(d, 3, 4), np.array(1, _I)]),
    "DepthToSpace": ("DepthToSpace<blocksize=2>(a)", _one(1, 4, 2, 2)),
    "Div": ("Div(a, b)", lambda d: [values(d, 3, 4), extremes(d, 4, seed=1)]),
    "Einsum": ('Einsum<equation="ij,jk->ik">(a, b)', lambda d: [values(d, 3, 4), values(d, 4, 2, seed=1)]),
    "Equal": ("Equal(a, b)", _pair),
    "Expand": ("Expand(a, b)", lambda d: [values(d, 3, 1), np.array([3, 4], _I)]),
    "EyeLike": ("EyeLike(a)", _one(3, 4)),
    "Flatten": ("Flatten(a)", _one(2, 3, 2)),
    "Gather": ("Gather(a, b)", lambda d: [values(d, 5), np.array([3, -1], _I)]),
    "GatherElements": ("GatherElements(a, b)", lambda d: [values(d, 3, 2), np.array([[2, 0], [1, 1]], _I)]),
    "GatherND": ("GatherND(a, b)", lambda d: [values(d, 3, 2), np.array([[2, 0], [1, 1]], _I)]),
    "Greater": ("Greater(a, b)", _pair),
    "GreaterOrEqual": ("GreaterOrEqual(a, b)", _pair),
    "Identity": ("Identity(a)", _one(6)),
    "Less": ("Less(a, b)", _pair),
    "LessOrEqual": ("LessOrEqual(a, b)", _pair),
    "MatMul": ("MatMul(a, b)", lambda d: [values(d, 3, 4), values(d, 4, 2, seed=1)]),
    "Max": ("Max(a, b)", _pair),
    "MaxPool": ("MaxPool<kernel_shape=[2, 2]>(a)", _one(1, 1, 4, 4)),
    "Min": ("Min(a, b)", _pair),
    "Mod": ("Mod(a, b)", lambda d: [values(d, 3, 4), extremes(d, 4, seed=1)]),
    "Mul": ("Mul(a, b)", _pair),
    "Neg": ("Neg(a)", _one(6)),
    "NonZero": ("NonZero(a)", _one(3, 4)),
    "OneHot": (
        "OneHot(a, b, c)",
        lambda d: [np.array([0, 2, -1], _I), np.array(3, _I), values(d, 2)],
    ),
    "Pad": ("Pad(a, b, c)", lambda d: [values(d, 3, 2), np.array([1, 0, 0, 2], _I), d.type(1)]),
    "Range": ("Range(a, b, c)", lambda d: [d.type(1), d.type(9), d.type(3)]),
    "ReduceL1": ("ReduceL1(a)", _one(3, 4)),
    "ReduceMax": ("ReduceMax(a)", _one(3, 4)),
    "ReduceMin": ("ReduceMin(a)", _one(3, 4)),
    "ReduceProd": ("ReduceProd(a)", lambda d: [extremes(d, 3, 4)]),
    "ReduceSum": ("ReduceSum(a)", _one(3, 4)),
    "ReduceSumSquare": ("ReduceSumSquare(a)", _one(3, 4)),
    "Relu": ("Relu(a)", _one(6)),
    "Reshape": ("Reshape(a, b)", lambda d: [values(d, 3, 2), np.array([2, 3], _I)]),
    "Resize": (
        'Resize<mode="nearest">(a, , b)',
        lambda d: [values(d, 1, 1, 2, 2), np.array([1, 1, 2, 2], np.float32)],
    ),
    "ReverseSequence": ("ReverseSequence(a, b)", lambda d: [values(d, 3, 2), np.array([2, 3], _I)]),
    "ScatterElements": (
        'ScatterElements<reduction="add">(a, b, c)',
        lambda d: [values(d, 5), np.array([1, 1, 4], _I), values(d, 3, seed=1)],
    ),
    "ScatterND": ("ScatterND(a, b, c)", lambda d: [values(d, 5), np.array([[1], [4]], _I), values(d, 2, seed=1)]),
    "Shape": ("Shape(a)", _one(3, 4)),
    "Sign": ("Sign(a)", _one(6)),
    "Slice": ("Slice(a, b, c)", lambda d: [values(d, 5), np.array([1], _I), np.array([4], _I)]),
    "SpaceToDepth": ("SpaceToDepth<blocksize=2>(a)", _one(1, 1, 4, 4)),
    "Split": ("Split<num_outputs=1>(a)", _one(4)),
    "Sub": ("Sub(a, b)", _pair),
    "Sum": ("Sum(a, b)", _pair),
    "Tile": ("Tile(a, b)", lambda d: [values(d, 3), np.array([2], _I)]),
    "TopK": ("TopK(a, b)", lambda d: [np.unique(values(d, 9)), np.array([2], _I)]),
    "Transpose": ("Transpose(a)", _one(3, 4)),
    "Trilu": ("Trilu(a)", _one(3, 4)),
    "Unique": ("Unique(a)", _one(6)),
    "Where": ("Where(a, b, c)", lambda d: [values(np.dtype(bool), 4), values(d, 4), values(d, 4, seed=1)]),
}
"""by operator: the call, and its inputs for an element type"""
