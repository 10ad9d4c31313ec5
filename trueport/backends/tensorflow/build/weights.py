"""Initializers in TensorFlow: floats become variables under their own names, parameters become constants.

A float that is not a parameter of an operator (its declaration lists those as ``static``) is a variable, so that
TensorFlow does not reorder sums around it: (a - b) + 1e-6 with a constant becomes a + (1e-6 - b), and the small number
is gone. It is trained unless the model names its weights and leaves it out. Large integer tensors (quantized weights)
are variables too, not trained, so that no constant makes the graph large. A weight that a convolution wants in another
order is stored in that order; the artifact records the permutation.
"""

from __future__ import annotations

import functools
from concurrent.futures import Executor
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.ir.artifact import StoredWeight
from trueport.ir.dtypes import COMPLEX, FLOATS, INTEGERS, numpy_dtype
from trueport.ir.layouts import compose, held_names, identity
from trueport.ir.marks import is_trained
from trueport.ir.ports import CONTAINERS
from trueport.mapping.bind import input_name
from trueport.mapping.registry import Registry

__all__ = ["WeightStore", "as_numpy"]

LARGE_BYTES = 4096
"""Integers above this size are weights (a table, a quantized kernel), not shapes or axes."""


def as_numpy(tensor: ir.TensorProtocol) -> np.ndarray:
    """An initializer's array as TensorFlow takes it: bits of contained types, bytes for strings."""
    if tensor.dtype == ir.DataType.STRING:
        return np.array(tensor.numpy(), dtype=object)
    array = np.asarray(tensor.numpy())
    container = CONTAINERS.get(tensor.dtype)
    return array.view(numpy_dtype(container)) if container else array


class WeightStore:
    """Makes each variable once, at its first use, outside of the function that is being traced.

    ``elsewhere`` is a thread in which no function is being traced: tf.function traces everything a second time
    when it sees a variable being made.
    """

    def __init__(self, model: ir.Model, registry: Registry, elsewhere: Executor) -> None:
        self._model = model
        self._registry = registry
        self._elsewhere = elsewhere
        self.variables: dict[str, Any] = {}
        self.stored: dict[str, StoredWeight] = {}
        self._orders: dict[str, tuple[int, ...] | None] = {}

    def spec(self, value: ir.Value) -> Any:
        """Shape and dtype of an initializer, without a read."""
        tensor = value.const_value
        assert tensor is not None
        return tf.TensorSpec(tensor.shape.numpy(), tf_dtype(tensor.dtype))

    def tensor(self, value: ir.Value, perm: tuple[int, ...] | None = None) -> Any:
        """The initializer in the current graph, permuted: a read of its variable, or a constant."""
        tensor = value.const_value
        assert tensor is not None
        if not self._is_weight(value, tensor):
            array = as_numpy(tensor)
            return tf.constant(array.transpose(perm) if perm else array, dtype=tf_dtype(tensor.dtype))
        name = value.name or "weight"
        if name not in self.variables:
            self._store(name, value, tensor, perm)
        read = tf.convert_to_tensor(self.variables[name])
        held = self._orders[name]
        return read if held == perm else tf.transpose(read, _from_to(held, perm, len(tensor.shape)))

    def _store(self, name: str, value: ir.Value, tensor: ir.TensorProtocol, perm: tuple[int, ...] | None) -> None:
        """The first use decides the order in which a weight is kept: there is one variable for each."""
        array = as_numpy(tensor)
        if perm or isinstance(tensor, ir.ExternalTensor):
            # A copy: TensorFlow may keep the very memory it is given, and a file's must not change under it.
            array = np.array(array.transpose(perm) if perm else array, order="C")
        make = functools.partial(
            tf.Variable,
            array,
            trainable=tensor.dtype in FLOATS | COMPLEX and self._is_trained(value),
            name=_variable_name(name),
            dtype=tf_dtype(tensor.dtype),
        )
        self.variables[name] = self._elsewhere.submit(make).result()
        self._orders[name] = perm
        self.stored[name] = StoredWeight(name, name, _from_source(value, perm))
        if isinstance(tensor, ir.ExternalTensor):
            tensor.release()

    def _is_weight(self, value: ir.Value, tensor: ir.TensorProtocol) -> bool:
        if self._only_used_as(value, "static"):
            return False
        if tensor.dtype in FLOATS | COMPLEX:
            return True
        return tensor.dtype in INTEGERS and tensor.nbytes > LARGE_BYTES

    def _is_trained(self, value: ir.Value) -> bool:
        return is_trained(self._model, value) and not self._only_used_as(value, "state")

    def _only_used_as(self, value: ir.Value, role: str) -> bool:
        uses = list(value.uses())
        return bool(uses) and all(self._has_role(use.node, use.idx, role) for use in uses)

    def _has_role(self, node: ir.Node, index: int, role: str) -> bool:
        mapping = self._registry.find(node.op_type, node.domain)
        return mapping is not None and input_name(mapping, index) in getattr(mapping, role)


def _from_source(value: ir.Value, perm: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The order of a stored weight against the source's: folding may have transposed the initializer before."""
    before = held_names(value).get(value.name or "")
    return perm if before is None else compose(before, perm or identity(len(before)))


def _from_to(held: tuple[int, ...] | None, wanted: tuple[int, ...] | None, rank: int) -> list[int]:
    """The transpose that leads from one stored order to another."""
    axes = held or tuple(range(rank))
    return [axes.index(axis) for axis in wanted or range(rank)]


def _variable_name(key: str) -> str:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_./-") else "_" for c in key)
    return plain if plain[:1].isalnum() else "w" + plain
