"""What a handler sees of its surroundings: the ``t`` in ``def relu(t, X)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.errors import ConversionError
from trueport.ir.places import place

if TYPE_CHECKING:
    from trueport.backends.tensorflow.build.emit import Scope

__all__ = ["Emission", "Listing", "MapRows", "Tensor"]

Tensor = Any
"""A tf.Tensor; TensorFlow ships no types, and handlers must be importable without it."""
_FROM_THERE_ON = (
    "trueport check names the node from which on it is not known (unknown-rank, inference-stops): declare the input "
    "with a shape, make the shape that it depends on a constant, or put a Reshape with a constant shape behind it"
)


class Listing(NamedTuple):
    """An ONNX sequence or optional: a TensorList, so that its length may depend on data.

    An optional is a list of none or one. A named tuple, so that tf.cond and tf.while_loop carry it.
    """

    handle: Any


class MapRows(NamedTuple):
    """An ONNX map, or a sequence of maps with the same keys: ``keys [K]`` and ``values [K]`` or ``[N, K]``."""

    keys: Any
    values: Any


class Emission:
    """One node on its way into the TensorFlow graph."""

    def __init__(self, node: ir.Node, scope: Scope) -> None:
        self.node = node
        self._scope = scope

    @property
    def channels_last(self) -> bool:
        """The layout pass gave this node channel-last data."""
        return bool(self.node.meta.get("channels_last"))

    @property
    def sized_by_data(self) -> bool:
        """How many rows the first input has is found while running; there may be none."""
        return bool(self.node.meta.get("sized_by_data"))

    def wants(self, output: int) -> bool:
        """Whether the node's output at this index is there to be made."""
        return output < len(self.node.outputs) and bool(self.node.outputs[output].name)

    def output_dtype(self, output: int = 0) -> Any:
        """TensorFlow's dtype for an output; the element's dtype for a sequence or an optional."""
        return tf_dtype(self.output_type(output))

    def output_type(self, output: int = 0) -> ir.DataType:
        """ONNX's element type of an output."""
        return self._element(self.node.outputs[output])

    def input_type(self, index: int) -> ir.DataType:
        """ONNX's element type of an input: tells a container from a plain integer."""
        value = self.node.inputs[index]
        assert value is not None, "only of inputs that are there"
        return self._element(value)

    def _element(self, value: ir.Value) -> ir.DataType:
        if value.dtype is None:
            raise self.fail(f"the element type of {value.name!r} is not known", "state it in the model's value_info")
        return value.dtype

    def rank(self, *tensors: Tensor, of: str = "its data") -> int:
        """The number of dims, without which axes have no meaning: of the first tensor that knows it, if they agree."""
        for tensor in tensors:
            if tensor.shape.rank is not None:
                return int(tensor.shape.rank)
        raise self.fail(f"the rank (number of dims) of {of} is not known", _FROM_THERE_ON)

    def static(self, tensor: Any) -> np.ndarray | None:
        """The value of a tensor where it is already known, else None."""
        return None if tensor is None else tf.get_static_value(tensor)

    def weight(self, index: int, perm: Sequence[int] | None = None) -> Any:
        """Input ``index`` permuted; a weight of the model is stored that way, so nothing is moved at run time."""
        value = self.node.inputs[index]
        assert value is not None
        return self._scope.weight(value, tuple(perm) if perm else None)

    def run(self, graph: ir.Graph, *inputs: Any) -> list[Any]:
        """Translate a subgraph here: in the TensorFlow function that is being built."""
        return self._scope.run_subgraph(graph, inputs)

    def recompute(self, target: str, given: Mapping[str, Any]) -> tuple[Any, list[Any]]:
        """The value named ``target`` as a function of others: its tensor, and the tensors it was made from.

        What was computed before is used when the given tensors are the values of those names.
        """
        scope = self._scope
        places = {self._named(name): tensor for name, tensor in given.items()}
        wanted = self._named(target)
        # A weight may be read in a permuted form, which a gradient would not lead back to.
        same = all(v.const_value is None and scope.value(v) is tensor for v, tensor in places.items())
        if same:
            return scope.value(wanted), list(places.values())
        places = {value: tf.identity(tensor) for value, tensor in places.items()}
        return scope.recompute(wanted, places), list(places.values())

    def _named(self, name: str) -> ir.Value:
        found = self._scope.named(name, self.node)
        if found is None:
            raise self.fail(f"no value before it is called {name!r}", "name values of the model in xs, y and zs")
        return found

    def fail(self, why: str, remedy: str = "") -> ConversionError:
        """An error at this node, to be raised."""
        return ConversionError(why, where=place(self.node), remedy=remedy)
