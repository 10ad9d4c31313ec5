"""A TensorFlow or Keras model to an ONNX file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from trueport.backends.onnx.save import write_onnx
from trueport.backends.onnx.texts import refuse_other_bytes
from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.errors import UsageError
from trueport.frontends.tensorflow.capture import Captured
from trueport.frontends.tensorflow.load import load_captured, settle_outputs
from trueport.frontends.tensorflow.registry import registry
from trueport.frontends.tensorflow.sources import Options, capture_source
from trueport.frontends.tensorflow.state import keeping_state
from trueport.ir.artifact import ArtifactMap
from trueport.ir.ports import Port
from trueport.mapping.registry import Registry
from trueport.mapping.user import with_user_ops
from trueport.passes.outgoing import arrange_for_onnx
from trueport.report.graphs import Graph, onnx_graph
from trueport.report.graphs_tensorflow import tensorflow_graph
from trueport.routes.base import Ops, Route
from trueport.routes.onnx_file import checked_opset, known_to_run, own_names
from trueport.routes.onnx_opset import settle_opset
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.ort_kernels import cpu_kernels
from trueport.runtimes.tensorflow import FunctionModel
from trueport.verifying.oracle import Oracle, TensorflowOracle

__all__ = ["TensorflowToOnnx"]


class TensorflowToOnnx(Route):
    """Trace one flat function, translate its graph, settle layouts and opset, write a file that is known to run."""

    target = "onnx"

    def __init__(
        self, source: Any, ops: Ops, options: Options, *, opset: int | None = None, external_data: bool = False
    ) -> None:
        super().__init__()
        self._source = source
        self._options = options
        self._opset = checked_opset(opset)
        _check_domain(options.custom_domain)
        self._external_data = external_data
        self.registry = with_user_ops(registry(), ops)
        self._captured: Captured | None = None
        self._model: ir.Model | None = None
        self._arranged = False

    @property
    def name(self) -> str:
        return str(self._source) if isinstance(self._source, (str, Path)) else "the model"

    def capture(self) -> None:
        self._captured = capture_source(self._source, self._options)

    def canonicalize(self) -> None:
        assert self._captured is not None
        loaded = load_captured(
            self._captured,
            self.registry,
            extensions=self._options.extensions,
            custom_domain=self._options.custom_domain,
        )
        self._model, self.findings = loaded.model, loaded.findings
        self.losses += loaded.losses

    def emit(self) -> ir.Model:
        if not self._arranged:
            self.losses += arrange_for_onnx(self.graph())
            refuse_other_bytes(self.graph())
            self.needs = settle_opset(self.graph(), self._opset, cpu_kernels(), integers=True)
            assert self._captured is not None
            settle_outputs(self.graph().graph, self._captured.outputs)
            self._arranged = True
        return self.graph()

    def write(self, place: Path) -> None:
        write_onnx(self.emit(), place, external_data=self._external_data)
        if self._holds_custom_nodes():
            return  # ONNX Runtime takes no operator that it does not know; `sources` says so.
        known_to_run(place)

    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        graph = self.emit().graph
        return own_names(graph.inputs), own_names(graph.outputs)

    def sources(self) -> Sequence[Model] | str:
        captured = self._captured
        assert captured is not None
        if self._holds_custom_nodes():
            domain = self._options.custom_domain
            return f"ONNX Runtime has no operators of {domain}: neither the file nor its numbers could be tried"
        return [
            FunctionModel(
                keeping_state(captured.function), captured.function, ArtifactMap(captured.inputs, captured.outputs)
            )
        ]

    def oracle(self) -> Oracle | str:
        assert self._captured is not None
        return TensorflowOracle(self._captured, self.registry)

    def result(self, written: Path | None) -> Model:
        if written is not None:
            return OnnxRuntimeModel(written)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "model.onnx")
            self.write(place)
            target = OnnxRuntimeModel(place)
            if not self._holds_custom_nodes():
                target.prepare()
        return target

    def graph(self) -> ir.Model:
        assert self._model is not None, "capture comes first"
        return self._model

    def rehearse(self) -> None:
        self.emit()

    def border(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        assert self._captured is not None
        return self._captured.inputs, self._captured.outputs

    def described(self) -> Mapping[str, Any]:
        optimizer = getattr(self._captured and self._captured.held, "optimizer", None)
        return {} if optimizer is None else {"optimizer": type(optimizer).__name__}

    def source_graph(self) -> Graph:
        assert self._captured is not None
        return tensorflow_graph(self._captured.graph, self._captured.outputs)

    def target_graph(self) -> Graph:
        return onnx_graph(self.emit())

    def _holds_custom_nodes(self) -> bool:
        domain = self._options.custom_domain
        return domain is not None and any(node.domain == domain for node in self.graph().graph.all_nodes())

    @property
    def bounds(self) -> Registry:
        # How far TensorFlow and ONNX Runtime may be apart on an operator does not depend on the direction.
        return onnx_operators()


def _check_domain(domain: str | None) -> None:
    if domain is not None and (not domain or domain.startswith("ai.onnx")):
        raise UsageError(
            f"{domain!r} is ONNX's own", where="custom_domain", remedy='name a domain of yours, like "com.acme"'
        )
