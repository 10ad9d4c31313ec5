"""What the error itself looks like: narrowed, scaled, shifted, permuted, confined to a few elements."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import text

__all__ = ["error_patterns"]

_MAX_RANK = 4


def error_patterns(case: NodeCase) -> Iterator[Hypothesis]:
    """Simple functions of the truth that may be what the target gives."""
    truth, got = case.truth, np.asarray(case.target)
    if not isinstance(truth, np.ndarray) or truth.shape != got.shape or truth.dtype.kind not in "fiu" or not truth.size:
        return
    if truth.dtype.kind == "f":
        yield from _narrowed(truth)
        yield from _affine(truth, got.astype(np.float64))
    else:
        yield from _wrapped(truth)
    yield from _clipped(truth, got)
    yield from _permuted(truth)


def _narrowed(truth: np.ndarray) -> Iterator[Hypothesis]:
    for kind in (np.float16, ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3fn):
        with np.errstate(all="ignore"):
            narrow = truth.astype(kind).astype(np.float64)
        yield Hypothesis("dtype", f"its result is narrowed: rounded to {np.dtype(kind).name}", lambda n=narrow: n)  # type: ignore[misc]
    yield Hypothesis("dtype", "its result is truncated to integers", lambda: np.trunc(truth))


def _wrapped(truth: np.ndarray) -> Iterator[Hypothesis]:
    """Integers that pass through a type which does not hold them."""
    for kind in (np.int32, np.uint32, np.int16, np.uint16, np.int8, np.uint8):
        name = np.dtype(kind).name
        if np.dtype(kind).itemsize <= truth.dtype.itemsize and kind != truth.dtype:
            wrapped = truth.astype(kind).astype(truth.dtype)
            yield Hypothesis("dtype", f"its integers are narrowed: they wrap around as {name}", lambda w=wrapped: w)  # type: ignore[misc]
    for narrow in (np.float32, np.float16):
        with np.errstate(all="ignore"):
            rounded = truth.astype(narrow).astype(truth.dtype)
        words = f"its integers are narrowed: rounded to {np.dtype(narrow).name}"
        yield Hypothesis("dtype", words, lambda r=rounded: r)  # type: ignore[misc]


def _affine(truth: np.ndarray, got: np.ndarray) -> Iterator[Hypothesis]:
    finite = np.isfinite(truth) & np.isfinite(got)
    if np.sum(finite) < 2:
        return
    t, g = truth[finite], got[finite]
    scale = float(np.vdot(t, g) / np.vdot(t, t)) if np.vdot(t, t) else 1.0
    yield Hypothesis("scale", f"its result is {text(scale)} times what it should be", lambda: truth * scale)
    shift = float(np.mean(g - t))
    yield Hypothesis("offset", f"its result is off by {text(shift)} everywhere", lambda: truth + shift)


def _clipped(truth: np.ndarray, got: np.ndarray) -> Iterator[Hypothesis]:
    with np.errstate(all="ignore"):
        low, high = np.nanmin(got), np.nanmax(got)
    if np.isfinite(low) and np.isfinite(high) and low < high:
        words = f"its result is clipped to [{text(float(low))}, {text(float(high))}]"
        yield Hypothesis("clip", words, lambda: np.clip(truth, low, high))


def _permuted(truth: np.ndarray) -> Iterator[Hypothesis]:
    if not 1 <= truth.ndim <= _MAX_RANK:
        return
    for perm in itertools.permutations(range(truth.ndim)):
        turned = truth.transpose(perm)
        if perm != tuple(range(truth.ndim)) and turned.shape == truth.shape:
            yield Hypothesis("layout", f"its result is transposed by {list(perm)}", lambda t=turned: t)  # type: ignore[misc]
    for axis in range(truth.ndim):
        ways: dict[str, tuple[Any, ...]] = {
            "reversed": (np.flip, axis),
            "shifted by one": (np.roll, 1, axis),
            "shifted back": (np.roll, -1, axis),
        }
        for words, (way, *how) in ways.items() if truth.shape[axis] > 1 else ():
            moved = functools.partial(way, truth, *how)
            yield Hypothesis("layout", f"its result is {words} along axis {axis}", moved)
