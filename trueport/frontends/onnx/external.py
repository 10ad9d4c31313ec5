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
    for tensor in _external_tensors(proto.graph):
        if base_dir is None:
            raise InvalidModel(
                f"tensor {tensor.name!r} lies in an external file, and a model in memory has no folder",
                where=where,
                remedy="pass the file's path, or load it with onnx.load(path), which reads external data",
            )
        _check_tensor(tensor, base_dir, where)


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


def _check_tensor(tensor: onnx.TensorProto, base_dir: Path, where: str) -> None:
    info = ExternalDataInfo(tensor)
    location = Path(info.location)
    at = f"{where}, tensor {tensor.name!r}"
    file = base_dir / location
    if not info.location or location.is_absolute() or not file.resolve().is_relative_to(base_dir.resolve()):
        raise InvalidModel(
            f"its external data {info.location!r} leads out of the model's folder",
            where=at,
            remedy="keep external data beside the model and name it by a relative path",
        )
    if not file.is_file():
        raise InvalidModel(
            f"its external data file {info.location!r} is missing",
            where=at,
            remedy=f"put it into {base_dir}",
        )
    end = (info.offset or 0) + (info.length or 0)
    if file.stat().st_size < end:
        raise InvalidModel(
            f"its external data file {info.location!r} has {file.stat().st_size} bytes, {end} are needed",
            where=at,
            remedy="the file is cut short; fetch it again",
        )
