"""ONNX models in ONNX's reference evaluator: slow, in NumPy, and the specification's own word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator

from trueport.ir.ports import make_ports
from trueport.runtimes.base import Model

__all__ = ["ReferenceModel"]


class ReferenceModel(Model):
    """A model as the ONNX specification's Python code runs it."""

    runtime = "onnx reference"

    def __init__(self, proto: onnx.ModelProto) -> None:
        self._evaluator = ReferenceEvaluator(proto)
        graph = ir.from_proto(proto).graph
        initializers = set(graph.initializers)
        self.inputs = make_ports(value for value in graph.inputs if value.name not in initializers)
        self.outputs = make_ports(graph.outputs)

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            values = self._evaluator.run(None, dict(feeds), intermediate=fetch is not None)
        if fetch is not None:
            return {name: values[name] for name in fetch}
        return dict(zip((port.name for port in self.outputs), values, strict=True))
