"""Precision that was changed on purpose: a target whose weights are narrower than the source's.

Such a target is judged once more with the rounding of its own precision put into the float64 reference, node by node:
is it off by what that precision explains, or by more?
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from trueport.errors import NoOracle
from trueport.mapping.registry import Registry
from trueport.reference.base import Oracle
from trueport.reference.noise import Rounding, RoundingNoise, Run, is_wide
from trueport.reference.onnx.evaluate import WideEvaluator
from trueport.reference.onnx.noise import NodeRounding
from trueport.reference.onnx.oracle import OnnxOracle, body_of
from trueport.reference.tensorflow.oracle import TensorflowOracle
from trueport.reference.torch.oracle import TorchOracle
from trueport.runtimes.base import Model
from trueport.runtimes.reference import custom_ops
from trueport.verifying.judge.bulk import BULK_RUNS

__all__ = ["Coarse", "Precision", "coarser", "precision_of"]

_RUNS = BULK_RUNS
"""Evaluations with the coarser rounding: as many as the test of all elements together needs."""
_WEIGHT = 16
"""Elements from which on a constant is a weight: single numbers and shapes tell no precision."""
_INT8 = 1 / 254
"""Half a step of 8 bits, relative to the largest magnitude of a tensor."""


@dataclass(frozen=True)
class Precision:
    """A narrower type, and what it makes of numbers."""

    name: str
    unit: float
    """half a unit of the last place, relative to the element, or to the tensor's largest one"""
    of_largest: bool = False
    tiny: float = 0.0
    """numbers below it lose places: their errors are relative to it"""


_PRECISIONS = {
    "float16": Precision("float16", 2.0**-11, tiny=2.0**-14),
    "bfloat16": Precision("bfloat16", 2.0**-8),
    "int8": Precision("int8", _INT8, of_largest=True),
}


def precision_of(source: Iterable[Any], target: Iterable[Any]) -> Precision | None:
    """Return the precision of the target's weights, if most of them are narrower than the source's; else None.

    A single narrowed tensor among others is a fault, not a change on purpose.
    """
    found = _narrowest(target)
    return _PRECISIONS[found] if found and found != _narrowest(source) else None


def _narrowest(weights: Iterable[Any]) -> str:
    """Return the narrow type that more than half of all weights have, "" if none does."""
    counts: Counter[str] = Counter()
    for array in map(np.asarray, weights):
        if array.size >= _WEIGHT and array.ndim:
            counts[_type_of(array)] += array.size
    if not counts:
        return ""
    name, count = counts.most_common(1)[0]
    return name if 2 * count > counts.total() else ""


def _type_of(array: np.ndarray) -> str:
    """Return a narrow type that holds the array without loss; "" for a wide one."""
    if array.dtype in (np.int8, np.uint8):
        return "int8"
    if array.dtype == np.float16 or array.dtype == ml_dtypes.bfloat16:
        return array.dtype.name
    if array.dtype != np.float32:
        return ""
    with np.errstate(over="ignore"):
        narrow = (name for name in (np.float16, ml_dtypes.bfloat16) if np.array_equal(array.astype(name), array))
        return next((np.dtype(name).name for name in narrow), "")


class Coarse:
    """The reference of a source with the rounding of a coarser precision put in."""

    def __init__(self, precision: Precision, runs: Sequence[Callable[[Mapping[str, Any]], dict[str, Any]]]) -> None:
        self.name = precision.name
        self._runs = runs

    def __call__(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the outputs of each evaluation; nothing where a node can't be evaluated."""
        try:
            return [run(feeds) for run in self._runs]
        except NoOracle:
            return []


def coarser(source: Model, target: Model, oracle: Oracle) -> Coarse | None:
    """Return the reference at the target's own precision; None if that is the source's, or there is no reference."""
    if isinstance(oracle, OnnxOracle):
        weights: Iterable[Any] = source.constants().values()
    elif isinstance(oracle, (TensorflowOracle, TorchOracle)):
        weights = oracle.weights()
    else:
        return None
    precision = precision_of(weights, target.constants().values())
    if precision is None:
        return None
    if isinstance(oracle, OnnxOracle):
        return Coarse(precision, _onnx_runs(precision, oracle))
    noises = [_CoarseNoise(run, precision, everything=True) for run in range(_RUNS)]
    return Coarse(precision, [functools.partial(oracle.run_with, noise=noise) for noise in noises])


def _onnx_runs(precision: Precision, oracle: OnnxOracle) -> list[Callable[[Mapping[str, Any]], dict[str, Any]]]:
    custom = custom_ops([mapping for mapping in oracle.registry if mapping.reference])
    plain = WideEvaluator(oracle.model, _CoarseRounding(oracle.registry, precision), body_of, custom)
    return [plain.with_noise(_CoarseNoise(run, precision)).run for run in range(_RUNS)]


class _CoarseRounding(NodeRounding):
    """Nodes err as in the coarser precision, their weights too."""

    def __init__(self, registry: Registry, precision: Precision) -> None:
        super().__init__(registry)
        self._precision = precision

    def __call__(self, node: ir.Node) -> Rounding | None:
        found = super().__call__(node)
        if found is None:
            return None
        # What 8 bits hold are operands; sums stay as they are.
        unit = found.unit if self._precision.of_largest else max(found.unit, self._precision.unit)
        weights = [value is not None and value.const_value is not None for value in node.inputs]
        return Rounding(unit, found.bound, [b or w for b, w in zip(found.blurred, weights, strict=True)])


class _CoarseNoise(RoundingNoise):
    """Also moves every operand by what the precision makes of it."""

    def __init__(self, seed: int, precision: Precision, *, everything: bool = False) -> None:
        """``everything``: all operands of operations that round err so, whatever is said of them."""
        super().__init__(seed)
        self._precision, self._everything = precision, everything

    def __call__(
        self, rounding: Rounding | None, inputs: Sequence[Any], run: Run, sizes: Sequence[Any] | None = None
    ) -> Sequence[Any]:
        if rounding is None:
            return run(inputs)
        if self._everything:
            unit = rounding.unit if self._precision.of_largest else max(rounding.unit, self._precision.unit)
            rounding = replace(rounding, unit=unit, blurred=[True] * len(inputs))
        pairs = zip(inputs, rounding.blurred, strict=True)
        given = [self._err(a, self._size(a), self._precision.unit) if b else a for a, b in pairs]
        return super().__call__(rounding, given, run)

    def _size(self, array: Any) -> Any:
        if not is_wide(array):
            return array
        size = np.abs(array)
        if self._precision.of_largest:
            return np.broadcast_to(np.max(size, initial=0.0, where=np.isfinite(size)), size.shape)
        return np.maximum(size, self._precision.tiny)
