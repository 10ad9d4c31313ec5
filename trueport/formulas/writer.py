"""What a formula holds while it is written: the graph's builder, and what is known of values before the model runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import onnx_ir as ir

from trueport.ir.build import Builder, known_array
from trueport.ir.dtypes import INTEGERS, numpy_dtype

if TYPE_CHECKING:
    from trueport.errors import ConversionError

__all__ = ["Writer"]


class Writer(Protocol):
    """One operation on its way into an ONNX graph: ``t.op.Add(x, y)`` adds a node and gives its value."""

    op: Builder

    @property
    def extensions(self) -> bool:
        """Whether operators of onnxruntime-extensions may stand where ONNX has none."""
        ...

    def inside(self, inputs: Sequence[ir.Value] = ()) -> Writer:
        """The same operation with ``op`` building a graph of its own, for a node's attribute; see ``close``."""
        ...

    def fail(self, why: str, remedy: str = "") -> ConversionError:
        """An error at this operation, to be raised."""
        ...

    def static(self, value: object) -> np.ndarray | None:
        """The value where it is known before the model runs, else None; weights are never read for it."""
        if not isinstance(value, ir.Value) or value.meta.get("weight"):
            return None
        return known_array(value)

    def need(self, value: object, what: str) -> np.ndarray:
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

    def cast(self, value: ir.Value, dtype: ir.DataType) -> ir.Value:
        """The value in another element type; no node when it has it, and constant integers stay constants."""
        if value.dtype == dtype:
            return value
        known = self.static(value) if value.dtype in INTEGERS and dtype in INTEGERS else None
        return self.op.Cast(value, to=dtype) if known is None else self.op.const(known.astype(numpy_dtype(dtype)))

    def int64(self, value: ir.Value) -> ir.Value:
        """Indices, shapes and axes as ONNX wants them; a constant stays one."""
        known = self.static(value)
        return self.cast(value, ir.DataType.INT64) if known is None else self.op.const(known.astype(np.int64))

    def close(self, outputs: Sequence[ir.Value]) -> ir.Graph:
        """The graph begun by ``inside``, with these outputs: each a value of its own, made in it."""
        graph = self.op.graph
        for value in outputs:
            own = value.graph is graph and not value.is_graph_input() and value not in graph.outputs
            graph.outputs.append(value if own and value.const_value is None else self.op.Identity(value))
        return graph
