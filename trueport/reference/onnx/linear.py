"""Noisy runs of products: only what differs from the exact run is multiplied, in float32, for all runs at once.

A product is linear in each operand: ``(A + a) @ (B + b) = A @ B + a @ B + (A + a) @ b``. The differences are errors of
rounding, of which seven digits are more than enough; the exact product stays float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.operators.record import Trait
from trueport.operators.table import facts_of
from trueport.reference.noise import Rounding, RoundingNoise, Run, is_wide

__all__ = ["narrow_sizes", "product_differences"]

_Product = Callable[[np.ndarray, np.ndarray], np.ndarray]
_SINGLE = 2.0**-24
"""Unit roundoff of float32: of a model in float64 the differences are evaluated in float64."""


def _is_product(node: ir.Node, rounding: Rounding, inputs: Sequence[Any]) -> bool:
    """True if a node of floats of at most 32 bits multiplies its first two inputs and adds the third."""
    return (
        not node.domain
        and facts_of(node).has(Trait.WEIGHTED)
        and rounding.unit >= _SINGLE
        and len(inputs) <= 3
        and all(is_wide(array) and array.dtype == np.float64 and array.ndim > 1 for array in inputs[:2])
    )


def narrow_sizes(node: ir.Node, rounding: Rounding, inputs: Sequence[Any], run: Run) -> Sequence[Any] | None:
    """Return the sums of the terms' magnitudes in float32; None if the node is no product, or they are too large."""
    if not _is_product(node, rounding, inputs):
        return None
    results = run([None if array is None else np.abs(array).astype(np.float32) for array in inputs])
    return results if all(np.isfinite(array).all() for array in results) else None


def product_differences(
    node: ir.Node,
    rounding: Rounding,
    exact: Sequence[Any],
    noisy: Sequence[Sequence[Any]],
    noises: Sequence[RoundingNoise],
    run: Run,
) -> np.ndarray | None:
    """Return how far each noisy run's result is from the exact one, ``[runs, ...]``; None if they must be evaluated."""
    if not _is_product(node, rounding, exact) or any(
        given[index] is not exact[index] for given in noisy for index in range(2, len(exact))
    ):
        return None
    varies = [rounding.blurred[index] or any(given[index] is not exact[index] for given in noisy) for index in range(2)]
    is_convolution = exact[0].ndim > 2 and node.op_type != "MatMul"
    if is_convolution and varies[1]:
        return None
    changes = [_changes(index, rounding, exact, noisy, noises) if varies[index] else None for index in range(2)]
    if not all(change is None or np.isfinite(change).all() for change in changes):
        return None
    left, right = (np.asarray(array, np.float32) for array in exact[:2])
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return None

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(run([a, b, *[None] * (len(exact) - 2)])[0])

    if is_convolution:
        return None if changes[0] is None else _convolved(changes[0], right, product)
    return _multiplied(left, right, changes, product)


def _changes(
    index: int,
    rounding: Rounding,
    exact: Sequence[Any],
    noisy: Sequence[Sequence[Any]],
    noises: Sequence[RoundingNoise],
) -> np.ndarray:
    blur = rounding.blur if rounding.blurred[index] else 0.0
    pairs = zip(noises, noisy, strict=True)
    return np.stack([noise.difference(exact[index], given[index], blur) for noise, given in pairs])


def _convolved(changes: np.ndarray, weights: np.ndarray, product: _Product) -> np.ndarray:
    """All runs as one batch."""
    made = product(changes.reshape(-1, *changes.shape[2:]), weights)
    return made.reshape(len(changes), -1, *made.shape[1:])


def _multiplied(
    left: np.ndarray, right: np.ndarray, changes: Sequence[np.ndarray | None], product: _Product
) -> np.ndarray:
    """Run by run: BLAS has nothing to gain from more rows, and the memory for one run is enough."""
    runs = next(len(change) for change in changes if change is not None)
    total: list[Any] = [0] * runs
    for number in range(runs):
        if changes[0] is not None:
            total[number] = product(changes[0][number], right)
        if changes[1] is not None:
            moved = left if changes[0] is None else left + changes[0][number]
            total[number] = total[number] + product(moved, changes[1][number])
    return np.stack(total)
