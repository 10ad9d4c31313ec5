"""Our own translations: nodes built with types known as they stand, recorded among those of PyTorch's exporter.

    @maps_torch("aten::special_entr", error=ulps(2))
    @recorded
    def entr(t, x):
        return t.op.Neg(t.op.Mul(x, t.op.Log(x)))

``t`` is what handlers of TensorFlow's operations hold, so that series, factorings and searches are written once.
A number that PyTorch passes by value arrives as a Python number, one that is computed as a value.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.formulas.writer import Writer
from trueport.ir.build import Builder

__all__ = ["TorchTranslation", "recorded"]

Handler = Callable[..., Any]


def recorded(handler: Handler) -> Handler:
    """The handler as PyTorch's exporter calls it: with the operator's arguments alone."""

    @functools.wraps(handler)
    def call(*args: Any, **options: Any) -> Any:
        from onnxscript import evaluator

        builder = _Recorder(evaluator.default())
        made = handler(TorchTranslation(builder, handler.__name__), *args, **options)
        if isinstance(made, tuple):
            return [builder.result(value) for value in made]
        return builder.result(made)

    del call.__wrapped__
    call.__annotations__ = {}
    return call


class TorchTranslation(Writer):
    """One of PyTorch's operators on its way into the ONNX graph."""

    def __init__(self, op: Builder, name: str) -> None:
        self.op = op
        self._name = name

    @property
    def extensions(self) -> bool:
        return False

    def inside(self, inputs: Sequence[ir.Value] = ()) -> TorchTranslation:
        """The same operator with ``op`` building a graph of its own; see ``close``."""
        return TorchTranslation(self.op.inside(inputs), self._name)

    def fail(self, why: str, remedy: str = "") -> ConversionError:
        """An error at this operator, to be raised."""
        return ConversionError(why, where=self._name, remedy=remedy)


class _Recorder(Builder):
    """Appends to the nodes that the exporter records of one operator."""

    def __init__(self, recorder: Any) -> None:
        super().__init__(ir.Graph([], [], nodes=[], name="recorded"))
        self._nodes: list[ir.Node] = recorder.nodes
        # The exporter keeps one store of constants per model: names count on from operator to operator.
        self._count = recorder.constant_farm.setdefault(__name__, itertools.count())

    def _place(self, node: ir.Node) -> None:
        self._nodes.append(node)

    def result(self, value: ir.Value) -> ir.Value:
        """A value for the exporter to name and to type: no input, no constant, its type not set."""
        if value.const_value is not None or value.producer() not in self._nodes:
            value = self.Identity(value)
        value.type = None
        return value

    def stored(self, tensor: ir.TensorProtocol, name: str) -> ir.Value:
        """A constant is a node, too: the exporter takes no initializers."""
        node = ir.node("Constant", [], {"value": tensor}, name=self.fresh(name))
        value = node.outputs[0]
        value.name = self.fresh(name)
        value.type, value.shape = ir.TensorType(tensor.dtype), ir.Shape(tensor.shape.numpy())
        value.const_value = tensor
        self._nodes.append(node)
        return value

    def inside(self, inputs: Sequence[ir.Value] = ()) -> Builder:
        return _Inner.within(self, inputs)

    def fresh(self, base: str) -> str:
        """A name that no other operator's nodes have: the exporter's own hold no dot."""
        return f"{base}.{next(self._count)}"


class _Inner(Builder):
    """A graph in an attribute; its constants stand in the graph around it."""

    @classmethod
    def within(cls, outer: Builder, inputs: Sequence[ir.Value]) -> Builder:
        """One for a subgraph with these inputs."""
        for value in inputs:
            value.name = outer.fresh(value.name or "input")
        return cls(ir.Graph(inputs, [], nodes=[], name=outer.fresh("body")), outer)

    def stored(self, tensor: ir.TensorProtocol, name: str) -> ir.Value:
        return self._root.stored(tensor, name)

    def inside(self, inputs: Sequence[ir.Value] = ()) -> Builder:
        return _Inner.within(self, inputs)

    def fresh(self, base: str) -> str:
        return self._root.fresh(base)
