"""Errors as a float of the model's own type makes them, drawn at random: what a faithful runtime may show.

Each node sees its float inputs off by up to half a unit of the last place, and gives results off by its declared
bound. Where it adds up products, the error is relative to the sum of their magnitudes, in whatever order they come.
Where sums inside it may cancel (normalizations, recurrences), it is as if all that goes in, weights as well, were off
by that bound: each sum is then off as it is in floats. Where it mixes neighbours (interpolation), the place between
them is rounded, too. Where no size of its result or inputs tells the errors of its steps (attention), each step errs by
itself.
Run a few times, this gives the noise that the model itself makes of rounding, for each element of each value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import Against
from trueport.ir.rounding import LEAST_BLUR, place_sizes
from trueport.mapping.registry import Registry
from trueport.operators.record import Operator
from trueport.reference.onnx.evaluate import Run
from trueport.reference.onnx.widen import unit_roundoff

__all__ = ["RoundingNoise"]

_LEAST_ULPS = 1.0
"""The least error of an operator that rounds: one unit of the last place."""


class RoundingNoise:
    """A source of errors; the same seed gives the same ones. ``registry`` has the users' own operators."""

    def __init__(self, registry: Registry, seed: int) -> None:
        self._registry = registry
        self._generator = np.random.default_rng(seed)

    def __call__(self, node: ir.Node, inputs: Sequence[Any], run: Run) -> Sequence[Any]:
        unit, generator = _unit(node), self._generator
        operator = self._registry.facts(node.op_type, node.domain)
        bound = operator.error
        if unit is None or bound is None:
            return run(inputs)
        scale = 2 * unit * max(bound.ulps, _LEAST_ULPS)
        by_data = bound.against == Against.DATA
        blurred = [_is_blurred(node, operator, index, weights=by_data) for index in range(len(inputs))]
        blur = max(scale, 2 * unit * LEAST_BLUR) if by_data else unit
        results = run([_off(a, blur, generator) if b else a for a, b in zip(inputs, blurred, strict=True)])
        sizes = _SIZES[bound.against](inputs, results, run)
        return [_add(array, scale * np.abs(size), generator) for array, size in zip(results, sizes, strict=True)]

    def by_steps(self, node: ir.Node) -> bool:
        """Whether the operator's bound says so."""
        bound = self._registry.facts(node.op_type, node.domain).error
        return bound is not None and bound.against == Against.STEPS


def _of_terms(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return run([_magnitude(array) for array in inputs])


def _of_one(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return [np.maximum(np.abs(array), 1.0) if _is_wide(array) else array for array in results]


def _of_input(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    if np.shape(inputs[0]) != np.shape(results[0]):
        return results
    return [np.maximum(np.abs(results[0]), np.abs(inputs[0])), *results[1:]]


def _of_largest(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return [
        np.broadcast_to(np.max(np.abs(array), axis=-1, keepdims=True), array.shape) if _is_wide(array) else array
        for array in results
    ]


def _of_places(inputs: Sequence[Any], results: Sequence[Any], run: Run) -> Sequence[Any]:
    return run([place_sizes(inputs[0]), *inputs[1:]])


_SIZES: Mapping[Against, Callable[[Sequence[Any], Sequence[Any], Run], Sequence[Any]]] = {
    Against.RESULT: lambda inputs, results, run: results,
    Against.STEPS: lambda inputs, results, run: results,
    Against.TERMS: _of_terms,
    Against.ONE: _of_one,
    Against.INPUT: _of_input,
    Against.LARGEST: _of_largest,
    Against.DATA: lambda inputs, results, run: results,
    Against.PLACES: _of_places,
}
"""What an error is relative to, by the operator's bound."""


def _is_blurred(node: ir.Node, operator: Operator, index: int, *, weights: bool) -> bool:
    """Weights are the same in every run, and parameters (scales, bounds) are not data that rounding blurs."""
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None or (value.const_value is not None and not weights):
        return False
    return not operator.role(index).is_parameter


def _unit(node: ir.Node) -> float | None:
    """The roundoff of the widest float that the node makes, as the model has it."""
    units = [unit for value in node.outputs if (unit := unit_roundoff(value.dtype)) is not None]
    return max(units) if units else None


def _is_wide(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == np.float64


def _off(array: Any, unit: float, generator: np.random.Generator) -> Any:
    if not _is_wide(array):
        return array
    return array * (1 + unit * generator.uniform(-1, 1, size=array.shape))


def _magnitude(array: Any) -> Any:
    return np.abs(array) if _is_wide(array) else array


def _add(array: Any, size: Any, generator: np.random.Generator) -> Any:
    if not _is_wide(np.asarray(array)) or np.shape(size) != np.shape(array):
        return array
    return array + np.where(np.isfinite(size), size, 0) * generator.uniform(-1, 1, size=np.shape(array))
