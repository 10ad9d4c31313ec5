"""What can be seen without a hypothesis: weights that differ, near ties, NaN, declared approximations, other types."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from trueport.runtimes.base import Model
from trueport.verifying.locate import Cause, NodeCase

__all__ = ["direct_evidence", "unusual_numbers"]

_CHOOSING = frozenset({"ArgMax", "ArgMin", "TopK", "NonMaxSuppression", "Hardmax", "Unique"})
_RANDOM = frozenset(
    {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


def direct_evidence(case: NodeCase, target: Model) -> Iterator[Cause]:
    """Causes that are plain to see."""
    yield from _shape_or_type(case)
    yield from _weights(case, target)
    if case.node.op_type in _RANDOM:
        yield Cause("random", "the operator draws random numbers", "no two runtimes draw the same ones")
    yield from _narrowed(case)
    yield from _ties(case)


def _shape_or_type(case: NodeCase) -> Iterator[Cause]:
    source, got = np.asarray(case.source), np.asarray(case.target)
    if source.shape != got.shape:
        yield Cause("shape", f"its result has shape {list(got.shape)}", f"the source's has {list(source.shape)}")
    elif source.dtype != got.dtype:
        yield Cause("dtype", f"its result is {got.dtype}", f"the source's is {source.dtype}")


def _weights(case: NodeCase, target: Model) -> Iterator[Cause]:
    known = target.constants()
    for value in case.node.inputs:
        name = value.name or "" if value is not None else ""
        if value is None or value.const_value is None or name not in known:
            continue
        mine, theirs = np.asarray(value.const_value.numpy()), np.asarray(known[name])
        if mine.shape != theirs.shape:
            words = f"weight {name!r} has shape {list(theirs.shape)}"
            yield Cause("weight", words, f"the source's has {list(mine.shape)}")
        elif mine.dtype != object and not np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"):
            differ = np.argwhere(np.asarray(mine != theirs))
            place = tuple(int(i) for i in differ[0])
            words = f"weight {name!r} differs in {len(differ)} of {mine.size} elements"
            yield Cause("weight", words, f"first at {list(place)}: {theirs[place]!s}, the source has {mine[place]!s}")


def _narrowed(case: NodeCase) -> Iterator[Cause]:
    """All of the target's numbers are of a narrower type, the source's are not."""
    source, got = np.asarray(case.source), np.asarray(case.target)
    if source.dtype != np.float32 or source.shape != got.shape:
        return
    for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16, np.float16):
        with np.errstate(all="ignore"):
            fits = [np.array_equal(a.astype(kind).astype(a.dtype), a, equal_nan=True) for a in (got, source)]
            near = np.allclose(got, source.astype(kind).astype(np.float32), rtol=4 * float(ml_dtypes.finfo(kind).eps))
        if fits == [True, False] and near:
            name = np.dtype(kind).name
            yield Cause("dtype", f"its result is rounded to {name}", f"every number of it is a {name}")
            return


def _ties(case: NodeCase) -> Iterator[Cause]:
    """A choice between numbers that are equal but for rounding."""
    if case.node.op_type not in _CHOOSING or not isinstance(case.inputs[0], np.ndarray):
        return
    ordered = np.sort(case.inputs[0].ravel())
    gaps = np.diff(ordered)
    if gaps.size and np.min(gaps) <= 4 * np.finfo(np.float32).eps * np.max(np.abs(ordered), initial=1.0):
        yield Cause("ties", "it chooses between numbers that are equal, or nearly", f"smallest gap {np.min(gaps):.3g}")


def unusual_numbers(case: NodeCase) -> Iterator[Cause]:
    """NaN, infinities and denormals that are treated otherwise: often a consequence, so this is asked last."""
    source, got = np.asarray(case.source), np.asarray(case.target)
    if source.dtype.kind != "f" or source.shape != got.shape:
        return
    odd = np.isfinite(source) != np.isfinite(got)
    if np.any(odd):
        place = tuple(int(i) for i in np.argwhere(odd)[0])
        evidence = f"first at {list(place)}: {got[place]}, the source has {source[place]}"
        yield Cause("nonfinite", "NaN or infinity is treated otherwise", evidence)
    tiny = np.finfo(source.dtype).tiny
    differ = source != got
    small = np.abs(source[differ])
    if np.any(differ) and np.all((small > 0) & (small < tiny)):
        evidence = f"{int(np.sum(differ))} elements, all below {tiny:.3g}"
        yield Cause("denormal", "denormal numbers are flushed to zero", evidence)
