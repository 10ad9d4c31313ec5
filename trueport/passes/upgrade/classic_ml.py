"""LabelEncoder 1 knew a list of strings and their places in it."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx_ir import Value

from trueport.errors import InvalidModel
from trueport.ir.places import place
from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("LabelEncoder", 1, 2, domain="ai.onnx.ml")
def label_encoder_1_to_2(
    op: AdapterBuilder, X: Value, *, classes_strings: list[str] | None, default_int64: int, default_string: str
) -> Any:
    """Strings became their place in the list, integers the string at their place."""
    names = classes_strings or []
    places = list(range(len(names)))
    if X.dtype == ir.DataType.STRING or op.node.outputs[0].dtype == ir.DataType.INT64:
        return op.again(X, keys_strings=names, values_int64s=places, default_int64=default_int64)
    if X.dtype == ir.DataType.INT64 or op.node.outputs[0].dtype == ir.DataType.STRING:
        return op.again(X, keys_int64s=places, values_strings=names, default_string=default_string)
    raise InvalidModel(
        f"its input is neither of strings nor of int64, but of {X.dtype}",
        where=place(op.node),
        remedy="give it labels, or their numbers",
    )
