"""Quantization: scales, zero points, their channels, what happens out of range."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from bench.faults.strangers.kind import Change, Collector, name_formal
from bench.faults.strangers.schemas import schemas
from bench.faults.strangers.site import INTEGERS, Site

__all__ = ["KINDS"]

_collect = Collector()
_SCALED = frozenset(
    schema.name for schema in schemas() if any("scale" in item.name for item in schema.inputs)
) & frozenset(["QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul"])
_OFFSET = frozenset(schema.name for schema in schemas() if any("zero_point" in item.name for item in schema.inputs))


def _operands(site: Site, word: str) -> list[tuple[int, np.ndarray]]:
    """Return constant operands whose formal name has the word."""
    return [(slot, array) for slot, array in site.constants() if word in site.formal(slot)]


def _facets(site: Site, slot: int, *words: str) -> tuple[str, ...]:
    return (*name_formal(site.formal(slot), ()), *words)


@_collect("zero_point_off_by_one", _OFFSET)
def shift_zero_point(site: Site) -> Change | None:
    chosen = site.pick(_operands(site, "zero_point"))
    if chosen is None:
        return None
    slot, array = chosen
    new = np.array(array)
    low, high = _limits(array)
    at = int(site.rng.integers(max(1, new.size)))
    value = int(new.reshape(-1)[at])
    new.reshape(-1)[at] = value + 1 if value < high else value - 1
    if value == low == high:
        return None
    site.set_constant(slot, new)
    return Change(f"{site.formal(slot)} is off by one", _facets(site, slot, r"zero.?point", r"\boffset"))


@_collect("zero_point_dropped", _OFFSET)
def drop_zero_point(site: Site) -> Change | None:
    """Take zero as zero point, as symmetric schemes do."""
    chosen = site.pick([(slot, a) for slot, a in _operands(site, "zero_point") if np.any(a.astype(np.int64))])
    if chosen is None:
        return None
    slot, array = chosen
    site.set_constant(slot, np.zeros_like(array))
    return Change(f"{site.formal(slot)} is zero", _facets(site, slot, r"zero.?point", r"\boffset", r"\bsymmetric"))


@_collect("quantization_scale_changed", _SCALED)
def change_scale(site: Site) -> Change | None:
    chosen = site.pick(_operands(site, "scale"))
    if chosen is None:
        return None
    slot, array = chosen
    factor = site.pick([0.9, 255 / 256, 1.05, 2.0])
    site.set_constant(slot, (array * factor).astype(array.dtype))
    return Change(f"{site.formal(slot)} x {factor}", _facets(site, slot, r"\bscale"))


@_collect("channel_scales_reordered", _SCALED)
def reorder_scales(site: Site) -> Change | None:
    chosen = site.pick([(slot, a) for slot, a in _operands(site, "scale") if a.size > 1 and np.unique(a).size > 1])
    if chosen is None:
        return None
    slot, array = chosen
    site.set_constant(slot, array[::-1])
    return Change(
        f"{site.formal(slot)} in reverse order", _facets(site, slot, r"\bscale", r"\bchannel", r"\bperm", r"\border")
    )


@_collect("channel_scales_averaged", _SCALED)
def average_scales(site: Site) -> Change | None:
    """Use one scale for all channels."""
    chosen = site.pick([(slot, a) for slot, a in _operands(site, "scale") if a.size > 1 and np.unique(a).size > 1])
    if chosen is None:
        return None
    slot, array = chosen
    site.set_constant(slot, np.full_like(array, array.mean()))
    return Change(
        f"{site.formal(slot)} is the same for all", _facets(site, slot, r"\bscale", r"\bchannel", r"per.tensor")
    )


@_collect("quantized_without_saturation", {"QuantizeLinear"})
def wrap_around(site: Site) -> Change | None:
    """Let what is out of range wrap around."""
    scale, zero, tensor = site.constant(1), site.constant(2), site.input(0)
    if scale is None or zero is None or scale.size != 1 or tensor is None or zero.dtype not in (np.int8, np.uint8):
        return None
    number = helper.tensor_dtype_to_np_dtype(tensor.dtype)
    ratio = site.insert("Div", [site.node.input[0], site.add_constant(scale.astype(number))])
    shifted = site.insert("Add", [site.insert("Round", [ratio]), site.add_constant(zero.astype(number))])
    wide = site.insert("Cast", [shifted], to=onnx.TensorProto.INT32)
    to = helper.np_dtype_to_tensor_dtype(zero.dtype)
    site.become("Cast", [wide], to=to)
    return Change("values out of range wrap around", (r"\bsaturat", r"\bwrap", r"\bclamp", r"\bclip", r"\boverflow"))


@_collect("quantized_by_truncation", {"QuantizeLinear"})
def truncate(site: Site) -> Change | None:
    """Truncate in place of rounding to even."""
    scale, tensor = site.constant(1), site.input(0)
    if scale is None or scale.size != 1 or tensor is None:
        return None
    number = scale.astype(helper.tensor_dtype_to_np_dtype(tensor.dtype))
    ratio = site.insert("Div", [site.node.input[0], site.add_constant(number)])
    whole = site.insert("Mul", [site.insert("Floor", [ratio]), site.add_constant(number)])
    site.node.input[0] = whole
    return Change(
        "rounded down in place of to even", (r"\bround(s|ed)? (half|down|up|to)", r"\btruncat", r"\bfloor", r"\btie")
    )


@_collect("quantized_range_narrowed", {"QuantizeLinear"})
def narrow_range(site: Site) -> Change | None:
    """Leave the lowest and highest levels unused: seven bits in place of eight."""
    tensor = site.output()
    if tensor is None or tensor.dtype not in INTEGERS:
        return None
    dtype = helper.tensor_dtype_to_np_dtype(tensor.dtype)
    low, high = _limits(np.zeros(1, dtype))
    quarter = (high - low + 1) // 4
    bounds = [site.add_constant(np.asarray(value, dtype)) for value in (low + quarter, high - quarter)]
    site.after("Clip", *bounds)
    return Change("levels are clipped to seven bits", (r"\bsaturat", r"\bclip", r"\bclamp", r"\brange", r"\bbits?\b"))


@_collect(
    "integer_weight_entry_changed", {"MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul", "DequantizeLinear"}
)
def change_integer_weight(site: Site) -> Change | None:
    chosen = site.pick([(slot, a) for slot, a in site.constants() if a.size > 4 and a.dtype in (np.int8, np.uint8)])
    if chosen is None:
        return None
    slot, array = chosen
    new = np.array(array)
    flat = new.reshape(-1)
    at = int(site.rng.integers(flat.size))
    flat[at] = -flat[at] if array.dtype == np.int8 and flat[at] not in (0, -128) else flat[at] ^ 0x10
    site.set_constant(slot, new)
    return Change(
        "one quantized weight differs", _facets(site, slot, r"\bweight", r"\bkernel", r"\bconstant", r"\boperand")
    )


def _limits(array: np.ndarray) -> tuple[int, int]:
    try:
        info = np.iinfo(array.dtype)
    except ValueError:  # 4-bit types are not NumPy's own
        return (-8, 7) if "uint" not in str(array.dtype) else (0, 15)
    return int(info.min), int(info.max)


KINDS = _collect.kinds
