"""Which opsets of ONNX's domains belong together, because one release of ONNX brought them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx.helper
import onnx_ir as ir

from trueport.ir.schemas import CANONICAL_OPSETS

__all__ = ["ir_version_of", "ir_version_with", "opset_with", "opsets_of_time"]

_ML = "ai.onnx.ml"
_IR_VERSIONS: Mapping[int, str] = {
    9: "FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ",
    10: "INT4 UINT4",
    11: "FLOAT4E2M1",
    12: "FLOAT8E8M0",
    13: "INT2 UINT2",
    14: "FLOAT6E2M3 FLOAT6E3M2",
}
"""By version of the file format: the element types that came with it."""


def opsets_of_time(opset: int) -> dict[str, int]:
    """The opsets of ONNX's domains in the release that brought an opset of its main one."""
    found = [ml for _, _, main, ml, *_ in onnx.helper.VERSION_TABLE if main <= opset]
    return {"": opset, _ML: max(found, default=CANONICAL_OPSETS[_ML])}


def opset_with(domain: str, version: int) -> int:
    """The first opset of the main domain that came with a version of another."""
    if not domain:
        return version
    opsets = range(1, CANONICAL_OPSETS[""] + 1)
    return next((opset for opset in opsets if opsets_of_time(opset)[domain] >= version), CANONICAL_OPSETS[""])


def ir_version_of(opset: int) -> int:
    """The version of the file format that a release with this opset wrote."""
    return onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)], ignore_unknown=True)


def ir_version_with(dtype: ir.DataType | None) -> int:
    """The first version of the file format that has an element type; 0 for the types that it always had."""
    name = None if dtype is None else dtype.name
    return next((version for version, types in _IR_VERSIONS.items() if name in types.split()), 0)
