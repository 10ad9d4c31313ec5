"""What a handler holds while it translates one TensorFlow operation into ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.fidelity import LOSSY, Fidelity
from trueport.frontends.tensorflow.nodes import SourceNode
from trueport.frontends.tensorflow.values import Translated
from trueport.ir.build import Builder, known_array
from trueport.ir.dtypes import INTEGERS, numpy_dtype
from trueport.ir.places import place

if TYPE_CHECKING:
    from trueport.frontends.tensorflow.translate import Translator

__all__ = ["Translation"]


class Translation:
    """One operation on its way into the ONNX graph: ``t.op.Add(x, y)`` adds a node and gives its value."""

    def __init__(self, node: SourceNode, op: Builder, translator: Translator) -> None:
        self.node = node
        self.op = op
        self._translator = translator

    @property
    def extensions(self) -> bool:
        """Whether operators of onnxruntime-extensions may stand where ONNX has none."""
        return self._translator.extensions

    def static(self, value: Translated) -> np.ndarray | None:
        """The value where it is known before the model runs, else None; weights are never read for it."""
        if not isinstance(value, ir.Value) or value.meta.get("weight"):
            return None
        return known_array(value)

    def need(self, value: Translated, what: str) -> np.ndarray:
        """The value of an input that ONNX wants fixed; refuses the node where it is computed."""
        found = self.static(value)
        if found is None:
            raise self.fail(
                f"{what} is computed while the model runs; ONNX has it as a constant", f"make {what} a constant"
            )
        return found

    def rank(self, value: ir.Value) -> int:
        """The number of dims; refuses the node where it is not known."""
        if value.shape is None:
            raise self.fail("an input's rank is not known", "give the model's inputs a shape (--shape NAME=DIMS)")
        return value.shape.rank()

    def dims(self, value: ir.Value) -> tuple[int | None, ...]:
        """The dims as numbers, None where open; refuses the node where the rank is not known."""
        self.rank(value)
        assert value.shape is not None
        return tuple(dim if isinstance(dim, int) else None for dim in value.shape)

    def dtype(self, value: ir.Value) -> ir.DataType:
        """The element type of a value."""
        assert value.dtype is not None
        return value.dtype

    def output_type(self, index: int = 0) -> ir.DataType:
        """ONNX's element type of an output."""
        return self.node.output_type(index)

    def output_shape(self, index: int = 0) -> tuple[int | None, ...] | None:
        """What TensorFlow knows of an output's shape."""
        return self.node.output_shape(index)

    def cast(self, value: ir.Value, dtype: ir.DataType) -> ir.Value:
        """The value in another element type; no node when it has it, and constant integers stay constants."""
        if value.dtype == dtype:
            return value
        known = self.static(value) if value.dtype in INTEGERS and dtype in INTEGERS else None
        made: ir.Value = (
            self.op.Cast(value, to=dtype) if known is None else self.op.const(known.astype(numpy_dtype(dtype)))
        )
        return made

    def int64(self, value: ir.Value) -> ir.Value:
        """Indices, shapes and axes as ONNX wants them; a constant stays one."""
        known = self.static(value)
        return self.cast(value, ir.DataType.INT64) if known is None else self.op.const(known.astype(np.int64))

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

    def close(self, outputs: Sequence[ir.Value]) -> ir.Graph:
        """The graph begun by ``inside``, with these outputs: each a value of its own, made in it."""
        graph = self.op.graph
        for value in outputs:
            own = value.graph is graph and not value.is_graph_input() and value not in graph.outputs
            graph.outputs.append(value if own and value.const_value is None else self.op.Identity(value))
        return graph

    def lose(self, what: str, because: str, fidelity: Fidelity = LOSSY) -> None:
        """Record something of the source that the result does not hold."""
        self._translator.lose(self.node, what, because, fidelity)

    def fail(self, why: str, remedy: str = "") -> ConversionError:
        """An error at this operation, to be raised: the node is refused, and the others are still looked at."""
        return ConversionError(why, where=place(self.node), remedy=remedy)
