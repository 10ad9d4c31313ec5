"""Maps, for which onnx_ir has no type: a value that is one has no type but this in its ``meta``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import onnx
import onnx_ir as ir

__all__ = ["MapType", "from_proto", "is_map", "map_type", "to_proto"]

_META = "trueport.map_type"


@dataclass(frozen=True)
class MapType:
    """``map(key, tensor(value))``, or a sequence of such maps."""

    key: ir.DataType
    value: ir.DataType
    in_sequence: bool


def map_type(value: ir.Value) -> MapType | None:
    """What kind of map a value is, None if it is none."""
    found = value.meta.get(_META)
    return found if isinstance(found, MapType) else None


def is_map(proto: onnx.TypeProto) -> bool:
    """Whether a type is one that onnx_ir lacks."""
    return _map_type(proto) is not None


def from_proto(model: onnx.ModelProto) -> ir.Model:
    """``onnx_ir.from_proto`` for models whose graph has maps as inputs, outputs or inner values."""
    graph = model.graph
    maps = {info.name: kind for info in _infos(graph) if (kind := _map_type(info.type)) is not None}
    if not maps:
        return ir.from_proto(model)
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    for info in _infos(plain.graph):
        if info.name in maps:
            info.ClearField("type")
    loaded = ir.from_proto(plain)
    for value in (*loaded.graph.inputs, *(output for node in loaded.graph for output in node.outputs)):
        if value.name in maps:
            value.meta[_META] = maps[value.name]
    return loaded


def to_proto(model: ir.Model) -> onnx.ModelProto:
    """The inverse of :func:`from_proto`."""
    proto = ir.to_proto(model)
    graph = model.graph
    for infos, values in ((proto.graph.input, graph.inputs), (proto.graph.output, graph.outputs)):
        for info, value in zip(infos, values, strict=True):
            if (kind := map_type(value)) is not None:
                info.type.CopyFrom(_type_proto(kind))
    return proto


def _infos(graph: onnx.GraphProto) -> Iterable[onnx.ValueInfoProto]:
    yield from graph.input
    yield from graph.output
    yield from graph.value_info


def _map_type(proto: onnx.TypeProto) -> MapType | None:
    in_sequence = proto.HasField("sequence_type")
    inner = proto.sequence_type.elem_type if in_sequence else proto
    if not inner.HasField("map_type"):
        return None
    mapping = inner.map_type
    return MapType(ir.DataType(mapping.key_type), ir.DataType(mapping.value_type.tensor_type.elem_type), in_sequence)


def _type_proto(kind: MapType) -> onnx.TypeProto:
    tensor = onnx.helper.make_tensor_type_proto(kind.value, [])
    proto = onnx.helper.make_map_type_proto(kind.key, tensor)
    return onnx.helper.make_sequence_type_proto(proto) if kind.in_sequence else proto
