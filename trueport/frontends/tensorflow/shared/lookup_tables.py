"""Lookup tables as ONNX's LabelEncoder: which key and value types it takes, and what stands in for the others.

A table that the graph makes is made here too, by TensorFlow itself, and filled with the graph's constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.dtypes import tf_type
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Resource, Translated
from trueport.ir.dtypes import numpy_dtype

__all__ = ["OwnTable", "change", "found_at", "looked_up", "make", "table_size"]

_ML = "ai.onnx.ml"
_D = ir.DataType

_ENCODED: Mapping[ir.DataType, ir.DataType] = {
    _D.INT32: _D.INT64,
    _D.BOOL: _D.INT64,
    _D.INT64: _D.INT64,
    _D.FLOAT: _D.FLOAT,
    _D.DOUBLE: _D.DOUBLE,
    _D.STRING: _D.STRING,
}
"""The types of tables' keys and values, and those that LabelEncoder holds them in."""


class OwnTable(Resource):
    """A table that the graph itself makes: its contents may still be set."""


def make(t: Translation, kind: str, keys: ir.DataType, values: ir.DataType, **options: Any) -> OwnTable:
    """A new table by TensorFlow's operator for one without a name."""
    maker = getattr(tf.raw_ops, kind)
    with tf.init_scope():
        return OwnTable(t.node.name, maker(key_dtype=tf_type(keys), value_dtype=tf_type(values), **options))


def change(t: Translation, table: Translated, *inputs: ir.Value, **attributes: Any) -> None:
    """Carry out an operation that fills or changes a table of the graph's own."""
    if not isinstance(table, OwnTable):
        raise t.fail(
            "changes a lookup table while the model runs; ONNX's tables are constants",
            "fill the table before the model is converted",
        )
    if not t.op.is_root:
        raise t.fail(
            "changes a lookup table inside a branch or a loop; ONNX's tables are constants", "fill the table before"
        )
    operation = t.node.operation
    names = [arg.name for arg in operation.op_def.input_arg[1:]]
    known = {
        name: t.need(value, f"what is put into a table ({name})") for name, value in zip(names, inputs, strict=True)
    }
    dtypes = [tensor.dtype for tensor in operation.inputs[1:]]
    with tf.init_scope():
        constants = {name: tf.constant(known[name], dtype) for name, dtype in zip(names, dtypes, strict=True)}
        getattr(tf.raw_ops, operation.type)(table_handle=table.handle, **constants, **attributes)
    table.table = None


def table_size(t: Translation, table: Translated) -> int:
    """How many keys a table has."""
    assert isinstance(table, Resource), "what is captured or made as a table is one"
    if table.handle is None:
        raise t.fail("asks what is no table for its size", "ask a table that the model holds, or makes and fills")
    return int(tf.raw_ops.LookupTableSizeV2(table_handle=table.handle))


def looked_up(
    t: Translation, queries: ir.Value, keys: np.ndarray, values: np.ndarray, default: ir.Value, dtype: ir.DataType
) -> ir.Value:
    """The values of the queries; ``default`` where the table has none."""
    known = t.static(default)
    if known is None or known.ndim or values.ndim != 1 or not len(keys):
        return _gathered(t, queries, keys, values, default)
    held = _ENCODED[dtype]
    found = _encoded(t, queries, keys, _tensor(values, held), _tensor(known.reshape(1), held))
    return t.cast(found, dtype)


def found_at(t: Translation, queries: ir.Value, keys: np.ndarray) -> ir.Value:
    """The places of the queries among the keys, -1 for one that is not there."""
    if not len(keys):
        return t.op.Expand(np.array(-1), t.op.Shape(queries))
    return _encoded(t, queries, keys, ir.tensor(np.arange(len(keys))), ir.tensor(np.array([-1])))


def _encoded(
    t: Translation, queries: ir.Value, keys: np.ndarray, values: ir.TensorProtocol, default: ir.TensorProtocol
) -> ir.Value:
    held = _ENCODED[t.dtype(queries)]
    return t.op.LabelEncoder(
        t.cast(queries, held),
        domain=_ML,
        keys_tensor=_tensor(keys, held),
        values_tensor=values,
        default_tensor=default,
    )


def _gathered(t: Translation, queries: ir.Value, keys: np.ndarray, values: np.ndarray, default: ir.Value) -> ir.Value:
    """Values that are vectors, or a default that is computed."""
    if not len(keys):
        return t.op.Expand(default, t.op.Concat(t.op.Shape(queries), t.op.Shape(default), axis=0))
    place = found_at(t, queries, keys)
    rows = t.op.Gather(values, t.op.Max(place, t.op.const(np.array(0))))
    missed = t.op.Less(place, t.op.const(np.array(0)))
    if values.ndim > 1:
        missed = t.op.Unsqueeze(missed, list(range(-(values.ndim - 1), 0)))
    return t.op.Where(missed, default, rows)


def _tensor(array: np.ndarray, dtype: ir.DataType) -> ir.TensorProtocol:
    if dtype == _D.STRING:
        items = [item if isinstance(item, bytes) else item.encode("utf-8", "surrogateescape") for item in array]
        return ir.StringTensor(items, shape=ir.Shape(array.shape))
    return ir.tensor(np.asarray(array).astype(numpy_dtype(dtype)))
