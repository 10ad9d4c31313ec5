"""A PyTorch module to an ONNX file."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from trueport.backends.onnx.save import write_onnx
from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.frontends.torch.capture import TorchCaptured, capture_torch
from trueport.frontends.torch.choices import unspecified_choices
from trueport.frontends.torch.places import line_of
from trueport.frontends.torch.registry import registry
from trueport.frontends.torch.run import run_eager, run_inner
from trueport.frontends.torch.sources import TorchOptions
from trueport.frontends.torch.translate import Translated, translate
from trueport.ir.ports import Port
from trueport.mapping.registry import Registry
from trueport.mapping.user import with_user_ops
from trueport.passes.settle import settle
from trueport.report.graphs import Graph, onnx_graph
from trueport.report.graphs_torch import torch_graph
from trueport.routes.base import Ops, Route
from trueport.routes.onnx_file import checked_opset, known_to_run, own_names
from trueport.routes.onnx_opset import settle_opset
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.ort_kernels import cpu_kernels
from trueport.runtimes.torch import TorchModel
from trueport.verifying.oracle import Oracle, TorchOracle

__all__ = ["TorchToOnnx"]


class TorchToOnnx(Route):
    """Capture with torch.export, translate with PyTorch's exporter and our own table, settle the opset."""

    target = "onnx"

    def __init__(
        self,
        source: Any,
        ops: Ops,
        options: TorchOptions,
        *,
        opset: int | None = None,
        external_data: bool = False,
    ) -> None:
        super().__init__()
        self._source = source
        self._options = options
        self._opset = checked_opset(opset)
        self._external_data = external_data
        self.registry = with_user_ops(registry(), ops)
        self._captured: TorchCaptured | None = None
        self._translated: Translated | None = None
        self._arranged = False

    @property
    def name(self) -> str:
        return str(self._source) if isinstance(self._source, (str, Path)) else "the module"

    @property
    def captured(self) -> TorchCaptured:
        assert self._captured is not None, "capture comes first"
        return self._captured

    def capture(self) -> None:
        self._captured = capture_torch(self._source, self._options)
        self.losses += self._captured.losses

    def canonicalize(self) -> None:
        self._translated = translate(self.captured, self.registry)
        settle(self._translated.model)
        self.findings = self._translated.findings
        self.losses += self._translated.losses

    def emit(self) -> ir.Model:
        if not self._arranged:
            self.needs = settle_opset(self.graph(), self._opset, cpu_kernels())
            self._arranged = True
        return self.graph()

    def write(self, place: Path) -> None:
        write_onnx(self.emit(), place, external_data=self._external_data)
        known_to_run(place)

    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        graph = self.emit().graph
        return own_names(graph.inputs), own_names(graph.outputs)

    def sources(self) -> Sequence[Model] | str:
        captured, translated = self.captured, self._translated
        assert translated is not None
        eager = functools.partial(run_eager, captured.module, captured.call)
        inner = functools.partial(run_inner, translated.program, captured.call) if translated.program else None
        bounds = {(dim.input, dim.axis): (dim.low, dim.high) for dim in captured.dims}
        choices = functools.partial(unspecified_choices, captured.module, captured.call)
        return [TorchModel(eager, captured.inputs, captured.outputs, inner, bounds, choices=choices)]

    def oracle(self) -> Oracle | str:
        return TorchOracle(self.captured)

    def result(self, written: Path | None) -> Model:
        if written is not None:
            return OnnxRuntimeModel(written)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "model.onnx")
            self.write(place)
            target = OnnxRuntimeModel(place)
            target.prepare()
        return target

    def graph(self) -> ir.Model:
        assert self._translated is not None, "capture comes first"
        return self._translated.model

    def rehearse(self) -> None:
        self.emit()

    @property
    def captured_by(self) -> str:
        return self._captured.strategy if self._captured else ""

    def border(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        return self.captured.inputs, self.captured.outputs

    def source_graph(self) -> Graph | None:
        return self._drawn(self.captured.program)

    def refined(self, source: Graph) -> Graph:
        """The program as the exporter takes it apart: the nodes that those of the target go back to."""
        return (self._translated and self._drawn(self._translated.program)) or source

    def target_graph(self) -> Graph:
        return onnx_graph(self.emit())

    def _drawn(self, program: Any) -> Graph | None:
        names = [port.name for port in self.captured.outputs]
        return None if program is None else torch_graph(program, line_of, names)

    @property
    def bounds(self) -> Registry:
        return onnx_operators()
