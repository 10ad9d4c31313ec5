"""From a TensorFlow graph to an ONNX graph: the only loop over operations in this frontend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import setitem
from typing import Any

import onnx_ir as ir

from trueport.errors import ConversionError, EmitError, TrueportError
from trueport.fidelity import LOSSY, UNSUPPORTED, Fidelity, Loss
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.dtypes import COMPLEX_PARTS, check_type, is_tensor_type, onnx_type
from trueport.frontends.tensorflow.source.nodes import TF, PartNode, SourceNode, domain_of
from trueport.frontends.tensorflow.translate.binding import arguments
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.custom import keep_custom, kept_finding
from trueport.frontends.tensorflow.translate.folding import folded
from trueport.frontends.tensorflow.translate.values import Pair, Translated, Unknown
from trueport.ir.build import Builder
from trueport.ir.places import place
from trueport.ir.provenance import NOT_FOLDED, ORIGIN
from trueport.mapping.declare import OpMapping
from trueport.mapping.registry import Finding, Reason, Registry
from trueport.quoting import plain_text
from trueport.runtimes.tensorflow_functions import FunctionLibrary

__all__ = ["SOURCE_OP", "Translator"]

SOURCE_OP = "trueport.source_op"
"""Metadata of a node: the TensorFlow operator it comes from."""


class Translator:
    """Translates graphs with one registry and remembers what was found and lost on the way."""

    def __init__(self, registry: Registry, *, extensions: bool = False, custom_domain: str | None = None) -> None:
        self.extensions = extensions
        """whether operators of onnxruntime-extensions may be used"""
        self._custom_domain = custom_domain
        self.findings: list[Finding] = []
        self.losses: list[Loss] = []
        self._registry = registry
        self._library = FunctionLibrary()
        self._seen: set[tuple[str, str]] = set()

    def run(
        self, graph: Any, inputs: Sequence[Translated], outputs: Sequence[Any], op: Builder, prefix: str = ""
    ) -> list[Translated]:
        """The outputs of a FuncGraph whose inputs are given, made by nodes that ``op`` adds."""
        values = {tensor.name: value for tensor, value in zip(graph.inputs, inputs, strict=True)}
        for operation in _needed(graph, outputs, values, self._library):
            node = SourceNode(
                operation,
                prefix + operation.name,
                # What is not there yet comes back from a later operation: a loop of TensorFlow 1.
                [values.get(tensor.name, Unknown()) for tensor in operation.inputs],
                domain_of(operation),
            )
            results = self._translate(node, op)
            for tensor, result in zip(operation.outputs, results, strict=False):
                values[tensor.name] = result
        return [values[tensor.name] for tensor in outputs]

    def call(self, t: Translation, function: str, inputs: Sequence[Translated]) -> list[Translated]:
        """A function's outputs, its body translated into the graph that ``t`` builds."""
        body = self.body(t, function, [_tf_shape(value) for value in inputs])
        return self.enter(t, body, inputs, body.outputs)

    def body(self, t: Translation, function: str, shapes: Sequence[Any] | None) -> Any:
        """The graph of a function of the source's library; ``shapes`` are what is known of its inputs."""
        return self._library.body(t.node.operation.graph, function, shapes)

    def written(self, body: Any) -> frozenset[int]:
        """Inputs of a function's graph that are handles of variables which it sets."""
        return self._library.written(body)

    def enter(
        self, t: Translation, body: Any, inputs: Sequence[Translated], outputs: Sequence[Any]
    ) -> list[Translated]:
        """Some outputs of a function's graph, translated into the graph that ``t`` builds."""
        metadata = dict(t.op.metadata)
        results = self.run(body, inputs, outputs, t.op, _inner_prefix(t.node.name, body))
        t.op.metadata.clear()
        t.op.metadata.update(metadata)
        return results

    def redo(self, t: Translation, inputs: Sequence[Any]) -> Any:
        """The operation by its plain declaration, with other inputs by argument."""
        mapping = self._registry.find(t.node.op_type, TF)
        if mapping is None:
            raise t.fail(
                f"is to be done part by part, but {TF}::{t.node.op_type} has no mapping to {self._registry.target}",
                f'declare it: @maps("{t.node.op_type}", domain="{TF}") in a module given by --ops',
            )
        part = PartNode(t.node.operation, t.node.name, t.node.inputs)
        _, attributes = arguments(part, mapping)
        return mapping.handler(Translation(part, t.op, self), *inputs, **attributes)

    def lose(self, node: SourceNode, what: str, because: str, fidelity: Fidelity) -> None:
        loss = Loss(place(node), what, because, fidelity)
        if loss not in self.losses:
            self.losses.append(loss)

    def _translate(self, node: SourceNode, op: Builder) -> Sequence[Translated]:
        outputs = node.operation.outputs
        if any(isinstance(value, Unknown) for value in _flat(node.inputs)):
            self._note(self._registry.assess(node))
            return [Unknown() for _ in outputs]
        op.metadata.update({ORIGIN: node.name, SOURCE_OP: node.op_type})
        mapping = self._registry.find(node.op_type, node.domain)
        op.metadata.pop(NOT_FOLDED, None)
        record = partial(setitem, op.metadata, NOT_FOLDED)
        constants = None if mapping is not None and mapping.kept else folded(node, record)
        if constants is not None:
            return [op.const(array, node.name) for array in constants]
        kept = self._custom_domain if mapping is None and node.domain == TF else None
        finding = self._registry.assess(node) if kept is None else kept_finding(node, kept)
        if finding.fidelity == UNSUPPORTED:
            self._note(finding)
            return [Unknown() for _ in outputs]
        try:
            for tensor in outputs:
                check_type(tensor.dtype)
            results = self._handled(node, mapping, op) if kept is None else keep_custom(node, op, kept)
            for index, value in enumerate(results[: len(outputs)]):
                _settle(value, node, index, op)
        except ConversionError as error:
            reason = Reason("refused", error.why, error.remedy)
            self._note(replace(finding, fidelity=UNSUPPORTED, reasons=(reason,), source=node.location))
            return [Unknown() for _ in outputs]
        self._note(finding)
        if kept is not None:
            self.lose(
                node, f"stands as {kept}::{node.op_type}", "ONNX has no operator for it, and none is declared", LOSSY
            )
        return results

    def _note(self, finding: Finding) -> None:
        key = (finding.where, finding.op)
        if key not in self._seen:
            self._seen.add(key)
            self.findings.append(finding)

    def _handled(self, node: SourceNode, mapping: OpMapping | None, op: Builder) -> Sequence[Translated]:
        assert mapping is not None, "what has no mapping is refused before"
        inputs, attributes = arguments(node, mapping)
        try:
            made = mapping.handler(Translation(node, op, self), *inputs, **attributes)
        except TrueportError:
            raise
        except Exception as error:
            raise EmitError(
                f"its handler {mapping.handler.__name__} failed: {type(error).__name__}: {plain_text(error)}",
                where=place(node),
                remedy="mend it if it is your own, else report it with the model; @maps (--ops FILE) can replace it",
            ) from error
        if isinstance(made, (tuple, list)) and not isinstance(made, Pair):
            return list(made)
        return [] if made is None else [made]


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        yield from value if isinstance(value, tuple) and not isinstance(value, Pair) else (value,)


def _needed(graph: Any, outputs: Sequence[Any], given: Mapping[str, Any], library: FunctionLibrary) -> list[Any]:
    """Operations that the outputs depend on, and those with an effect, in an order in which they can run."""
    wanted = {tensor.op for tensor in outputs if tensor.name not in given}
    effects = [operation for operation in graph.get_operations() if library.acts(graph, operation)]
    waiting = [*wanted, *effects]
    found = set(waiting)
    while waiting:
        for tensor in waiting.pop().inputs:
            if tensor.name not in given and tensor.op not in found:
                found.add(tensor.op)
                waiting.append(tensor.op)
    return [operation for operation in graph.get_operations() if operation in found]


def _inner_prefix(name: str, body: Any) -> str:
    """Bodies of control flow keep the names of the scope they were traced in; those of calls stand under the call."""
    own = any(operation.name.startswith(f"{name}/") for operation in body.get_operations())
    return "" if own else f"{name}/"


def _tf_shape(value: Translated) -> Any:
    if not isinstance(value, ir.Value) or value.shape is None:
        return tf.TensorShape(None if isinstance(value, ir.Value) else [])
    return tf.TensorShape([dim if isinstance(dim, int) else None for dim in value.shape])


def _settle(value: Translated, node: SourceNode, index: int, op: Builder) -> None:
    """Give a result TensorFlow's name and what TensorFlow knows of its type and shape."""
    tensor = node.operation.outputs[index]
    if isinstance(value, Pair):
        for part, suffix in zip(value, ("real", "imag"), strict=True):
            _describe(part, tensor, COMPLEX_PARTS[onnx_type(tensor.dtype)])
            _rename(part, f"{_name(node, index)}.{suffix}", op)
    elif isinstance(value, ir.Value) and is_tensor_type(tensor.dtype):
        _describe(value, tensor, onnx_type(tensor.dtype))
        _rename(value, _name(node, index), op)


def _name(node: SourceNode, index: int) -> str:
    return f"{node.name}:{index}" if index else node.name


def _describe(value: ir.Value, tensor: Any, dtype: ir.DataType) -> None:
    if value.type is None:
        value.type = ir.TensorType(dtype)
    if value.dtype != dtype:
        raise EmitError(
            f"its handler makes {value.dtype}, TensorFlow {dtype}",
            where=f"{tensor.op.name} ({tensor.op.type})",
            remedy="cast what the handler returns; if it is not your own, report it with the model",
        )
    if tensor.shape.rank is None or value.const_value is not None:
        return
    known = tensor.shape.as_list()
    have = value.shape
    if have is None or have.rank() != len(known):
        value.shape = ir.Shape(known)
    else:
        value.shape = ir.Shape(
            [mine if isinstance(mine, int) or its is None else its for mine, its in zip(have, known, strict=True)]
        )


def _rename(value: ir.Value, name: str, op: Builder) -> None:
    """Only what this operation made: an input handed on keeps the name it has."""
    maker = value.producer()
    if maker is not None and not value.meta.get("named") and maker.metadata_props.get(ORIGIN) == op.metadata[ORIGIN]:
        value.name = op.fresh(name)
        value.meta["named"] = True
