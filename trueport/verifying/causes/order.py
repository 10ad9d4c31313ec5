"""The right numbers in the wrong places: an order that was not undone, or undone twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase

__all__ = ["other_order"]


def other_order(case: NodeCase) -> Iterator[Hypothesis]:
    """Along one axis the truth's own numbers, ranked as the target's are: what fits is only a matter of places."""
    truth, got = case.truth, np.asarray(case.target)
    if not isinstance(truth, np.ndarray) or truth.shape != got.shape or truth.dtype.kind not in "fiu":
        return
    for axis in reversed(range(truth.ndim)):
        if truth.shape[axis] < 2:
            continue
        ranks = np.argsort(np.argsort(got, axis=axis, kind="stable"), axis=axis, kind="stable")
        placed = np.take_along_axis(np.sort(truth, axis=axis), ranks, axis=axis)
        own = np.argsort(np.argsort(truth, axis=axis, kind="stable"), axis=axis, kind="stable")
        moved = np.any(ranks != own, axis=axis)
        words = f"along axis {axis} it gives the right numbers in another order"
        evidence = f"so it is in {int(np.sum(moved))} of {moved.size} rows along that axis, the others agree"
        yield Hypothesis("order", words, lambda placed=placed: placed, evidence)  # type: ignore[misc]
