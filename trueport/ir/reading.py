"""An .onnx file as ONNX's own message; what is none is refused in words."""

from __future__ import annotations

from pathlib import Path

import google.protobuf.message
import onnx

from trueport.errors import InvalidModel
from trueport.ir.external import embed_external_data, external_tensors, locate_external_data
from trueport.ir.files import check_regular
from trueport.ir.functions import check_functions
from trueport.quoting import plain_text

__all__ = ["read_located", "read_proto", "read_whole"]


def read_proto(path: Path) -> onnx.ModelProto:
    """Without the weights that lie in files of their own."""
    check_regular(path)
    if path.stat().st_size == 0:
        raise InvalidModel("the file is empty", where=str(path), remedy="fetch or export it again")
    try:
        proto = onnx.load(path, load_external_data=False)
    except (google.protobuf.message.DecodeError, UnicodeDecodeError) as error:
        raise InvalidModel(
            f"is not an ONNX model, or is cut short ({plain_text(error)})",
            where=str(path),
            remedy="fetch or export it again and compare its size or checksum with the original",
        ) from error
    check_functions(proto, str(path))
    return proto


def read_located(path: Path) -> tuple[onnx.ModelProto, Path]:
    """Return a model without the weights in files of their own, and the folder that their locations are relative to."""
    proto = read_proto(path)
    data = locate_external_data(proto, path, str(path))
    data.rename_in(proto)
    return proto, data.folder


def read_whole(path: Path) -> onnx.ModelProto:
    """Return a model with all of its weights."""
    proto, folder = read_located(path)
    embed_external_data(external_tensors(proto), folder)
    return proto
