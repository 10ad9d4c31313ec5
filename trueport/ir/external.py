"""External data: every file a model references must be in its own folder, exist, and be long enough.

A model's folder is the one that its path names. If the path is a symbolic link, as in caches that keep all files in one
folder of blobs, the folder that the link leads to counts as well. A location is relative and never climbs out of that
folder by ``..``; where it leads through symbolic links is in one of the two folders, or deeper. Hard links are files
like any other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo

from trueport.errors import InvalidModel
from trueport.ir.files import kind_if_irregular

__all__ = ["DataFiles", "check_external_data", "embed_external_data", "external_tensors", "locate_external_data"]

_IN_MEMORY = "*/_ORT_MEM_ADDR_/*"
"""A location that ONNX Runtime takes for no file: the offset is a pointer."""


@dataclass(frozen=True)
class DataFiles:
    """The files that a model references, after all symbolic links."""

    folder: Path
    """one that holds them all, or deeper"""
    files: Mapping[str, Path]
    """by location, as the model has it"""

    @property
    def has_hard_links(self) -> bool:
        """True if one of them has other names as well; onnx and onnx_ir refuse to open such a file."""
        return any(file.stat().st_nlink > 1 for file in self.files.values())

    def rename_in(self, proto: onnx.ModelProto, *, absolute: bool = False) -> None:
        """Write the files' own paths into the model, relative to ``folder`` or absolute."""
        for tensor in external_tensors(proto):
            for entry in tensor.external_data:
                if entry.key == "location":
                    file = self.files[entry.value]
                    entry.value = str(file) if absolute else file.relative_to(self.folder).as_posix()


def locate_external_data(proto: onnx.ModelProto, path: Path, where: str) -> DataFiles:
    """Find the files that a model at ``path`` references; refuse what is out of its folder or too short."""
    folders = (path.absolute().parent.resolve(), path.resolve().parent)
    files: dict[str, Path] = {}
    for tensor in external_tensors(proto):
        info = _info(tensor, where)
        at = f"{where}, tensor {tensor.name!r}"
        if info.location not in files:
            files[info.location] = _file(info.location, folders, at)
        _check_end(info, files[info.location].stat().st_size, at)
    # The link's target first: in a cache of blobs, all files are there.
    for folder in reversed(folders):
        if all(file.is_relative_to(folder) for file in files.values()):
            return DataFiles(folder, files)
    raise InvalidModel(
        f"its external data files {', '.join(map(repr, files))} are in different folders",
        where=where,
        remedy="keep external data beside the model",
    )


def check_external_data(proto: onnx.ModelProto, where: str) -> None:
    """Refuse a model in memory that references files: it has no folder."""
    for tensor in external_tensors(proto):
        raise InvalidModel(
            f"tensor {tensor.name!r} lies in an external file, and a model in memory has no folder",
            where=where,
            remedy="pass the file's path, or load it with onnx.load(path), which reads external data",
        )


def embed_external_data(tensors: Iterable[onnx.TensorProto], folder: Path) -> None:
    """Read external tensors into the model; their locations are relative to ``folder`` and have been checked."""
    for tensor in tensors:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        info = ExternalDataInfo(tensor)
        with (folder / info.location).open("rb") as file:
            file.seek(info.offset or 0)
            tensor.raw_data = file.read(-1 if info.length is None else info.length)
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")


def external_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield all tensors of a model whose data is in files of its own: in subgraphs, functions and attributes too."""
    nodes = chain.from_iterable(function.node for function in proto.functions)
    for tensor in chain(_in_graph(proto.graph), _in_nodes(nodes)):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            yield tensor


def _in_graph(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    yield from _in_sparse(graph.sparse_initializer)
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            yield from _in_sparse([attribute.sparse_tensor, *attribute.sparse_tensors])
            for subgraph in (attribute.g, *attribute.graphs):
                yield from _in_graph(subgraph)


def _in_sparse(sparse: Iterable[onnx.SparseTensorProto]) -> Iterator[onnx.TensorProto]:
    for tensor in sparse:
        yield from (tensor.values, tensor.indices)


def _info(tensor: onnx.TensorProto, where: str) -> ExternalDataInfo:
    try:
        return ExternalDataInfo(tensor)
    except ValueError as error:
        raise InvalidModel(
            f"the offset or length of its external data is not a number >= 0 ({error})",
            where=f"{where}, tensor {tensor.name!r}",
            remedy="export the model again",
        ) from error


def _file(name: str, folders: tuple[Path, Path], at: str) -> Path:
    """Return the file that a location names, after all symbolic links."""
    found = next((folder / name for folder in folders if (folder / name).is_file()), folders[0] / name)
    inside = any(_is_within(found, folder) for folder in folders)
    if name.startswith(_IN_MEMORY):
        raise InvalidModel(
            f"its external data {name!r} is an address in memory to ONNX Runtime",
            where=at,
            remedy="keep external data beside the model and name it by a relative path",
        )
    if not name or os.path.isabs(name) or Path(os.path.normpath(name)).parts[:1] == ("..",) or not inside:
        raise InvalidModel(
            f"its external data {name!r} leads out of the model's folder",
            where=at,
            remedy="keep external data beside the model and name it by a relative path",
        )
    if kind := kind_if_irregular(found):
        raise InvalidModel(
            f"its external data {name!r} must be a regular file, got {kind}",
            where=at,
            remedy="copy its content to a file beside the model",
        )
    if not found.is_file():
        raise InvalidModel(
            f"its external data file {name!r} is missing",
            where=at,
            remedy=f"put it into {folders[0]}",
        )
    return found.resolve()


def _is_within(file: Path, folder: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):  # a link that leads to itself, or a name that is none
        return False


def _check_end(info: ExternalDataInfo, size: int, at: str) -> None:
    end = (info.offset or 0) + (info.length or 0)
    if not 0 <= (info.offset or 0) <= end <= size:
        raise InvalidModel(
            f"its external data file {info.location!r} has {size} bytes, {end} are needed",
            where=at,
            remedy="the file is cut short; fetch it again",
        )
