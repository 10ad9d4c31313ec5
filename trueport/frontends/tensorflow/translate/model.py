"""A captured TensorFlow function as an ONNX model in memory: its border, its weights, its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.fidelity import BITWISE, Loss
from trueport.formulas.texts import numpy_of
from trueport.frontends.tensorflow.source.capture import Captured
from trueport.frontends.tensorflow.source.dtypes import is_tensor_type
from trueport.frontends.tensorflow.translate.operations import Translator
from trueport.frontends.tensorflow.translate.values import Opaque, Pair, Resource, Translated, Unknown
from trueport.ir.build import Builder
from trueport.ir.ports import Port
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.mapping.registry import Finding, Registry

__all__ = ["Loaded", "load_captured"]

_IR_VERSION = 10


@dataclass(frozen=True)
class Loaded:
    """The model, one finding per operation of the source, and what was lost."""

    model: ir.Model
    findings: tuple[Finding, ...]
    losses: tuple[Loss, ...]


def load_captured(
    captured: Captured, registry: Registry, *, extensions: bool = False, custom_domain: str | None = None
) -> Loaded:
    """Translate; where operations were refused the model is not whole, and the findings say so."""
    inputs = [_input(port, _dim_names(captured.inputs, port)) for port in captured.inputs]
    graph = ir.Graph(inputs, [], nodes=[], opset_imports=dict(CANONICAL_OPSETS), name="main")
    op = Builder(graph)
    translator = Translator(registry, extensions=extensions, custom_domain=custom_domain)
    names = {id(variable.handle): _variable_name(variable) for variable in captured.graph.variables}
    resources = [_captured(tensor, names, op) for tensor in captured.function.captured_inputs]
    feeds: list[Translated] = [
        *(_entered(port, value, op) for port, value in zip(captured.inputs, inputs, strict=True)),
        *resources,
    ]
    fetched = [captured.function.structured_outputs[port.parts[0]] for port in captured.outputs]
    by_order = list(captured.function.outputs)
    tensors = [_graph_tensor(captured, by_order, tensor) for tensor in fetched]
    results = translator.run(captured.graph, feeds, tensors, op)
    if not any(isinstance(result, Unknown) for result in results):
        for port, result in zip(captured.outputs, results, strict=True):
            graph.outputs.append(_output(port, result, op))
    used = {node.domain for node in graph.all_nodes()}
    graph.opset_imports.update({domain: 1 for domain in used if domain not in CANONICAL_OPSETS})
    losses = [*translator.losses, *_state_losses(resources), *_name_losses(captured)]
    return Loaded(ir.Model(graph, ir_version=_IR_VERSION), tuple(translator.findings), tuple(losses))


def _graph_tensor(captured: Captured, by_order: Sequence[Any], tensor: Any) -> Any:
    """The tensor of the traced graph that an output is; structured outputs are the graph's own tensors or specs."""
    if hasattr(tensor, "op"):
        return tensor
    names = sorted(captured.function.structured_outputs)
    return by_order[names.index(tensor.name)]


def _dim_names(ports: Sequence[Port], port: Port) -> list[str | None]:
    """Names for open dims; the first is ``batch`` where only one input has it open, for then nothing is claimed."""
    open_first = [p.name for p in ports if p.shape and p.shape[0] is None]
    names: list[str | None] = []
    for axis, dim in enumerate(port.shape or ()):
        if dim is None:
            names.append("batch" if axis == 0 and open_first == [port.name] else f"{port.name}_dim_{axis}")
        else:
            names.append(dim if isinstance(dim, str) else None)
    return names


def _input(port: Port, names: Sequence[str | None]) -> ir.Value:
    shape = None
    if port.shape is not None:
        dims = [dim if isinstance(dim, int) else name for dim, name in zip(port.shape, names, strict=True)]
        shape = ir.Shape(dims)
    return ir.Value(name=port.name, type=ir.TensorType(port.element), shape=shape)


def _entered(port: Port, value: ir.Value, op: Builder) -> Translated:
    """A complex input arrives as real numbers with a last axis of two."""
    if port.kind != "pair":
        return value
    return Pair(op.Gather(value, 0, axis=-1), op.Gather(value, 1, axis=-1))


def _output(port: Port, result: Translated, op: Builder) -> ir.Value:
    if isinstance(result, Pair):
        result = op.Concat(*(op.Unsqueeze(part, [-1]) for part in result), axis=-1)
    if not isinstance(result, ir.Value):
        raise ConversionError(
            f"is a {type(result).__name__.lower()}, not a tensor",
            where=f"output {port.name!r}",
            remedy="return tensors; a list or a handle can't leave an ONNX model made from TensorFlow",
        )
    own = result.producer() is not None and not result.is_graph_output()
    made: ir.Value = result if own else op.Identity(result)
    holder = next((value for value in _named(op.graph) if value.name == port.name and value is not made), None)
    if holder is not None:
        holder.name = op.fresh(f"{port.name}.inner")
    made.name = port.name
    return made


def _named(graph: ir.Graph) -> Sequence[ir.Value]:
    inner = [value for node in graph.all_nodes() for value in node.outputs]
    return [*graph.initializers.values(), *inner]


def _variable_name(variable: Any) -> str:
    return str(variable.name).removesuffix(":0")


def _captured(tensor: Any, names: Mapping[int, str], op: Builder) -> Translated:
    """What a function holds from outside: a handle that is read when it is used, or a constant."""
    if is_tensor_type(tensor.dtype):
        array = numpy_of(tensor.numpy())
        if array.dtype.kind == "c":
            return Pair(op.const(array.real.copy(), "captured"), op.const(array.imag.copy(), "captured"))
        return op.const(array, "captured")
    if tensor.dtype.name == "resource":
        return Resource(names.get(id(tensor), ""), tensor)
    return Opaque(tensor.dtype.name)


def _name_losses(captured: Captured) -> list[Loss]:
    taken = {f"{port.name}.output" for port in captured.inputs}
    return [
        Loss(
            f"output {port.name!r}",
            "its name got an ending",
            "an input has that name, and ONNX names are unique",
            BITWISE,
        )
        for port in captured.outputs
        if port.name in taken
    ]


def _state_losses(resources: Sequence[Translated]) -> list[Loss]:
    return [
        Loss(
            f"variable {resource.name!r}",
            "what the model writes to it is gone after each run",
            "ONNX models keep no state; every run starts from the stored value",
        )
        for resource in resources
        if isinstance(resource, Resource) and resource.written
    ]
