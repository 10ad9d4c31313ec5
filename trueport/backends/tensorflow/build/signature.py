"""Between the plain tensors of a TensorFlow signature and the values inside the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import MapRows
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels.lists import empty, from_flat, inner_list, length, some, to_flat
from trueport.ir.ports import Port

__all__ = ["enter", "leave", "specs"]


def specs(port: Port) -> list[Any]:
    """The TensorSpecs of a port's parts."""
    dtype = tf_dtype(port.element)
    int64, flag = tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.bool)
    flat = [tf.TensorSpec([None], dtype), int64, int64]
    match port.kind:
        case "tensor":
            shape = None if port.shape is None else [d if isinstance(d, int) else None for d in port.shape]
            plain = [tf.TensorSpec(shape, dtype)]
        case "sequence" | "optional":
            plain = flat
        case "optional_sequence":
            plain = [flag, *flat]
        case _:
            key = tf_dtype(ir.DataType[port.key_dtype or "STRING"])
            values = [None] if port.kind == "map" else [None, None]
            plain = [tf.TensorSpec([None], key), tf.TensorSpec(values, dtype)]
    return [tf.TensorSpec(s.shape, s.dtype, name) for s, name in zip(plain, port.parts, strict=True)]


def enter(port: Port, parts: Sequence[Any]) -> Any:
    """The value inside the graph, made from the parts of the signature."""
    match port.kind:
        case "tensor":
            return parts[0]
        case "map" | "sequence_map":
            return MapRows(*parts)
        case "optional_sequence":
            inner, dtype = from_flat(*parts[1:]), tf_dtype(port.element)
            return tf.cond(parts[0], lambda: some(inner, dtype), lambda: empty(dtype))
        case _:
            return from_flat(*parts)


def leave(port: Port, value: Any) -> list[Any]:
    """The parts of the signature, made from the value inside the graph."""
    dtype = tf_dtype(port.element)
    match port.kind:
        case "tensor":
            return [value]
        case "map" | "sequence_map":
            return [value.keys, value.values]
        case "optional_sequence":
            present = length(value) > 0
            inner = tf.cond(present, lambda: inner_list(value, dtype), lambda: empty(dtype))
            return [present, *to_flat(inner, dtype)]
        case _:
            return to_flat(value, dtype)
