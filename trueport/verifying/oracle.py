"""The float64 truth of a source, and the noise that rounding in its own types makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import onnx_ir as ir
from onnx_ir.passes.common import LiftConstantsToInitializersPass

from trueport.errors import NoOracle
from trueport.frontends.tensorflow.capture import Captured
from trueport.frontends.tensorflow.evaluate import evaluate_wide
from trueport.frontends.tensorflow.noise import operation_noise
from trueport.frontends.torch.capture import TorchCaptured
from trueport.frontends.torch.wide import WideModule
from trueport.ir.provenance import mark_origins
from trueport.mapping.registry import Registry
from trueport.passes.pipeline import raise_opsets
from trueport.passes.shapes import infer_shapes
from trueport.runtimes.reference import custom_ops
from trueport.runtimes.wide.evaluate import WideEvaluator
from trueport.runtimes.wide.noise import RoundingNoise
from trueport.verifying.bodies import body_of

__all__ = ["NoReference", "OnnxOracle", "Oracle", "TensorflowOracle", "TorchOracle", "Truth"]

_NOISY_RUNS = 3
_MORE_RUNS = 9
"""Of elements there are many: some happen to err little in all of a few runs, and hardly any in so many."""
Truth = tuple[dict[str, Any], list[dict[str, Any]]]


class Oracle(Protocol):
    """Whatever tells the truth about a source."""

    @property
    def name(self) -> str:
        """What it is, for the report."""

    @property
    def shares(self) -> str:
        """The runtime whose kernels it uses, so that it can't see what is wrong in them."""

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """Outputs by name in float64, and the same with the rounding of the model's types put in, a few times."""

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further noisy runs, for when the few leave a doubt."""


@dataclass(frozen=True)
class NoReference:
    """Where nothing knows the exact results: floats are compared with the source by declared bounds."""

    name: str
    """why"""
    shares: str = ""

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """Raise `NoOracle`."""
        raise NoOracle(self.name)

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return nothing."""
        return []


class OnnxOracle:
    """An ONNX source in float64, node by node, by ONNX's reference and this package's own kernels."""

    name = "float64 (ONNX reference)"
    shares = "onnx reference"

    def __init__(self, model: ir.Model, registry: Registry, seed: int = 0) -> None:
        """Takes the model over: it is raised to the canonical opsets, under the names it has."""
        mark_origins(model.graph)
        raise_opsets(model)
        LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
        infer_shapes(model)
        self.model = model
        self.registry = registry
        self.exact = WideEvaluator(model, custom_ops([m for m in registry if m.reference]))
        self.noisy = [self.exact.with_noise(RoundingNoise(registry, seed + run), body_of) for run in range(_NOISY_RUNS)]

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """The truth, and the noisy runs."""
        return self.exact.run(feeds), [noisy.run(feeds) for noisy in self.noisy]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further noisy runs: each draws on."""
        return [self.noisy[run % _NOISY_RUNS].run(feeds) for run in range(_MORE_RUNS)]


class TensorflowOracle:
    """A TensorFlow source in float64, operation by operation, by TensorFlow's own kernels."""

    name = "float64 (TensorFlow's own kernels, operation by operation)"
    shares = "tensorflow"

    def __init__(self, captured: Captured, registry: Registry, seed: int = 0) -> None:
        self.captured = captured
        self.registry = registry
        self.seed = seed

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """The truth, and the noisy runs."""
        return evaluate_wide(self.captured, feeds), [self._noisy(feeds, run) for run in range(_NOISY_RUNS)]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further noisy runs."""
        return [self._noisy(feeds, _NOISY_RUNS + run) for run in range(_MORE_RUNS)]

    def _noisy(self, feeds: Mapping[str, Any], run: int) -> dict[str, Any]:
        return evaluate_wide(self.captured, feeds, noise=operation_noise(self.registry, self.seed + run))


class TorchOracle:
    """A PyTorch module in float64: its own code, every operator widened on its way."""

    name = "float64 (the module's own code, PyTorch's kernels)"
    shares = "pytorch"

    def __init__(self, captured: TorchCaptured, seed: int = 0) -> None:
        self.captured = captured
        self.seed = seed
        self._wide = WideModule(captured.module, captured.call)

    @property
    def unit(self) -> float:
        """The roundoff of the module's own type."""
        return self._wide.unit

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """The truth, and the noisy runs."""
        return self._wide.run(feeds), [self._wide.run(feeds, self.seed + run) for run in range(_NOISY_RUNS)]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further noisy runs."""
        return [self._wide.run(feeds, self.seed + _NOISY_RUNS + run) for run in range(_MORE_RUNS)]
