"""Values that the model itself holds, and values handed on."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import is_native
from trueport.backends.tensorflow.build.weights import as_numpy
from trueport.fidelity import BITWISE
from trueport.ir.dtypes import FLOAT8, NARROW_INTEGERS
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Identity", audited=25, fidelity=BITWISE)
def identity(t: Emission, input: Any) -> Any:
    # The value itself, not a copy: nothing changes in place, and what is known of it stays known.
    return input


@maps("Constant", audited=25, fidelity=BITWISE, ignores={"sparse_value": "made dense where the model is read"})
def constant(
    t: Emission,
    *,
    value: ir.TensorProtocol | None,
    value_float: float | None,
    value_floats: list[float] | None,
    value_int: int | None,
    value_ints: list[int] | None,
    value_string: str | None,
    value_strings: list[str] | None,
) -> Tensor:
    if value is not None:
        return tf.constant(as_numpy(value), t.output_dtype())
    given = (value_float, value_floats, value_int, value_ints, value_string, value_strings)
    return tf.constant(next(item for item in given if item is not None), t.output_dtype())


@maps("ConstantOfShape", audited=25, fidelity=BITWISE, static=())
def constant_of_shape(t: Emission, input: Tensor, *, value: ir.TensorProtocol | None) -> Tensor:
    dtype = t.output_dtype()
    fill = np.zeros([], np.float32) if value is None else as_numpy(value).reshape([])
    if t.output_type() in NARROW_INTEGERS and is_native(t.output_type()):
        # No kernel repeats int4 and uint4, only casts.
        return tf.cast(tf.fill(input, tf.constant(fill.astype(np.int8))), dtype)
    if t.output_type() in FLOAT8 and is_native(t.output_type()):
        # tf.fill has no kernel for float8; broadcasting has.
        return tf.broadcast_to(tf.constant(fill, dtype), input)
    return tf.fill(input, tf.constant(fill, dtype))
