"""Errors as a float of the model's own type makes them, drawn at random: what a faithful runtime may show.

Each node sees its float inputs off by up to half a unit of the last place, and gives results off by its declared
bound. Where it adds up products, the error is relative to the sum of their magnitudes, in whatever order they come.
Run a few times, this gives the noise that the model itself makes of rounding, for each element of each value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.mapping.bind import input_name
from trueport.mapping.declare import OpMapping
from trueport.mapping.registry import Registry
from trueport.runtimes.wide.evaluate import Noise, Run
from trueport.runtimes.wide.kernels import SUMS
from trueport.runtimes.wide.widen import unit_roundoff

__all__ = ["rounding_noise"]

_AGAINST_ONE = frozenset(
    "Acosh Asinh Atanh Celu Elu Erf HardSigmoid Log LogSoftmax Selu Sigmoid Softplus".split()  # noqa: SIM905
)
"""Made of numbers near one: exp(x) - 1 and log(1 + x) lose what is small, bounded functions what is in their tails."""
_AGAINST_INPUT = frozenset({"Gelu", "HardSwish", "Mish", "Swish"})
"""The input times a number between zero and one."""
_PLAIN_ULPS = 1.0
"""For an operator without a declared bound: one unit of the last place."""


def rounding_noise(registry: Registry, seed: int) -> Noise:
    """A source of errors; the same seed gives the same ones."""
    generator = np.random.default_rng(seed)

    def err(node: ir.Node, inputs: Sequence[Any], run: Run) -> Sequence[Any]:
        unit = _unit(node)
        mapping = registry.find(node.op_type, node.domain)
        if unit is None or (mapping is not None and mapping.fidelity == BITWISE):
            return run(inputs)
        computed = [_is_computed(node, mapping, index) for index in range(len(inputs))]
        results = run([_off(a, unit, generator) if c else a for a, c in zip(inputs, computed, strict=True)])
        bound = mapping.error.ulps if mapping is not None and mapping.error else _PLAIN_ULPS
        magnitudes = (
            run([_magnitude(array) for array in inputs]) if node.op_type in SUMS else _sizes(node, inputs, results)
        )
        return [
            _add(array, 2 * unit * max(bound, _PLAIN_ULPS) * np.abs(size), generator)
            for array, size in zip(results, magnitudes, strict=True)
        ]

    return err


def _sizes(node: ir.Node, inputs: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
    """What an error is relative to: the result, or what the usual formula adds up on the way to it."""
    if node.op_type in _AGAINST_ONE:
        return [np.maximum(np.abs(array), 1.0) if _is_wide(array) else array for array in results]
    if node.op_type in _AGAINST_INPUT and np.shape(inputs[0]) == np.shape(results[0]):
        return [np.maximum(np.abs(results[0]), np.abs(inputs[0])), *results[1:]]
    return results


def _is_computed(node: ir.Node, mapping: OpMapping | None, index: int) -> bool:
    """Weights are the same in every run, and parameters (scales, bounds) are not data that rounding blurs."""
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None or value.const_value is not None:
        return False
    return mapping is None or input_name(mapping, index) not in mapping.static


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
