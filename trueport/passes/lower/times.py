"""Which opsets of ONNX's domains belong together, because one release of ONNX brought them."""

from __future__ import annotations

import onnx.helper

from trueport.ir.schemas import CANONICAL_OPSETS

__all__ = ["ir_version_of", "opset_with", "opsets_of_time"]

_ML = "ai.onnx.ml"


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
