"""What the error itself looks like: narrowed, scaled, shifted, permuted, clipped, or as large as a narrower type's."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from trueport.reference.onnx.widen import unit_roundoff
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import NUMBER, PATTERN, among, hypothesis, text
from trueport.verifying.causes.solving import is_overdetermined
from trueport.verifying.locate.first_node import Cause

__all__ = ["error_patterns", "narrow_arithmetic"]

_MAX_RANK = 4
_NARROWED = PATTERN - 4
_BULK, _USUAL = (0.02, 1.0), 0.15
"""The median error in units of the largest of a few noisy runs in a type, if its arithmetic made it: blocked sums err
several times less than the runs, which add in any order."""
_MOST = 3.0
"""99 % of the errors are less than so many of the same units."""
_RELATIVE = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_LEAST = 64
"""Elements from which on the size of errors says something."""


def error_patterns(case: NodeCase) -> Iterator[Hypothesis]:
    """Simple functions of the truth that may be what the target gives."""
    truth, got = case.truth, np.asarray(case.target)
    if not isinstance(truth, np.ndarray) or truth.shape != got.shape or truth.dtype.kind not in "fiu" or not truth.size:
        return
    found = [*_permuted(case, truth), *_clipped(case, got)]
    if truth.dtype.kind == "f":
        found += [*_narrowed(case), *_affine(case, truth, got.astype(np.float64))]
    else:
        found += _wrapped(case, truth)
    yield from sorted(found, key=lambda one: one.bits)


def _of_truth(case: NodeCase, kind: str, words: str, change: Callable[[Any], Any], bits: float) -> Hypothesis:
    return hypothesis(case, kind, words, functools.partial(_changed, change=change), bits)


def _changed(case: NodeCase, change: Callable[[Any], Any]) -> Any:
    return change(np.asarray(case.truth))


def _narrowed(case: NodeCase) -> Iterator[Hypothesis]:
    for kind in (np.float16, ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3fn):
        words = f"its result is narrowed: rounded to {np.dtype(kind).name}"
        yield _of_truth(case, "dtype", words, lambda a, k=kind: a.astype(k).astype(np.float64), _NARROWED)  # type: ignore[misc]
    yield _of_truth(case, "dtype", "its result is truncated to integers", np.trunc, _NARROWED)


def _wrapped(case: NodeCase, truth: np.ndarray) -> Iterator[Hypothesis]:
    """Integers that pass through a type which does not hold them."""
    for kind in (np.int32, np.uint32, np.int16, np.uint16, np.int8, np.uint8):
        if np.dtype(kind).itemsize <= truth.dtype.itemsize and kind != truth.dtype:
            name = np.dtype(kind).name
            words = f"its integers are narrowed: they wrap around as {name}"
            yield _of_truth(case, "dtype", words, functools.partial(_through, kind=kind), _NARROWED)
            words = f"its integers are narrowed: they saturate as {name}"
            yield _of_truth(case, "dtype", words, functools.partial(_saturated, kind=kind), _NARROWED + 1)
    for narrow in (np.float32, np.float16, ml_dtypes.bfloat16):
        words = f"its integers are narrowed: rounded to {np.dtype(narrow).name}"
        yield _of_truth(case, "dtype", words, functools.partial(_through, kind=narrow), _NARROWED)


def _through(array: Any, kind: Any) -> Any:
    return array.astype(kind).astype(array.dtype)


def _saturated(array: Any, kind: Any) -> Any:
    info = np.iinfo(kind)
    return np.clip(array, max(info.min, np.iinfo(array.dtype).min), info.max).astype(array.dtype)


def _affine(case: NodeCase, truth: np.ndarray, got: np.ndarray) -> Iterator[Hypothesis]:
    finite = np.isfinite(truth) & np.isfinite(got)
    if np.sum(finite) < 2 or not is_overdetermined(case, 1):
        return
    t, g = truth[finite], got[finite]
    scale = float(np.vdot(t, g) / np.vdot(t, t)) if np.vdot(t, t) else 1.0
    if 1e-6 < abs(scale) < 1e6:
        words = f"its result is {text(scale)} times what it should be"
        yield _of_truth(case, "scale", words, lambda a: a * scale, PATTERN + NUMBER)
    shift = float(np.mean(g - t))
    yield _of_truth(
        case, "offset", f"its result is off by {text(shift)} everywhere", lambda a: a + shift, PATTERN + NUMBER
    )


def _clipped(case: NodeCase, got: np.ndarray) -> Iterator[Hypothesis]:
    with np.errstate(all="ignore"):
        low, high = np.nanmin(got), np.nanmax(got)
    # Two elements at least must lie at a bound: one is the largest of any result.
    ends = sum(int(np.sum(got == end)) > 1 for end in (low, high))
    if np.isfinite(low) and np.isfinite(high) and low < high and ends:
        words = f"its result is clipped to [{text(float(low))}, {text(float(high))}]"
        yield _of_truth(case, "clip", words, lambda a: np.clip(a, low, high), PATTERN + 2 * NUMBER)


def _permuted(case: NodeCase, truth: np.ndarray) -> Iterator[Hypothesis]:
    if not 1 <= truth.ndim <= _MAX_RANK:
        return
    for perm in itertools.permutations(range(truth.ndim)):
        if perm == tuple(range(truth.ndim)):
            continue
        bits = _NARROWED + among(truth.ndim)
        if truth.transpose(perm).shape == truth.shape:
            turned = functools.partial(np.transpose, axes=perm)
            yield _of_truth(case, "layout", f"its result is transposed by {list(perm)}", turned, bits)
        words = f"its result is read with its axes in the order {list(perm)}"
        yield _of_truth(case, "layout", words, lambda a, p=perm: a.transpose(p).reshape(a.shape), bits + 1)  # type: ignore[misc]
    for axis in (axis for axis, size in enumerate(truth.shape) if size > 1):
        ways: dict[str, Callable[[Any], Any]] = {
            "reversed": functools.partial(np.flip, axis=axis),
            "shifted by one": functools.partial(np.roll, shift=1, axis=axis),
            "shifted back": functools.partial(np.roll, shift=-1, axis=axis),
        }
        for words, change in ways.items():
            yield _of_truth(case, "layout", f"its result is {words} along axis {axis}", change, _NARROWED + among(3))


def narrow_arithmetic(case: NodeCase) -> Iterator[Cause]:
    """Errors like those that the same arithmetic makes in a narrower type: in size, and on either side of the truth."""
    truth, got = case.truth, np.asarray(case.target)
    own = case.node.outputs[0].dtype
    unit = unit_roundoff(own)
    if unit is None or not isinstance(truth, np.ndarray) or truth.dtype.kind != "f" or truth.shape != got.shape:
        return
    runs = [run - truth for run in case.noisy if np.shape(run) == truth.shape]
    if not runs or got.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):
        errors = got.astype(np.float64) - truth
        noise = np.max(np.abs(runs), axis=0)
    fine = np.isfinite(errors) & np.isfinite(noise) & (noise > 0)
    if np.sum(fine) < _LEAST or not _is_on_either_side(errors[fine], truth[fine]):
        return
    found = []
    for name, relative in _RELATIVE.items():
        ratio = np.abs(errors[fine]) / (noise[fine] * relative / unit)
        middle, most = float(np.median(ratio)), float(np.quantile(ratio, 0.99))
        if relative > unit and _BULK[0] < middle < _BULK[1] and most < _MOST:
            found.append((abs(np.log(middle / _USUAL)), name, middle, most))
    for _, name, middle, most in sorted(found)[:1]:
        evidence = f"the median error is {middle:.2g} times that of such arithmetic, 99 % are below {most:.2g}"
        yield Cause("dtype", f"it is computed in {name}: its errors are as large as those of {name}", evidence)


def _is_on_either_side(errors: np.ndarray, truth: np.ndarray) -> bool:
    """True if the signs of errors are those of chance, also relative to the sign of the truth: 3 deviations."""
    bounds = 3 / np.sqrt(errors.size)
    signs = np.sign(errors)
    return bool(abs(np.mean(signs)) < bounds and abs(np.mean(signs * np.sign(truth))) < bounds)
