"""What a handler holds while it translates one TensorFlow operation into ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.fidelity import LOSSY, Fidelity
from trueport.formulas.writer import Writer
from trueport.frontends.tensorflow.source.nodes import SourceNode
from trueport.frontends.tensorflow.translate.values import Translated
from trueport.ir.build import Builder
from trueport.ir.places import place

if TYPE_CHECKING:
    from trueport.frontends.tensorflow.translate.operations import Translator

__all__ = ["Translation"]


class Translation(Writer):
    """One operation on its way into the ONNX graph: ``t.op.Add(x, y)`` adds a node and gives its value."""

    def __init__(self, node: SourceNode, op: Builder, translator: Translator) -> None:
        self.node = node
        self.op = op
        self._translator = translator

    @property
    def extensions(self) -> bool:
        """Whether operators of onnxruntime-extensions may stand where ONNX has none."""
        return self._translator.extensions

    def output_type(self, index: int = 0) -> ir.DataType:
        """ONNX's element type of an output."""
        return self.node.output_type(index)

    def output_shape(self, index: int = 0) -> tuple[int | None, ...] | None:
        """What TensorFlow knows of an output's shape."""
        return self.node.output_shape(index)

    def redo(self, *inputs: Any) -> Any:
        """The same operation with other inputs, by its plain declaration: for the parts of a complex value."""
        return self._translator.redo(self, inputs)

    def inline(self, function: str, inputs: Sequence[Translated]) -> list[Translated]:
        """The outputs of a function of the source's library, translated here."""
        return self._translator.call(self, function, inputs)

    def body(self, function: str, shapes: Sequence[Any] | None = None) -> Any:
        """The graph of a function of the source's library; ``shapes`` are what is known of its inputs."""
        return self._translator.body(self, function, shapes)

    def written(self, body: Any) -> frozenset[int]:
        """Inputs of a function's graph that are handles of variables which it sets."""
        return self._translator.written(body)

    def enter(self, body: Any, inputs: Sequence[Translated], outputs: Sequence[Any]) -> list[Translated]:
        """Some outputs of a function's graph, translated here."""
        return self._translator.enter(self, body, inputs, outputs)

    def inside(self, inputs: Sequence[ir.Value] = ()) -> Translation:
        """The same operation with ``op`` building a graph of its own, for a node's attribute; see ``close``."""
        return Translation(self.node, self.op.inside(inputs), self._translator)

    def lose(self, what: str, because: str, fidelity: Fidelity = LOSSY) -> None:
        """Record something of the source that the result does not hold."""
        self._translator.lose(self.node, what, because, fidelity)

    def fail(self, why: str, remedy: str = "") -> ConversionError:
        """An error at this operation, to be raised: the node is refused, and the others are still looked at."""
        return ConversionError(why, where=place(self.node), remedy=remedy)
