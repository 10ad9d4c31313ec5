"""Element types: values that pass through a narrower type on the way."""

from __future__ import annotations

import functools

import numpy as np
import onnx
from onnx import helper

from bench.faults.strangers.kind import Change, Collector
from bench.faults.strangers.site import FLOATS, INTEGERS, Site

__all__ = ["KINDS"]

_collect = Collector()
_T = onnx.TensorProto
_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"})


def _round_trip(site: Site, of: frozenset[int], to: int, words: tuple[str, ...], operands: str) -> Change | None:
    """Cast an operand to a narrower type and back; ``operands``: 'one' or 'all'."""
    slots = []
    for slot in range(len(site.node.input)):
        tensor = site.input(slot)
        if (
            tensor is not None
            and tensor.dtype in of
            and tensor.dtype != to
            and (operands == "all" or site.constant(slot) is None)
        ):
            slots.append((slot, tensor.dtype))
    if not slots:
        return None
    for slot, dtype in slots if operands == "all" else [site.pick(slots)]:
        site.before(slot, "Cast", to=to)
        site.before(slot, "Cast", to=dtype)
    return Change(f"operands pass through {_T.DataType.Name(to).lower()}", (*words, r"\bprecision", r"\bcast\b"))


_WIDE = frozenset({_T.INT64})
for _name, _operators, _of, _to, _words, _operands in (
    ("through_float16", None, FLOATS, _T.FLOAT16, (r"float16", r"\bhalf\b", r"\bfp16"), "one"),
    ("through_bfloat16", None, FLOATS, _T.BFLOAT16, (r"bfloat16", r"\bbf16"), "one"),
    ("through_float32", None, frozenset({_T.DOUBLE}), _T.FLOAT, (r"float32", r"\bsingle\b"), "all"),
    ("through_int32", None, _WIDE, _T.INT32, (r"int32", r"\b32.bit", r"\boverflow", r"\bwrap"), "one"),
    ("integers_through_float32", None, _WIDE, _T.FLOAT, (r"float32", r"\bfloat\b", r"2\*\*24"), "one"),
    (
        "through_int8",
        None,
        INTEGERS - {_T.INT8, _T.UINT8},
        _T.INT8,
        (r"int8", r"\b8.bit", r"\boverflow", r"\bwrap"),
        "one",
    ),
    ("floats_through_int32", None, FLOATS, _T.INT32, (r"int32", r"\binteger", r"\btruncat", r"\bfraction"), "one"),
    ("product_in_bfloat16", _PRODUCTS, FLOATS, _T.BFLOAT16, (r"bfloat16", r"\bbf16"), "all"),
    ("product_in_float16", _PRODUCTS, FLOATS, _T.FLOAT16, (r"float16", r"\bhalf\b", r"\bfp16"), "all"),
):
    _edit = functools.partial(_round_trip, of=_of, to=_to, words=_words, operands=_operands)
    _collect.add(_name, _operators, _edit)


@_collect("cast_rounds", {"Cast"})
def round_before_cast(site: Site) -> Change | None:
    """Round to the nearest integer where Cast truncates."""
    tensor = site.input(0)
    if tensor is None or tensor.dtype not in FLOATS or site.attribute("to") not in INTEGERS:
        return None
    site.before(0, "Round")
    return Change(
        "rounded in place of truncated", (r"\bround(s|ed|ing)? (half|to|instead)", r"\btruncat", r"\bnearest")
    )


@_collect("cast_saturates", {"Cast"})
def saturate_before_cast(site: Site) -> Change | None:
    """Saturate integers that wrap around when they are cast to a narrower type."""
    tensor, to = site.input(0), site.attribute("to")
    if tensor is None or tensor.dtype not in INTEGERS or to not in INTEGERS:
        return None
    wide, narrow = (np.iinfo(helper.tensor_dtype_to_np_dtype(dtype)) for dtype in (tensor.dtype, to))
    bounds = [np.asarray(value, wide.dtype) for value in (max(wide.min, narrow.min), min(wide.max, narrow.max))]
    site.before(0, "Clip", *(site.add_constant(bound) for bound in bounds))
    return Change("out of range is saturated", (r"\bsaturat", r"\bwrap", r"\bclamp", r"\bclip", r"\boverflow"))


@_collect("cast_to_bool_first", {"Cast"})
def cast_to_bool(site: Site) -> Change | None:
    """Read numbers as true and false."""
    tensor = site.input(0)
    if tensor is None or tensor.dtype == _T.BOOL or tensor.dtype == _T.STRING:
        return None
    site.before(0, "Cast", to=_T.BOOL)
    return Change("numbers pass through bool", (r"\bbool", r"\bcast\b", r"\btruth"))


@_collect("activations_fake_quantized", {"MatMul", "Conv", "Gemm", "Relu", "Add", "Mul"})
def quantize_operand(site: Site) -> Change | None:
    """Quantize an operand to 8 bits, with a range of [-4, 4], and back."""
    tensor = site.input(0)
    if tensor is None or tensor.dtype != _T.FLOAT or site.constant(0) is not None:
        return None
    scale, zero = site.add_constant(np.float32(4 / 127)), site.add_constant(np.int8(0))
    site.before(0, "QuantizeLinear", scale, zero)
    site.before(0, "DequantizeLinear", scale, zero)
    return Change(
        "an operand is quantized to int8",
        (r"\bint8", r"\bquanti[sz]", r"\b8.bit", r"\bclip", r"\bsaturat", r"\bprecision"),
    )


KINDS = _collect.kinds
