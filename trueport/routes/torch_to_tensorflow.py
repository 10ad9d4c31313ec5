"""A PyTorch module to a SavedModel: to ONNX in memory, and from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from trueport.frontends.torch.sources import TorchOptions
from trueport.ir.ports import Port
from trueport.mapping.registry import Finding, Registry
from trueport.report.graphs import Graph
from trueport.routes.base import Ops, Route
from trueport.routes.onnx_to_tensorflow import OnnxToTensorflow
from trueport.routes.torch_to_onnx import TorchToOnnx
from trueport.runtimes.base import Model
from trueport.verifying.oracle import Oracle

__all__ = ["TorchToTensorflow"]


class TorchToTensorflow(Route):
    """Two routes joined where the graph is ONNX; the source that is compared with is PyTorch itself."""

    target = "tensorflow"

    def __init__(self, source: Any, ops: Ops, options: TorchOptions) -> None:
        super().__init__()
        self._first = TorchToOnnx(source, ops, options)
        self._ops = ops
        self._second: OnnxToTensorflow | None = None
        self.registry: Registry = self._first.registry

    @property
    def name(self) -> str:
        return self._first.name

    @property
    def second(self) -> OnnxToTensorflow:
        assert self._second is not None, "capture comes first"
        return self._second

    def capture(self) -> None:
        self._first.capture()

    def canonicalize(self) -> None:
        self._first.canonicalize()
        self._second = OnnxToTensorflow(self._first.graph(), self._ops, trust_shapes=True)
        self._second.capture()
        self._second.canonicalize()
        self.findings = (*self._first.findings, *self._second.findings)
        self.losses += [*self._first.losses, *self._second.losses]
        self.registry = self._second.registry

    def emit(self) -> Any:
        return self.second.emit()

    def write(self, place: Path) -> None:
        self.second.write(place)

    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        return self.second.ports()

    def sources(self) -> Sequence[Model] | str:
        return self._first.sources()

    def oracle(self) -> Oracle | str:
        return self._first.oracle()

    def result(self, written: Path | None) -> Model:
        return self.second.result(written)

    def graph(self) -> ir.Model:
        return self.second.graph()

    def rehearse(self) -> None:
        self.second.rehearse()

    @property
    def captured_by(self) -> str:
        return self._first.captured_by

    def border(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        return self._first.border()

    def source_graph(self) -> Graph | None:
        return self._first.source_graph()

    def refined(self, source: Graph) -> Graph:
        return self._first.refined(source)

    def target_graph(self) -> Graph:
        return self.second.target_graph()

    def findings_by_node(self) -> Mapping[str, Finding]:
        return {**self._first.findings_by_node(), **self.second.findings_by_node()}
