"""One TensorFlow operation as the registry and its handler see it: named, with attributes as Python values."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

import trueport
from trueport.errors import ConversionError
from trueport.formulas.texts import numpy_of
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.dtypes import COMPLEX_PARTS, is_tensor_type, onnx_type
from trueport.frontends.tensorflow.translate.values import Translated
from trueport.ir.places import place

__all__ = ["COMPLEX", "TF", "PartNode", "SourceNode", "attribute", "domain_of"]

_OURS = str(Path(trueport.__file__).parent)
_INSTALLED = ("site-packages", "dist-packages")

TF = "tf"
"""The domain under which TensorFlow's operators are declared."""
COMPLEX = "tf.complex"
"""The same operators where an input or an output is complex."""


@dataclass(frozen=True)
class SourceNode:
    """A ``tf.Operation`` with the values that its inputs were translated to."""

    operation: Any
    name: str
    inputs: Sequence[Translated]
    domain: str = TF
    outputs: Sequence[Any] = field(default=())
    """ONNX values are made by the handler; there are none yet"""

    @property
    def op_type(self) -> str:
        kind: str = self.operation.type
        return kind

    @functools.cached_property
    def attributes(self) -> Mapping[str, Any]:
        """All attributes of the operator's definition; the node's own private ones are left out."""
        given = self.operation.node_def.attr
        if any(given[a.name].WhichOneof("value") == "placeholder" for a in self.definition.attr if a.name in given):
            raise ConversionError(
                "an attribute is left open for the callers of its function to fill",
                where=place(self),
                remedy="save the model again with TensorFlow 2, which writes functions with all their attributes",
            )
        return {a.name: attribute(given[a.name]) for a in self.definition.attr if a.name in given}

    @functools.cached_property
    def definition(self) -> Any:
        """TensorFlow's OpDef, which it reads from bytes each time that it is asked."""
        return self.operation.op_def

    @property
    def location(self) -> str:
        """The user's line, or the layer, that made it."""
        return location_of(self.operation, self.name)

    def output_type(self, index: int) -> ir.DataType:
        """ONNX's element type of an output."""
        return onnx_type(self.operation.outputs[index].dtype)

    def output_shape(self, index: int) -> tuple[int | None, ...] | None:
        """What TensorFlow knows of an output's shape; None for an unknown rank."""
        shape = self.operation.outputs[index].shape
        return None if shape.rank is None else tuple(shape.as_list())


class PartNode(SourceNode):
    """The same operation on one part of its complex tensors: all types are those of the parts."""

    @functools.cached_property
    def attributes(self) -> Mapping[str, Any]:
        return {name: _part_type(value) for name, value in super().attributes.items()}

    def output_type(self, index: int) -> ir.DataType:
        found: ir.DataType = _part_type(super().output_type(index))
        return found


def _part_type(value: Any) -> Any:
    if isinstance(value, list):
        return [_part_type(item) for item in value]
    return COMPLEX_PARTS.get(value, value) if isinstance(value, ir.DataType) else value


def attribute(value: Any) -> Any:
    """An attribute: str, int, float, bool, ir.DataType, dims (None for unknown), array, function's name, or a list."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "list":
        items = value.list
        filled = next(
            (name for name in ("s", "i", "f", "b", "type", "shape", "tensor", "func") if getattr(items, name)), None
        )
        return [_plain(filled, item) for item in getattr(items, filled)] if filled else []
    return _plain(kind, getattr(value, kind))


def _plain(kind: str, value: Any) -> Any:
    match kind:
        case "s":
            return value.decode("utf-8", "surrogateescape")
        case "i" | "b" | "f":
            return value
        case "type":
            dtype = tf.as_dtype(value)
            return onnx_type(dtype) if is_tensor_type(dtype) else None
        case "shape":
            return None if value.unknown_rank else tuple(None if d.size < 0 else d.size for d in value.dim)
        case "tensor":
            return numpy_of(tf.make_ndarray(value))
        case "func":
            return value.name
    raise AssertionError(f"attributes of the kind {kind!r} are refused before")


def array_of(operation: Any) -> np.ndarray:
    """The value of a Const operation."""
    found: np.ndarray = attribute(operation.node_def.attr["value"])
    return found


def domain_of(operation: Any) -> str:
    """Under which an operation's mapping is found."""
    tensors = (*operation.inputs, *operation.outputs)
    return COMPLEX if any(tensor.dtype.is_complex for tensor in tensors) else TF


def location_of(operation: Any, name: str) -> str:
    """The innermost line of the user's code that was traced, else the layer by the scope in the operation's name."""
    inner: list[str] = []
    for frame in operation.traceback or ():
        if frame.filename.startswith(_OURS):
            # What stands before our own call is whoever asked for the conversion.
            inner.clear()
        elif frame.filename.startswith("/") and not any(part in frame.filename for part in _INSTALLED):
            inner.append(f"{frame.filename}:{frame.lineno}")
    scope = name.rpartition("/")[0]
    return inner[-1] if inner else f"layer {scope}" if scope else ""
