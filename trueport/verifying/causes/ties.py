"""A choice between numbers that are equal, or nearly: any small change of the inputs turns it over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from trueport.errors import NoOracle
from trueport.reference.walk import NodeCase
from trueport.verifying.causes.hypothesis import run_on
from trueport.verifying.locate.first_node import Cause

__all__ = ["near_ties"]

_DRAWS = 24
_ULPS = 4.0


def near_ties(case: NodeCase) -> Iterator[Cause]:
    """Whether the target's result is one that inputs off by a few units of the last place lead to."""
    got, source = np.asarray(case.target), np.asarray(case.source)
    if got.shape != source.shape or got.dtype != source.dtype or not _is_whole(got):
        return
    differ = np.asarray(got != source)
    if not np.any(differ) or np.mean(differ) > 0.5:
        return
    reached = ~differ
    generator = np.random.default_rng(0)
    for _ in range(_DRAWS):
        made = _drawn(case, generator)
        if made is None or np.shape(made) != got.shape:
            return
        reached |= np.asarray(made).astype(got.dtype) == got
        if np.all(reached):
            place = [int(i) for i in np.argwhere(differ)[0]] if got.ndim else []
            evidence = (
                f"first at {place}: {got[tuple(place)]}, the source has {source[tuple(place)]}; "
                f"inputs off by {_ULPS:g} units of the last place lead to either{_gap(case)}"
            )
            yield Cause("ties", "it chooses between numbers that are equal, or nearly", evidence)
            return


def _is_whole(array: np.ndarray) -> bool:
    """Integers, or floats that are all whole numbers: what a choice or a rounding leaves."""
    return array.dtype.kind in "iub" or (
        array.dtype.kind == "f" and bool(np.all(np.isfinite(array)) and np.array_equal(array, np.rint(array)))
    )


def _drawn(case: NodeCase, generator: np.random.Generator) -> Any:
    inputs: list[Any] = []
    for value, array in zip(case.node.inputs, case.inputs, strict=True):
        is_data = value is not None and value.const_value is None
        if is_data and isinstance(array, np.ndarray) and array.dtype.kind == "f":
            off = _ULPS * float(np.finfo(np.float32).eps) * generator.uniform(-1, 1, size=array.shape)
            inputs.append(array * (1 + off))
        else:
            inputs.append(array)
    try:
        with np.errstate(all="ignore"):
            return run_on(case, case.node, inputs)
    except NoOracle:
        return None


def _gap(case: NodeCase) -> str:
    floats: Sequence[np.ndarray] = [a for a in case.inputs if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    gaps = np.diff(np.sort(floats[0].ravel())) if floats and floats[0].size > 1 else np.zeros(0)
    return f", smallest gap {np.min(gaps):.3g}" if gaps.size else ""
