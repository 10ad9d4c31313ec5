"""The contract of a model's border: what each ONNX input or output is called and made of in the target.

A target signature holds plain tensors with plain names. A port says how an ONNX value stands in it:

    tensor              x                                  the tensor itself
    pair                x                                  a complex tensor; ONNX's has a last axis of two real numbers
    sequence            x__values x__shapes x__ranks       elements raveled and joined, their dims joined, their ranks
    optional            like a sequence of none or one
    optional_sequence   x__present + the three of a sequence
    map                 x__keys x__values                  two vectors
    sequence_map        x__keys x__values                  one vector of keys, one row of values per element

Element types that the target does not have travel as their bits in a declared container (`CONTAINERS`).
The same contract serves the writer, which stores it in the artifact, and the runtime, which reads it back.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
import onnx_ir as ir

from trueport.errors import ConversionError, InvalidInput
from trueport.ir.dtypes import numpy_dtype
from trueport.ir.maps import map_type

__all__ = ["CONTAINERS", "Dims", "Kind", "Port", "identifier", "make_ports", "natural_order", "pack", "unpack"]

Dims = tuple[int | str | None, ...]
"""A shape: sizes, names of dynamic dims, None where nothing is known."""
Kind = Literal["tensor", "pair", "sequence", "optional", "optional_sequence", "map", "sequence_map"]

CONTAINERS: Mapping[ir.DataType, ir.DataType] = {
    ir.DataType.FLOAT8E8M0: ir.DataType.UINT8,
    ir.DataType.FLOAT6E2M3: ir.DataType.UINT8,
    ir.DataType.FLOAT6E3M2: ir.DataType.UINT8,
    ir.DataType.FLOAT4E2M1: ir.DataType.UINT8,
    ir.DataType.FLOAT8E4M3FNUZ: ir.DataType.UINT8,
    ir.DataType.FLOAT8E5M2FNUZ: ir.DataType.UINT8,
    ir.DataType.INT2: ir.DataType.UINT8,
    ir.DataType.UINT2: ir.DataType.UINT8,
}
"""Element types without a TensorFlow type, or with a type that not one kernel takes (no Cast, no Bitcast, no
Transpose: nothing could be done with a tensor of it), and the integers that carry their bits in the low places."""

_SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "tensor": ("",),
    "pair": ("",),
    "sequence": ("__values", "__shapes", "__ranks"),
    "optional": ("__values", "__shapes", "__ranks"),
    "optional_sequence": ("__present", "__values", "__shapes", "__ranks"),
    "map": ("__keys", "__values"),
    "sequence_map": ("__keys", "__values"),
}


@dataclass(frozen=True)
class Port:
    """One input or output: its ONNX name and type, and the target's names for its parts."""

    name: str
    kind: Kind
    dtype: str
    """name of the element type (of the values, for a map)"""
    shape: tuple[int | str | None, ...] | None
    """dims of a tensor: a number, the symbol's name, or None; None for unknown rank and for other kinds"""
    parts: tuple[str, ...]
    key_dtype: str | None = None

    @property
    def element(self) -> ir.DataType:
        return ir.DataType[self.dtype]

    @property
    def renamed(self) -> bool:
        return self.kind == "tensor" and self.parts[0] != self.name

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Port:
        shape = None if data["shape"] is None else tuple(data["shape"])
        return cls(**{**data, "shape": shape, "parts": tuple(data["parts"])})


def make_ports(values: Iterable[ir.Value]) -> tuple[Port, ...]:
    """Ports for a graph's inputs or outputs, their parts named uniquely in the target's alphabet."""
    taken: set[str] = set()
    ports = []
    for value in values:
        kind, dtype, key = _kind(value)
        base = identifier(value.name or "value")
        while any(base + suffix in taken for suffix in _SUFFIXES[kind]):
            base += "_"
        parts = tuple(base + suffix for suffix in _SUFFIXES[kind])
        taken.update(parts)
        shape = _dims(value) if kind == "tensor" else None
        ports.append(Port(value.name or base, kind, dtype.name, shape, parts, key.name if key else None))
    return tuple(ports)


def identifier(name: str) -> str:
    """A name that both Python and TensorFlow take as an argument's."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not plain or plain[0].isdigit() or plain[0] == "_":
        plain = "x" + plain if plain and plain[0] == "_" else "x_" + plain
    return plain + "_" if keyword.iskeyword(plain) or plain == "self" else plain


def _dims(value: ir.Value) -> tuple[int | str | None, ...] | None:
    if value.shape is None:
        return None
    return tuple(_dim(dim if isinstance(dim, int) else dim.value) for dim in value.shape)


def _dim(dim: int | str | None) -> int | str | None:
    """Some exporters write -1 for a dim that is not known."""
    return None if isinstance(dim, int) and dim < 0 else dim


def _kind(value: ir.Value) -> tuple[Kind, ir.DataType, ir.DataType | None]:
    if mapping := map_type(value):
        return "sequence_map" if mapping.in_sequence else "map", mapping.value, mapping.key
    match value.type:
        case ir.TensorType(dtype=dtype) | ir.SparseTensorType(dtype=dtype):
            return "tensor", dtype, None
        case ir.SequenceType(elem_type=ir.TensorType(dtype=dtype)):
            return "sequence", dtype, None
        case ir.OptionalType(elem_type=ir.TensorType(dtype=dtype)):
            return "optional", dtype, None
        case ir.OptionalType(elem_type=ir.SequenceType(elem_type=ir.TensorType(dtype=dtype))):
            return "optional_sequence", dtype, None
    raise ConversionError(
        f"has type {value.type}, which has no form at a target's border",
        where=f"{value.name!r}",
        remedy="cut the graph before it with trueport.surgery, or cast it to a tensor",
    )


def pack(port: Port, value: Any) -> dict[str, np.ndarray]:
    """A value as ONNX's Python users pass it (array, list, dict, None) as the target's plain tensors."""
    if port.kind == "tensor":
        return {port.parts[0]: _bits(port, value)}
    if port.kind == "pair":
        parts = np.ascontiguousarray(_bits(port, value))
        return {port.parts[0]: parts.view(np.result_type(parts.dtype, np.complex64))[..., 0]}
    if port.kind in ("map", "sequence_map"):
        return _pack_map(port, value)
    if port.kind == "optional":
        elements: Sequence[Any] = [] if value is None else [value]
    else:
        elements = [] if value is None else list(value)
    packed = _pack_list(port, elements)
    if port.kind == "optional_sequence":
        return dict(zip(port.parts, (np.array(value is not None), *packed), strict=True))
    return dict(zip(port.parts, packed, strict=True))


def unpack(port: Port, parts: Mapping[str, np.ndarray]) -> Any:
    """The inverse of :func:`pack`."""
    arrays = [np.asarray(parts[name]) for name in port.parts]
    match port.kind:
        case "tensor":
            return _from_bits(port, arrays[0])
        case "pair":
            return np.stack([arrays[0].real, arrays[0].imag], axis=-1)
        case "map" | "sequence_map":
            return _unpack_map(port, *arrays)
        case "optional_sequence":
            return _unpack_list(port, *arrays[1:]) if arrays[0] else None
        case "optional":
            elements = _unpack_list(port, *arrays)
            return elements[0] if elements else None
        case _:
            return _unpack_list(port, *arrays)


def _bits(port: Port, value: Any) -> np.ndarray:
    if port.element == ir.DataType.STRING:
        return _encode(np.asarray(value, dtype=object))
    array = np.asarray(value)
    want = numpy_dtype(port.element)
    if array.dtype != want:
        raise InvalidInput(
            f"has dtype {array.dtype}, the model takes {want}",
            where=f"input {port.name!r}",
            remedy=f"pass it as .astype({str(want)!r})",
        )
    container = CONTAINERS.get(port.element)
    return array.view(numpy_dtype(container)) if container else array


def _from_bits(port: Port, array: np.ndarray) -> np.ndarray:
    if port.element == ir.DataType.STRING:
        return _decode(array)
    return array.view(numpy_dtype(port.element)) if port.element in CONTAINERS else array


def _encode(array: np.ndarray) -> np.ndarray:
    encoded = [item if isinstance(item, bytes) else str(item).encode() for item in array.ravel()]
    return np.array(encoded, dtype=object).reshape(array.shape)


def _decode(array: np.ndarray) -> np.ndarray:
    decoded = np.empty(array.shape, dtype=object)
    for index, item in np.ndenumerate(array):
        decoded[index] = item.decode(errors="surrogateescape") if isinstance(item, bytes) else item
    return decoded


def _pack_list(port: Port, elements: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arrays = [_bits(port, element) for element in elements]
    dtype = numpy_dtype(CONTAINERS.get(port.element, port.element))
    values = np.concatenate([np.zeros(0, dtype), *(array.ravel() for array in arrays)]).astype(dtype)
    shapes = np.array([dim for array in arrays for dim in array.shape], np.int64)
    return values, shapes, np.array([array.ndim for array in arrays], np.int64)


def _unpack_list(port: Port, values: np.ndarray, shapes: np.ndarray, ranks: np.ndarray) -> list[np.ndarray]:
    elements = []
    at = dims_at = 0
    for rank in ranks.tolist():
        shape = tuple(shapes[dims_at : dims_at + rank].tolist())
        size = int(np.prod(shape, dtype=np.int64))
        elements.append(_from_bits(port, values[at : at + size].reshape(shape)))
        at, dims_at = at + size, dims_at + rank
    return elements


def _pack_map(port: Port, value: Any) -> dict[str, np.ndarray]:
    rows = [value] if port.kind == "map" else list(value)
    keys = list(rows[0]) if rows else []
    if any(list(row) != keys for row in rows):
        raise InvalidInput(
            "the maps of one sequence must have the same keys in the same order",
            where=f"input {port.name!r}",
            remedy="give every map all keys, in one order",
        )
    table = np.array([[row[key] for key in keys] for row in rows], numpy_dtype(port.element))
    key_array = np.array(keys, numpy_dtype(ir.DataType[port.key_dtype or "STRING"]))
    encoded = _encode(key_array) if key_array.dtype == object else key_array
    return {port.parts[0]: encoded, port.parts[1]: table[0] if port.kind == "map" else table}


def _unpack_map(port: Port, keys: np.ndarray, values: np.ndarray) -> Any:
    names = (_decode(keys) if port.key_dtype == "STRING" else keys).tolist()
    if port.kind == "map":
        return dict(zip(names, values.tolist(), strict=True))
    return [dict(zip(names, row.tolist(), strict=True)) for row in values]


assert ml_dtypes  # numpy learns the narrow types by its import


def natural_order(name: str) -> list[Any]:
    """A key for sorting: output_10 comes after output_9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
