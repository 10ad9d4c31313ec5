"""An ONNX model to a SavedModel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as ir

from trueport.backends.tensorflow.module import Built, build_module
from trueport.backends.tensorflow.registry import registry
from trueport.backends.tensorflow.save import write_saved_model
from trueport.checking.assess import assess_model
from trueport.checking.rules.base import Hit
from trueport.frontends.onnx.describe import describe, left_out
from trueport.frontends.onnx.load import OnnxSource, load_onnx, unpacked
from trueport.ir.ports import Port
from trueport.mapping.registry import Finding
from trueport.mapping.user import with_user_ops
from trueport.passes.declared import Claims, set_aside_declared
from trueport.passes.pipeline import canonicalize
from trueport.report.graphs import Graph, findings_by_origin, onnx_graph, typed_like
from trueport.report.graphs_tensorflow import holders, owners, tensorflow_graph
from trueport.routes.base import Ops, Route
from trueport.runtimes.base import Model
from trueport.runtimes.detect import load_model, load_sources
from trueport.runtimes.tensorflow import FunctionModel

if TYPE_CHECKING:
    from trueport.verifying.oracle import Oracle

__all__ = ["OnnxToTensorflow"]


class OnnxToTensorflow(Route):
    """Read the file, raise it to the canonical opset, trace one TensorFlow function."""

    target = "tensorflow"

    def __init__(self, source: OnnxSource, ops: Ops, *, trust_shapes: bool = False) -> None:
        """``trust_shapes``: the shapes in the model were derived by its frontend, not declared by a file."""
        super().__init__()
        self._trust_shapes = trust_shapes
        # Unpacked once for both readers: the frontend, and the runtime that the result is compared with.
        self._source = source if isinstance(source, (onnx.ModelProto, ir.Model)) else unpacked(Path(source))
        self._name = "the model" if isinstance(source, (onnx.ModelProto, ir.Model)) else str(source)
        self.registry = with_user_ops(registry(), ops)
        self._model: ir.Model | None = None
        self._described: dict[str, Any] = {}
        self._built: Built | None = None
        self._claims = Claims({}, ())

    @property
    def name(self) -> str:
        return self._name

    @property
    def built(self) -> Built:
        if self._built is None:
            self._built = build_module(self.graph(), self.registry, self._described)
        return self._built

    def capture(self) -> None:
        self._model = load_onnx(self._source)
        self._described = describe(self._model)
        self.losses += left_out(self._model)
        if not self._trust_shapes:
            self._claims = set_aside_declared(self._model)
            self.contradictions = tuple(Hit(found.node, str(found)) for found in self._claims.contradictions)

    def canonicalize(self) -> None:
        self.losses += canonicalize(self.graph(), self.registry)
        self._claims.name_outputs(self.graph().graph)
        self.findings = assess_model(self.graph(), self.registry)

    def emit(self) -> Any:
        return self.built.module

    def write(self, place: Path) -> None:
        write_saved_model(self.built, place)

    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        return self.built.inputs, self.built.outputs

    def sources(self) -> Sequence[Model] | str:
        return load_sources(self._source, [mapping for mapping in self.registry if mapping.reference])

    def result(self, written: Path | None) -> Model:
        if written is not None:
            return load_model(written)
        built = self.built
        return FunctionModel(built.function, built.function, built.map, built.module)

    def oracle(self) -> Oracle | str:
        from trueport.verifying.oracle import OnnxOracle  # with the modules of every runtime: not for check

        return OnnxOracle(load_onnx(self._source), self.registry)

    def graph(self) -> ir.Model:
        assert self._model is not None, "capture comes first"
        return self._model

    def described(self) -> Mapping[str, Any]:
        return self._described

    def source_graph(self) -> Graph:
        return onnx_graph(self.graph())

    def target_graph(self) -> Graph:
        built = self.built
        came_from = owners(self.graph().graph, built.map.values)
        return tensorflow_graph(built.function.graph, built.outputs, came_from, holders(built.map))

    def findings_by_node(self) -> Mapping[str, Finding]:
        return findings_by_origin(self.graph().graph.all_nodes(), self.findings)

    def refined(self, source: Graph) -> Graph:
        return typed_like(source, self.graph())
