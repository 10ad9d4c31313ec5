"""LabelEncoder takes its table as tensors since 4 of ONNX's domain for classic machine learning."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.lower.adapt import Downgrade, downgrades

__all__: list[str] = []

_D = ir.DataType
_LISTS = {_D.STRING: "strings", _D.FLOAT: "floats", _D.INT64: "int64s", _D.INT32: "int64s", _D.INT16: "int64s"}
"""As what kind of list a table of each type can be given: its numbers are all in it."""


@downgrades("LabelEncoder", 4, 2, domain="ai.onnx.ml")
def label_encoder_4_to_2(
    op: Downgrade,
    X: Value,
    *,
    keys_tensor: ir.TensorProtocol | None,
    values_tensor: ir.TensorProtocol | None,
    default_tensor: ir.TensorProtocol | None,
    **lists: Any,
) -> Any:
    """Before 4 there are lists of strings, floats and int64."""
    result = op.node.outputs[0].dtype
    if keys_tensor is not None:
        lists[f"keys_{_kind(op, keys_tensor)}"] = _items(keys_tensor)
    if values_tensor is not None:
        lists[f"values_{_kind(op, values_tensor)}"] = _items(values_tensor)
    if default_tensor is not None:
        lists[f"default_{_kind(op, default_tensor).removesuffix('s')}"] = _items(default_tensor)[0]
    wide = op.Cast(X, to=_D.INT64.value) if X.dtype in (_D.INT16, _D.INT32) else X
    made = op.again(wide, **{name: value for name, value in lists.items() if value is not None})
    if result not in (_D.INT16, _D.INT32):
        return made
    made.type = ir.TensorType(_D.INT64)
    return op.Cast(made, to=result.value)


def _kind(op: Downgrade, tensor: ir.TensorProtocol) -> str:
    if tensor.dtype not in _LISTS:
        raise op.fail(f"a table of {tensor.dtype} came with it")
    return _LISTS[tensor.dtype]


def _items(tensor: ir.TensorProtocol) -> list[Any]:
    array = tensor.numpy().ravel()
    return [item.decode() if isinstance(item, bytes) else item for item in array.tolist()]
