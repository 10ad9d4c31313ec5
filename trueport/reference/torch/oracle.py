"""The float64 reference of a PyTorch source, and the noise that rounding in its own types makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.frontends.torch.source.capture import TorchCaptured
from trueport.reference.base import Truth, refuse_to_walk
from trueport.reference.noise import MORE_RUNS, NOISY_RUNS, RoundingNoise
from trueport.reference.torch.walk import TorchWalk, Translated
from trueport.reference.torch.wide import WideModule, weights_of
from trueport.runtimes.base import Model

__all__ = ["TorchOracle"]


class TorchOracle:
    """A PyTorch module in float64: its own code, every operator widened on its way."""

    name = "float64 (the module's own code, PyTorch's kernels)"
    shares = "pytorch"

    def __init__(self, captured: TorchCaptured, in_onnx: Callable[[], Translated], seed: int = 0) -> None:
        """``in_onnx`` translates the program, to name what can be changed in its nodes: it is never evaluated for the
        reference."""
        self.captured = captured
        self.in_onnx = in_onnx
        self.seed = seed
        self._wide = WideModule(captured.module, captured.call)

    @property
    def unit(self) -> float:
        """The roundoff of the module's own type."""
        return self._wide.unit

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """The truth, and the noisy runs."""
        return self._wide.run(feeds), [self._noisy(feeds, run) for run in range(NOISY_RUNS)]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further noisy runs."""
        return [self._noisy(feeds, NOISY_RUNS + run) for run in range(MORE_RUNS)]

    def run_with(self, feeds: Mapping[str, Any], noise: RoundingNoise) -> dict[str, Any]:
        """Return the outputs with errors that ``noise`` draws."""
        return self._wide.run(feeds, noise)

    def weights(self) -> list[np.ndarray]:
        """Return parameters and buffers, in their own types."""
        return weights_of(self.captured.module)

    def _noisy(self, feeds: Mapping[str, Any], run: int) -> dict[str, Any]:
        return self.run_with(feeds, RoundingNoise(self.seed + run))

    def walk(self, executions: Sequence[Model]) -> TorchWalk:
        """Return the source as it is walked node by node; it brings an execution of its own."""
        if self.captured.program is None:
            refuse_to_walk("PyTorch can't export TorchScript to a graph")
        return TorchWalk(self, self.in_onnx())
