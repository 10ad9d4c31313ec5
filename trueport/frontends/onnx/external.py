"""External data: every file a model points to must be inside its own folder, be there, and be long enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo

from trueport.errors import InvalidModel

__all__ = ["check_external_data"]


def check_external_data(proto: onnx.ModelProto, base_dir: Path | None, where: str) -> None:
    """Refuse a model whose external tensors are out of reach or out of its folder."""
    sizes: dict[str, int] = {}
    for tensor in _external_tensors(proto.graph):
        if base_dir is None:
            raise InvalidModel(
                f"tensor {tensor.name!r} lies in an external file, and a model in memory has no folder",
                where=where,
                remedy="pass the file's path, or load it with onnx.load(path), which reads external data",
            )
        info = ExternalDataInfo(tensor)
        at = f"{where}, tensor {tensor.name!r}"
        if info.location not in sizes:
            sizes[info.location] = _size(info.location, base_dir, at)
        _check_end(info, sizes[info.location], at)


def _external_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    for tensor in graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            yield tensor
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.t.data_location == onnx.TensorProto.EXTERNAL:
                yield attribute.t
            for subgraph in (attribute.g, *attribute.graphs):
                yield from _external_tensors(subgraph)


def _size(name: str, base_dir: Path, at: str) -> int:
    """Bytes of a file that external data may lie in."""
    location = Path(name)
    file = base_dir / location
    if not name or location.is_absolute() or not file.resolve().is_relative_to(base_dir.resolve()):
        raise InvalidModel(
            f"its external data {name!r} leads out of the model's folder",
            where=at,
            remedy="keep external data beside the model and name it by a relative path",
        )
    if not file.is_file():
        raise InvalidModel(
            f"its external data file {name!r} is missing",
            where=at,
            remedy=f"put it into {base_dir}",
        )
    return file.stat().st_size


def _check_end(info: ExternalDataInfo, size: int, at: str) -> None:
    end = (info.offset or 0) + (info.length or 0)
    if size < end:
        raise InvalidModel(
            f"its external data file {info.location!r} has {size} bytes, {end} are needed",
            where=at,
            remedy="the file is cut short; fetch it again",
        )
