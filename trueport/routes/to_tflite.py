"""Any source that has a way to a SavedModel, to a TFLite file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from trueport.backends.tflite.write import write_tflite
from trueport.ir.ports import Port
from trueport.mapping.registry import Finding
from trueport.report.graphs import Graph
from trueport.routes.base import Route
from trueport.runtimes.base import Model
from trueport.runtimes.tflite import TfliteModel

if TYPE_CHECKING:
    from trueport.verifying.oracle import Oracle

__all__ = ["ToTflite"]


class ToTflite(Route):
    """The way to a SavedModel, and TensorFlow's own converter after it; what is compared is the TFLite model."""

    target = "tflite"

    def __init__(self, way: Route) -> None:
        super().__init__()
        self._way = way
        self.registry = way.registry
        self._content: bytes | None = None

    @property
    def name(self) -> str:
        return self._way.name

    def capture(self) -> None:
        self._way.capture()

    def canonicalize(self) -> None:
        self._way.canonicalize()
        self.findings, self.registry = self._way.findings, self._way.registry
        self.losses += self._way.losses
        self.contradictions = self._way.contradictions

    def emit(self) -> bytes:
        """The file's bytes."""
        if self._content is None:
            self._way.emit()
            with tempfile.TemporaryDirectory() as folder:
                saved, made = Path(folder, "saved_model"), Path(folder, "model.tflite")
                self._way.write(saved)
                write_tflite(saved, made)
                self._content = made.read_bytes()
        return self._content

    def write(self, place: Path) -> None:
        place.write_bytes(self.emit())

    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        model = TfliteModel(self.emit())
        return model.inputs, model.outputs

    def sources(self) -> Sequence[Model] | str:
        return self._way.sources()

    def result(self, written: Path | None) -> Model:
        return TfliteModel(self.emit() if written is None else written)

    def oracle(self) -> Oracle | str:
        return self._way.oracle()

    def graph(self) -> ir.Model:
        return self._way.graph()

    def border(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        return self._way.border()

    @property
    def captured_by(self) -> str:
        return self._way.captured_by

    def described(self) -> Mapping[str, Any]:
        return self._way.described()

    def source_graph(self) -> Graph | None:
        return self._way.source_graph()

    def refined(self, source: Graph) -> Graph:
        return self._way.refined(source)

    def target_graph(self) -> Graph | None:
        """TensorFlow's graph, from which the file was made."""
        return self._way.target_graph()

    def findings_by_node(self) -> Mapping[str, Finding]:
        return self._way.findings_by_node()
