"""ONNX models in ONNX's reference evaluator: slow, in NumPy, and the specification's own word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from trueport.errors import InvalidInput
from trueport.ir.artifact import InnerValue
from trueport.ir.maps import from_proto
from trueport.ir.ports import make_ports, pack
from trueport.mapping.declare import OpMapping
from trueport.runtimes.base import Model

__all__ = ["ReferenceModel", "custom_ops"]


class ReferenceModel(Model):
    """A model as the ONNX specification's Python code runs it."""

    runtime = "onnx reference"

    def __init__(self, proto: onnx.ModelProto, custom: Sequence[OpMapping] = ()) -> None:
        """``custom`` are declarations of operators beyond ONNX's own that say what they mean in NumPy."""
        self._evaluator = ReferenceEvaluator(proto, new_ops=custom_ops(custom))
        graph = from_proto(proto).graph
        initializers = set(graph.initializers)
        self.inputs = make_ports(value for value in graph.inputs if value.name not in initializers)
        self.outputs = make_ports(graph.outputs)
        self._made = {value.name for node in graph for value in node.outputs if value.name} | initializers
        self._made |= {port.name for port in self.inputs}

    def inner(self) -> Mapping[str, InnerValue]:
        return {name: InnerValue(name) for name in self._made}

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        for port in self.inputs:
            pack(port, feeds[port.name])  # refuses what does not fit, as every runtime does
        for name in fetch or ():
            if name not in self._made:
                raise InvalidInput(
                    f"there is no value {name!r} in the model's main graph",
                    where="the model",
                    remedy="the model's inner() lists all values",
                )
        with np.errstate(all="ignore"):
            values: Any = self._evaluator.run(None, dict(feeds), intermediate=fetch is not None)
        if fetch is not None:
            return {name: values[name] for name in fetch}
        return dict(zip((port.name for port in self.outputs), values, strict=True))


def custom_ops(mappings: Sequence[OpMapping]) -> list[type[OpRun]]:
    """The evaluator's classes for operators whose declarations say what they mean in NumPy."""
    return [_custom_op(mapping) for mapping in mappings]


def _custom_op(mapping: OpMapping) -> type[OpRun]:
    """The evaluator's class for an operator that its declaration gives in NumPy."""

    def run(self: OpRun, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        assert mapping.reference is not None
        given = {name: value for name, value in attributes.items() if value is not None}
        result = mapping.reference(*inputs, **given)
        return tuple(result) if isinstance(result, (tuple, list)) else (np.asarray(result),)

    members = {"op_domain": mapping.domain, "_run": run}
    return type(mapping.op, (OpRun,), members)
