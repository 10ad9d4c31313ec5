"""An ONNX model: a file, a zip that holds one, or an object in memory."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import onnx
import onnx_ir as ir

from trueport.checking.rules.base import Hit
from trueport.drawing.graph import Graph, onnx_graph, typed_like
from trueport.errors import InvalidModel, MissingDependency
from trueport.frontends.onnx.describe import describe, left_out
from trueport.frontends.onnx.load import load_onnx, unpacked
from trueport.ir.maps import to_proto
from trueport.ir.places import op_id
from trueport.ir.ports import make_ports
from trueport.ir.reading import read_whole
from trueport.mapping.registry import RECORDS, Registry
from trueport.mapping.user import with_user_ops
from trueport.passes.canonical import canonicalize
from trueport.passes.declared import named_dims, set_aside_declared
from trueport.quoting import one_line, plain_text
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.reference import ReferenceModel
from trueport.runtimes.settings import Setting
from trueport.sources.facts import border, quantizing
from trueport.sources.isolated import in_child
from trueport.stages import Plan, Program, Source
from trueport.verifying.judge.budget import allowed_ulps

if TYPE_CHECKING:
    from trueport.reference.base import Oracle

__all__ = ["OnnxSource"]


class OnnxSource(Source):
    """Read once; whoever changes the graph gets a clone."""

    form: ClassVar[str] = "onnx"

    @functools.cached_property
    def held(self) -> Any:
        """The model in memory, or the path of the file: unpacked once, for the frontend and for the runtime."""
        return unpacked(Path(self.artifact)) if isinstance(self.artifact, (str, Path)) else self.artifact

    @functools.cached_property
    def model(self) -> ir.Model:
        """The model as it was read."""
        return load_onnx(self.held)

    @functools.cached_property
    def registry(self) -> Registry:
        """The user's own declarations; other operators are known by their records."""
        return with_user_ops(RECORDS, self.ops)

    def to_ir(self) -> Program:
        model = self.model.clone()
        described, losses = describe(model), left_out(self.model)
        claims = set_aside_declared(model)
        losses += canonicalize(model)
        return Program(
            self.name,
            model,
            make_ports(model.graph.inputs),
            tuple(
                replace(port, shape=named_dims(port.shape, claims.outputs.get(port.name)))
                for port in make_ports(model.graph.outputs)
            ),
            losses=tuple(losses),
            declared=claims.outputs,
            contradictions=tuple(Hit(found.node, str(found)) for found in claims.contradictions()),
            described=described,
        )

    def runs(self) -> Sequence[Model]:
        """ONNX Runtime without and with fusions, or ONNX's reference where that one lacks an operator or an opset."""
        if self.limits is not None:
            return [in_child(self, optimize=optimize, exact_sums=True) for optimize in (False, True)]
        # Without fusions first: the graph as it is written is what the target must equal.
        plain = OnnxRuntimeModel(self._runnable, optimize=False)
        models = [plain, plain.at_level("all")]
        try:
            for model in models:
                model.prepare()
            return models
        except MissingDependency as error:
            first = str(error)
        except InvalidModel as error:
            first = one_line(error.__cause__ or error, 200)
        try:
            proto = self._runnable if isinstance(self._runnable, onnx.ModelProto) else read_whole(Path(self.held))
            return [ReferenceModel(proto, [mapping for mapping in self.registry if mapping.reference])]
        except Exception as error:  # the evaluator raises many kinds for what it lacks
            why = plain_text(error)[:200]
            raise InvalidModel(
                f"neither ONNX Runtime ({first}) nor the reference evaluator ({why}) runs the model",
                where=self.name,
                remedy="declare custom operators with reference=… (--ops FILE)",
            ) from error

    def deployed(self, *, exact_sums: bool = False, **settings: Any) -> Model:
        if self.limits is not None:
            return in_child(self, exact_sums=exact_sums, **settings)
        if isinstance(self.artifact, (str, Path)):
            return OnnxRuntimeModel(self.held, exact_sums=exact_sums, **settings)
        return self.runs()[-1] if exact_sums and not settings else OnnxRuntimeModel(self._runnable, **settings)

    def reopened(self, setting: Setting, model: Model, *, as_source: bool) -> Model:
        if setting.needs_process or self.limits is not None:
            return in_child(self, setting.environment, exact_sums=True, **setting.options)
        return OnnxRuntimeModel(self._runnable, **setting.options)

    def reference(self) -> Oracle:
        # Here, for check and conversions without a comparison should not wait for these modules.
        from trueport.reference.onnx.oracle import OnnxOracle

        return OnnxOracle(self.model.clone(), self.registry)

    def allowed_ulps(self) -> float:
        return allowed_ulps(self.model, self.registry)

    def draw(self) -> Graph:
        return onnx_graph(self.model)

    def redrawn(self, drawn: Graph, plan: Plan) -> Graph:
        return typed_like(drawn, plan.model)

    def weights(self) -> Mapping[str, Callable[[], np.ndarray]]:
        graph = self.model.graph
        found = {name: value.const_value for name, value in graph.initializers.items() if value.const_value}
        for node in graph:
            if node.op_type == "Constant" and "value" in node.attributes and node.outputs[0].name:
                found[node.outputs[0].name] = node.attributes["value"].as_tensor()
        return {name: tensor.numpy for name, tensor in found.items()}

    def facts(self) -> Mapping[str, Any]:
        model, graph = self.model, self.model.graph
        weights = [v.const_value for v in graph.initializers.values() if v.const_value is not None]
        inputs = make_ports(v for v in graph.inputs if v.name not in graph.initializers)
        outputs = make_ports(graph.outputs)
        operators = Counter(op_id(node) for node in graph.all_nodes())
        return {
            "format": "ONNX",
            "opsets": {domain or "ai.onnx": version for domain, version in model.opset_imports.items()},
            "producer": f"{model.producer_name or ''} {model.producer_version or ''}".strip(),
            **border(inputs, outputs),
            "parameters": sum(math.prod(tensor.shape.numpy()) for tensor in weights),
            "weights": dict(Counter(tensor.dtype.name.lower() for tensor in weights).most_common()),
            "bytes": sum(tensor.nbytes for tensor in weights),
            "quantization": quantizing(operators),
            "operators": dict(operators.most_common()),
        }

    @property
    def _runnable(self) -> Any:
        return to_proto(self.held) if isinstance(self.held, ir.Model) else self.held
