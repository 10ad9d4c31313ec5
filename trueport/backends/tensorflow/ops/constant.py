"""Values that the model itself holds, and values handed on."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor, Translation
from trueport.backends.tensorflow.weights import as_numpy
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Identity", audited=25, fidelity=BITWISE)
def identity(t: Translation, input: Any) -> Any:
    # Sequences, optionals and maps are named tuples of tensors, never changed in place.
    return tf.identity(input) if tf.is_tensor(input) else input


@maps("Constant", audited=25, fidelity=BITWISE)
def constant(
    t: Translation,
    *,
    value: ir.TensorProtocol | None,
    sparse_value: Any,
    value_float: float | None,
    value_floats: list[float] | None,
    value_int: int | None,
    value_ints: list[int] | None,
    value_string: str | None,
    value_strings: list[str] | None,
) -> Tensor:
    if value is not None:
        return tf.constant(as_numpy(value), t.output_dtype())
    if sparse_value is not None:
        return tf.constant(_dense(sparse_value), t.output_dtype())
    given = (value_float, value_floats, value_int, value_ints, value_string, value_strings)
    return tf.constant(next(item for item in given if item is not None), t.output_dtype())


def _dense(sparse: Any) -> np.ndarray:
    """The array that a SparseTensorProto means: its indices are linear, or one row of coordinates per value."""
    values, indices = (as_numpy(ir.from_proto(part)) for part in (sparse.values, sparse.indices))
    dims = tuple(sparse.dims)
    array = np.zeros(dims, values.dtype)
    linear = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dims)
    array.reshape(-1)[linear] = values
    return array


@maps("ConstantOfShape", audited=25, fidelity=BITWISE)
def constant_of_shape(t: Translation, input: Tensor, *, value: ir.TensorProtocol | None) -> Tensor:
    dtype = t.output_dtype()
    fill = np.zeros([], np.float32) if value is None else as_numpy(value).reshape([])
    if dtype.size == 1 and dtype not in (tf.int8, tf.uint8, tf.bool):
        # tf.fill has no kernel for float8 and int4, but broadcasting and gathering move them.
        return tf.broadcast_to(tf.constant(fill, dtype), input)
    return tf.fill(input, tf.constant(fill, dtype))
