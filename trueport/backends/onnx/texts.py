"""Strings in an ONNX file are UTF-8: ONNX Runtime fails on other bytes, each operator in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.ir.places import place

__all__ = ["refuse_other_bytes"]

_SHOWN = 3
"""Places that are named; of more only their number is given."""


def refuse_other_bytes(model: ir.Model) -> None:
    """Raise `ConversionError` if a constant or an attribute holds a string that is not UTF-8."""
    found = list(dict.fromkeys(_places(model)))
    if found:
        more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise ConversionError(
            "holds strings that are not UTF-8, which ONNX's strings are",
            where=", ".join(found[:_SHOWN]) + more,
            remedy="encode them in another way in the model, as by tf.io.encode_base64, or hold them as numbers",
        )


def _places(model: ir.Model) -> Iterator[str]:
    for graph in model.graphs():
        for value in graph.initializers.values():
            if not _is_text(_tensor_items(value.const_value)):
                users = [place(use.node) for use in value.uses()]
                yield f"constant {value.name!r}" + (f" of {users[0]}" if users else "")
    for node in model.graph.all_nodes():
        for attribute in node.attributes.values():
            if not attribute.is_ref() and not _is_text(_attribute_items(attribute)):
                yield f"attribute {attribute.name!r} of {place(node)}"


def _attribute_items(attribute: ir.Attr) -> Iterable[Any]:
    match attribute.type:
        case ir.AttributeType.STRING:
            return [attribute.value]
        case ir.AttributeType.STRINGS:
            return list(attribute.value)
        case ir.AttributeType.TENSOR:
            return _tensor_items(attribute.value)
    return []


def _tensor_items(tensor: ir.TensorProtocol | None) -> Iterable[Any]:
    return list(tensor.numpy().ravel()) if tensor is not None and tensor.dtype == ir.DataType.STRING else []


def _is_text(items: Iterable[Any]) -> bool:
    try:
        for item in items:
            item.decode() if isinstance(item, bytes) else str(item).encode()
    except UnicodeError:
        return False
    return True
