"""A converted model in memory: a tf.Module with one traced function and the weights as its variables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.emit import emit_graph
from trueport.backends.tensorflow.build.signature import enter, leave, specs
from trueport.backends.tensorflow.build.weights import WeightStore
from trueport.ir.artifact import ArtifactMap, InnerValue
from trueport.ir.ports import Port, make_ports
from trueport.mapping.registry import Registry

__all__ = ["TracedModule", "build_module"]


@dataclass(frozen=True)
class TracedModule:
    """The module, its traced function, and the map that is stored with it."""

    module: Any
    function: Any
    map: ArtifactMap


def build_module(model: ir.Model, registry: Registry, source: Mapping[str, Any] | None = None) -> TracedModule:
    """Trace a canonical model into a tf.Module that is called with the inputs and returns a dict of outputs.

    ``source`` is what the artifact shall say of where it comes from.
    """
    graph = model.graph
    inputs = make_ports(graph.inputs)
    outputs = make_ports(graph.outputs)
    inner: dict[str, InnerValue] = {}

    def call(*parts: Any) -> dict[str, Any]:
        entered = _enter_all(inputs, parts)
        values, held = emit_graph(graph, entered, registry, weights)
        inner.update(held)
        return {
            name: tf.identity(part, name=name)
            for port, value in zip(outputs, values, strict=True)
            for name, part in zip(port.parts, leave(port, value), strict=True)
        }

    signature = [spec for port in inputs for spec in specs(port)]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(spec.name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for spec in signature]
    )
    with ThreadPoolExecutor(1) as elsewhere:
        weights = WeightStore(model, registry, elsewhere)
        function = tf.function(call, input_signature=signature, autograph=False).get_concrete_function()
    module = _module_class()(name="trueport")
    # What was traced, and not the tf.function, which would be traced once more when it is saved.
    vars(module)["__call__"] = function
    module.weights = dict(weights.variables)
    stored = ArtifactMap(inputs, outputs, inner, tuple(weights.stored.values()), source or {})
    # For those who compare it before it is saved; not tracked, so no part of what is saved.
    vars(module)["artifact_map"] = stored
    return TracedModule(module, function, stored)


@functools.cache
def _module_class() -> type:
    """Made at first use, for TensorFlow is loaded then. The function is the instance's: saving looks there."""

    class ConvertedModel(tf.Module):  # type: ignore[misc]
        def __call__(self, *inputs: Any, **named: Any) -> dict[str, Any]:
            outputs: dict[str, Any] = vars(self)["__call__"](*inputs, **named)
            return outputs

    return ConvertedModel


def _enter_all(ports: Sequence[Port], parts: Sequence[Any]) -> list[Any]:
    remaining = iter(parts)
    return [enter(port, [next(remaining) for _ in port.parts]) for port in ports]
