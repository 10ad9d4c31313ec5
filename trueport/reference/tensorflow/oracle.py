"""The float64 reference of a TensorFlow source, and the noise that rounding in its own types makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.capture import Captured
from trueport.mapping.registry import Registry
from trueport.reference.base import Truth
from trueport.reference.noise import MORE_RUNS, NOISY_RUNS, RoundingNoise
from trueport.reference.tensorflow.evaluate import evaluate_wide
from trueport.reference.tensorflow.noise import operation_noise
from trueport.reference.tensorflow.walk import TensorflowWalk
from trueport.runtimes.base import Model

__all__ = ["TensorflowOracle"]


class TensorflowOracle:
    """A TensorFlow source in float64, operation by operation, by TensorFlow's own kernels."""

    name = "float64 (TensorFlow's own kernels, operation by operation)"
    shares = "tensorflow"

    def __init__(
        self, captured: Captured, registry: Registry, in_onnx: Callable[[Captured], ir.Model], seed: int = 0
    ) -> None:
        """``in_onnx`` translates a part of the function, to name what can be changed in it: it is never evaluated
        for the reference."""
        self.captured = captured
        self.in_onnx = in_onnx
        self.registry = registry
        self.seed = seed

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """The truth, and the noisy runs."""
        return evaluate_wide(self.captured, feeds), [self._noisy(feeds, run) for run in range(NOISY_RUNS)]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further noisy runs."""
        return [self._noisy(feeds, NOISY_RUNS + run) for run in range(MORE_RUNS)]

    def walk(self, executions: Sequence[Model]) -> TensorflowWalk:
        """Return the source as it is walked operation by operation; it brings an execution of its own."""
        return TensorflowWalk(self)

    def run_with(self, feeds: Mapping[str, Any], noise: RoundingNoise) -> dict[str, Any]:
        """Return the outputs with errors that ``noise`` draws."""
        return evaluate_wide(self.captured, feeds, noise=operation_noise(self.registry, noise))

    def weights(self) -> list[np.ndarray]:
        """Return variables and constants, in their own types."""
        constants = [operation for operation in self.captured.graph.get_operations() if operation.type == "Const"]
        held = [variable.numpy() for variable in self.captured.graph.variables]
        return [*held, *(tf.make_ndarray(operation.get_attr("value")) for operation in constants)]

    def _noisy(self, feeds: Mapping[str, Any], run: int) -> dict[str, Any]:
        return self.run_with(feeds, RoundingNoise(self.seed + run))
