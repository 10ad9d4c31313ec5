"""The float64 reference of an ONNX source, and the noise that rounding in its own types makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import LiftConstantsToInitializersPass

from trueport.frontends.onnx.load import load_onnx
from trueport.ir.provenance import mark_origins
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.mapping.registry import RECORDS, Registry
from trueport.passes.canonical import raise_opsets
from trueport.passes.expand import expand_functions
from trueport.passes.shapes import infer_shapes
from trueport.reference.base import Truth
from trueport.reference.noise import MORE_RUNS, NOISY_RUNS, RoundingNoise
from trueport.reference.onnx.evaluate import WideEvaluator
from trueport.reference.onnx.noise import NodeRounding
from trueport.reference.onnx.walk import OnnxWalk
from trueport.runtimes.base import Model
from trueport.runtimes.reference import custom_ops

__all__ = ["OnnxOracle"]

_MEMORY = 1 << 30
"""Bytes that the values of all noisy runs may take that go side by side."""


class OnnxOracle:
    """An ONNX source in float64, node by node, by ONNX's reference and this package's own kernels."""

    name = "float64 (ONNX reference)"
    shares = "onnx reference"

    def __init__(self, model: ir.Model, registry: Registry = RECORDS, seed: int = 0) -> None:
        """Takes the model over: it is raised to the canonical opsets, under the names it has.

        ``registry``: users' declarations, of operators without a record or with other bounds than their record.
        """
        mark_origins(model.graph)
        raise_opsets(model)
        LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
        infer_shapes(model)
        self.model = model
        self.registry = registry
        custom = custom_ops([m for m in registry if m.reference])
        self.exact = WideEvaluator(model, NodeRounding(registry), body_of, custom)
        self.noisy = [self.exact.with_noise(RoundingNoise(seed + run)) for run in range(NOISY_RUNS)]

    @classmethod
    def of(cls, proto: onnx.ModelProto, registry: Registry) -> OnnxOracle:
        """Return the reference of a model that was cut out of another one."""
        return cls(load_onnx(proto), registry)

    def walk(self, executions: Sequence[Model]) -> OnnxWalk:
        """Return the source as it is walked node by node."""
        return OnnxWalk(self, executions)

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """Return the float64 outputs, and those of the noisy runs."""
        return self.exact.run_beside(feeds, self.noisy)

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further noisy runs: each draws on. They go in one pass, with one exact run, if that fits into memory."""
        turns = MORE_RUNS // NOISY_RUNS
        if self.exact.peak_bytes * MORE_RUNS <= _MEMORY:
            return self.exact.run_beside(feeds, self.noisy * turns)[1]
        return [run for _ in range(turns) for run in self.exact.run_beside(feeds, self.noisy)[1]]


def body_of(node: ir.Node) -> ir.Graph | None:
    """The body of one node of the canonical opsets; None where ONNX gives none for it."""
    model = ir.from_proto(_alone(node))
    if not expand_functions(model, lambda inner: inner.op_type != node.op_type, raise_opsets):
        return None
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    infer_shapes(model)
    return model.graph


def _alone(node: ir.Node) -> onnx.ModelProto:
    """A model of the node, which takes its inputs in their order."""
    proto = ir.to_proto(node)
    given = {value.name or "": value for value in node.inputs if value is not None}
    made = [value for value in node.outputs if value.name]
    inputs, outputs = ([ir.to_proto(value) for value in listed] for listed in (given.values(), made))
    graph = onnx.helper.make_graph([proto], "body", inputs, outputs)
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in CANONICAL_OPSETS.items()]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
