"""ONNX → IR: read a model from a file, a zip or memory, and refuse what is broken before anything else runs.

Weights in external files are memory-mapped, never copied here. Whatever is wrong with a file is an
:class:`InvalidModel` that says where, why and what to do.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import onnx
import onnx.checker
import onnx.shape_inference
import onnx_ir as ir

from trueport.consent.archives import check_members
from trueport.errors import InvalidModel, WriteFailed
from trueport.frontends.onnx.describe import note_left_out
from trueport.frontends.onnx.dialect import rehome_runtime_operators
from trueport.frontends.onnx.sparse import densified
from trueport.frontends.onnx.unpack import folder_until_exit
from trueport.ir.external import check_external_data, locate_external_data
from trueport.ir.files import check_regular
from trueport.ir.maps import from_proto
from trueport.ir.reading import read_proto
from trueport.ir.schemas import CANONICAL_OPSETS, EXPERIMENTAL_OPERATORS, canonical_schema, schema_at
from trueport.ir.skeleton import skeleton
from trueport.quoting import one_line

__all__ = ["OnnxSource", "load_onnx", "unpacked"]

_REDEFINED = "trueport.redefined"

OnnxSource = str | os.PathLike[str] | onnx.ModelProto | ir.Model


def load_onnx(source: OnnxSource) -> ir.Model:
    """The model as IR, checked. The caller owns it: passes may change it in place."""
    if isinstance(source, ir.Model):
        return _copied(source)
    if isinstance(source, onnx.ModelProto):
        return _from_proto(source, None, where="the model")
    return _from_file(unpacked(Path(source)))


def _copied(model: ir.Model) -> ir.Model:
    for graph in model.graphs():
        for name, value in graph.initializers.items():
            if value.const_value is None:
                raise InvalidModel(
                    f"the initializer {name!r} holds no data",
                    where="the model",
                    remedy="give it data (const_value), or make it an input of the graph",
                )
    try:
        return model.clone()
    except RuntimeError as error:
        raise InvalidModel(
            "a node uses a value that nothing makes before it",
            where="the model",
            remedy="model.graph.sort() puts the nodes in order; a value that no node makes must be an input or an "
            "initializer of the graph",
        ) from error


def unpacked(path: Path) -> Path:
    """The .onnx file: the path itself, or, from a zip, the one inside, laid out in a temporary folder.

    The folder is removed when the process ends: until then weights stay memory-mapped from it.
    """
    if not path.exists():
        raise InvalidModel("there is no such file", where=str(path))
    if path.is_dir():
        raise InvalidModel("is a folder, not an ONNX file", where=str(path), remedy="name the .onnx file inside it")
    check_regular(path)
    return _from_zip(path) if zipfile.is_zipfile(path) else path


def _from_file(path: Path) -> ir.Model:
    return _from_proto(read_proto(path), path, where=str(path))


def _from_zip(path: Path) -> Path:
    """A zip holds one .onnx file and, beside it, its external data."""
    try:
        with zipfile.ZipFile(path) as archive:
            models = [name for name in check_members(archive, str(path)) if name.endswith(".onnx")]
            broken = archive.testzip() if len(models) == 1 else None
            if broken is None and len(models) == 1:
                with folder_until_exit() as folder:
                    archive.extractall(folder)
                return folder / models[0]
    except zipfile.BadZipFile as error:
        raise InvalidModel(f"is a broken zip ({error})", where=str(path), remedy="fetch it again") from error
    except OSError as error:
        raise WriteFailed(
            f"cannot be unpacked: {error.strerror or error}",
            where=str(path),
            remedy="unpack it yourself and name the .onnx file, or set TMPDIR to a folder with enough space",
        ) from error
    if broken is not None:
        raise InvalidModel(f"checksum of {broken!r} is wrong", where=str(path), remedy="fetch the file again")
    raise InvalidModel(
        f"holds {len(models)} .onnx files, one is needed", where=str(path), remedy="unpack it and name the model"
    )


def _from_proto(proto: onnx.ModelProto, path: Path | None, where: str) -> ir.Model:
    if not proto.HasField("graph"):
        raise InvalidModel(
            "holds no graph: not an ONNX model, or cut short", where=where, remedy="export or fetch it again"
        )
    _check_opsets(proto, where)
    _check_names(proto, where)
    base_dir = _settle_external_data(proto, path, where)
    model = from_proto(densified(proto, base_dir or Path()))
    rehome_runtime_operators(model)
    _open_negative_dims(model)
    _sort(model, where)
    if base_dir is not None:
        ir.external_data.set_base_dir(model.graph, base_dir)
    _check(model, where)
    note_left_out(model, proto)
    return model


def _settle_external_data(proto: onnx.ModelProto, path: Path | None, where: str) -> Path | None:
    """Return the folder that the locations of external data are relative to; None if they are not."""
    if path is None:
        check_external_data(proto, where)
        return None
    data = locate_external_data(proto, path, where)
    # onnx_ir refuses hard links in a folder; it opens a file by its absolute path, which was checked here.
    data.rename_in(proto, absolute=data.has_hard_links)
    return None if data.has_hard_links else data.folder


def _check_opsets(proto: onnx.ModelProto, where: str) -> None:
    if not proto.opset_import:
        raise InvalidModel("imports no opset", where=where, remedy="set opset_import, as onnx.helper.make_model does")
    for opset in proto.opset_import:
        domain = "" if opset.domain == "ai.onnx" else opset.domain
        newest = CANONICAL_OPSETS.get(domain)
        if newest is not None and opset.version > newest:
            raise InvalidModel(
                f"imports opset {opset.version} of {opset.domain or 'ai.onnx'}; with the installed onnx "
                f"{onnx.__version__} opsets up to {newest} are read",
                where=where,
                remedy="install a newer onnx and trueport, or export the model at an older opset",
            )


def _open_negative_dims(model: ir.Model) -> None:
    """Some exporters write -1 for a dim that is not known; ONNX's word for it is no value."""
    for graph in model.graphs():
        made = (value for node in graph for value in node.outputs)
        for value in (*graph.inputs, *made):
            if value.shape is not None and any(isinstance(dim, int) and dim < 0 for dim in value.shape):
                value.shape = ir.Shape([None if isinstance(dim, int) and dim < 0 else dim for dim in value.shape])


def _sort(model: ir.Model, where: str) -> None:
    """Order the nodes; ONNX asks for it, and a graph that can't be ordered has a cycle."""
    for graph in model.graphs():
        try:
            graph.sort()
        except ValueError as error:
            raise InvalidModel(
                f"the graph {graph.name!r} has a cycle: a node depends on its own output",
                where=where,
                remedy="find the node with onnx.checker.check_model; loops belong in a Loop operator",
            ) from error


def _check_names(proto: onnx.ModelProto, where: str) -> None:
    """Each value is made once: by an input, an initializer or a node."""
    made = {value.name for value in proto.graph.input} | {tensor.name for tensor in proto.graph.initializer}
    for node in proto.graph.node:
        for name in filter(None, node.output):
            if name in made:
                raise InvalidModel(
                    f"the value {name!r} is made twice, the second time by node {node.name!r} ({node.op_type})",
                    where=where,
                    remedy="give every value a name of its own",
                )
            made.add(name)


def _with_ranks(bare: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which no input or output lacks a shape: runtimes take an unknown rank, only the checker does not."""
    proto: onnx.ModelProto = onnx.ModelProto.FromString(bare.SerializeToString())
    for value in (*proto.graph.input, *proto.graph.output):
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    _hide_redefined(proto.graph, {imported.domain: imported.version for imported in proto.opset_import})
    proto.opset_import.append(onnx.OperatorSetIdProto(domain=_REDEFINED, version=1))
    return proto


def _hide_redefined(graph: onnx.GraphProto, opsets: dict[str, int]) -> None:
    """What ONNX withdrew and defined anew (GroupNormalization), or had on trial, we upgrade; its checker refuses it."""
    for node in graph.node:
        for attribute in node.attribute:
            for subgraph in (attribute.g, *attribute.graphs):
                _hide_redefined(subgraph, opsets)
        old = schema_at(node.op_type, node.domain, opsets.get(node.domain, 0))
        newest = canonical_schema(node.op_type, node.domain)
        redefined = old and newest and old.deprecated and not newest.deprecated
        on_trial = not old and not node.domain and node.op_type in EXPERIMENTAL_OPERATORS
        if redefined or on_trial:
            node.domain = _REDEFINED


def _check(model: ir.Model, where: str) -> None:
    """ONNX's own checker, then its type inference: a node whose types its schema does not allow is refused."""
    bare = skeleton(model)
    try:
        onnx.checker.check_model(_with_ranks(bare))
        onnx.shape_inference.infer_shapes(bare, check_type=True, strict_mode=False)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        reason = one_line(str(error).split("\n\n==>")[0], 400)
        raise InvalidModel(
            f"ONNX's checker refuses it: {reason}",
            where=where,
            remedy="onnx.checker.check_model(model, full_check=True) shows the same",
        ) from error
