"""Quantization schemes. Scales, zero points and integers are carried bit for bit, so nothing here is a loss by itself:
the notes say which schemes a model uses, and where a runtime with integer kernels would round elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from trueport.checking.remarks import Severity
from trueport.checking.rules.base import Hit, Subject, rule
from trueport.ir.dtypes import NARROW_FLOATS, NARROW_INTEGERS
from trueport.operators.record import Trait
from trueport.operators.table import OPERATORS, facts_of, with_trait

__all__: list[str] = []

_D = ir.DataType
_QUANTIZE, _DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
_INTEGER_KERNELS = frozenset(known.name for known in OPERATORS.values() if known.integer_sum and not known.domain)
_SUMS = frozenset(known.name for known in with_trait(Trait.WEIGHTED))
_UNUSUAL = NARROW_FLOATS | NARROW_INTEGERS | {_D.INT16, _D.UINT16}
_WITHOUT_ZERO_POINT = NARROW_FLOATS | {_D.INT32}
_READ_AT_MOST = 1 << 16
"""bytes: scales and zero points are small, weights are never read"""
_SEVEN_BITS = 64
"""two products of 255 and such weights stay below 2¹⁵"""
_ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""scales are float32, and so is their product"""


@rule("per-axis-quantization", Severity.NOTE, "has a scale per channel; it is carried as it is")
def per_axis(subject: Subject) -> Iterator[Hit]:
    for node in _nodes(subject, _QUANTIZE, _DEQUANTIZE):
        scale = _dims(node, 1)
        if scale is not None and len(scale) == 1 and scale[0] != 1:
            yield Hit(node)


@rule("blocked-quantization", Severity.NOTE, "has a scale per block; it is carried as it is")
def blocked(subject: Subject) -> Iterator[Hit]:
    for node in _nodes(subject, _QUANTIZE, _DEQUANTIZE):
        if node.attributes.get_int("block_size", 0):
            yield Hit(node)


@rule(
    "asymmetric-weights",
    Severity.NOTE,
    "its weights have a zero point other than 0: carried as it is, but many integer kernels want symmetric weights",
    remedy="quantize weights symmetrically if the model shall run in integers later",
)
def asymmetric_weights(subject: Subject) -> Iterator[Hit]:
    for node in _nodes(subject, _DEQUANTIZE):
        zero_point = _known(node, 2)
        if _is_constant(node, 0) and zero_point is not None and zero_point.any():
            yield Hit(node)


@rule("narrow-quantization", Severity.NOTE, "uses a type that few kernels take: it is widened before arithmetic")
def narrow(subject: Subject) -> Iterator[Hit]:
    for node in _nodes(subject, _QUANTIZE, _DEQUANTIZE):
        held = node.outputs[0] if node.op_type == _QUANTIZE else node.inputs[0]
        if held is not None and held.dtype in _UNUSUAL:
            yield Hit(node, f"quantizes in {held.dtype.name}, which few kernels take: it is widened before arithmetic")


@rule(
    "bias-scale",
    Severity.NOTE,
    "its bias has another scale than input scale × weight scale: kept as it is, but kernels that add the bias to "
    "integer sums would round it anew",
    remedy="quantize the bias in int32 with that product as its scale",
)
def bias_scales(subject: Subject) -> Iterator[Hit]:
    for node in _nodes(subject, *_SUMS):
        data, weight, bias = (_scale(node, index) for index in range(3))
        if data is None or weight is None or bias is None:
            continue
        product = np.broadcast_to(data * weight, np.broadcast_shapes(data.shape, weight.shape, bias.shape))
        if not np.allclose(bias, product, rtol=_ROUNDING, atol=0):
            yield Hit(node)


@rule(
    "integer-zero-point",
    Severity.NOTE,
    "has a zero point other than 0 for a type that usually has none; the formula is carried as it is",
)
def integer_zero_points(subject: Subject) -> Iterator[Hit]:
    for node in _nodes(subject, _QUANTIZE, _DEQUANTIZE):
        zero_point, known = node.inputs[2] if len(node.inputs) > 2 else None, _known(node, 2)
        unusual = zero_point is not None and zero_point.dtype in _WITHOUT_ZERO_POINT
        if unusual and known is not None and known.astype(np.float32).any():
            yield Hit(node)


@rule(
    "unpaired-quantization",
    Severity.NOTE,
    "stands alone: no DequantizeLinear follows, or no QuantizeLinear comes before",
    remedy="place QuantizeLinear and DequantizeLinear in pairs, so that runtimes can find integer regions",
)
def unpaired(subject: Subject) -> Iterator[Hit]:
    for node in _nodes(subject, _QUANTIZE):
        users = [use.node.op_type for use in node.outputs[0].uses()]
        if users and not any(op == _DEQUANTIZE or op in _INTEGER_KERNELS for op in users):
            yield Hit(node)
    for node in _nodes(subject, _DEQUANTIZE):
        made = node.inputs[0].producer() if node.inputs[0] is not None else None
        if made is not None and made.op_type != _QUANTIZE and made.op_type not in _INTEGER_KERNELS:
            yield Hit(node)


@rule(
    "partial-quantization",
    Severity.NOTE,
    "its weights are dequantized, its data is not: the product is computed in floating point",
)
def partial(subject: Subject) -> Iterator[Hit]:
    for node in _nodes(subject, *_SUMS):
        if _dequantized(node, 1) and not _dequantized(node, 0):
            yield Hit(node)


@rule(
    "saturating-sums",
    Severity.WARNING,
    "multiplies 8-bit data by int8 weights: on x86 CPUs without VNNI, ONNX Runtime adds two such products in 16 bits "
    "and saturates, so its results depend on the CPU; a converted model computes the exact sums",
    remedy="quantize the weights as uint8, or with 7 bits (reduce_range=True)",
)
def saturating_sums(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes:
        summed = facts_of(node).integer_sum
        if summed is not None:
            data = _D.UINT8 if summed.data is None else _dtype(node, summed.data)
            weights = [_input(node, weight) for weight, _ in summed.weights]
        elif node.op_type in _SUMS and not node.domain:
            # ONNX Runtime's optimizer makes such a sum of dequantized operands, and moves int8 data to uint8.
            data, weights = _quantized_dtype(node, 0), [_quantized(node, 1)]
            data = _D.UINT8 if data == _D.INT8 else data
        else:
            continue
        if data == _D.UINT8 and any(_is_wide(weight) for weight in weights):
            yield Hit(node)


def _is_wide(weight: ir.Value | None) -> bool:
    """True for int8 weights of which two products with 255 may exceed 16 bits; those too large to read may."""
    if weight is None or weight.dtype != _D.INT8:
        return False
    tensor = weight.const_value
    if tensor is None or tensor.nbytes > _READ_AT_MOST:
        return True
    return bool(np.any(np.abs(np.asarray(tensor.numpy()).astype(np.int32)) > _SEVEN_BITS))


def _quantized(node: ir.Node, index: int) -> ir.Value | None:
    """Return what an input is dequantized from; None where it is not."""
    made = _maker(node, index)
    return made.inputs[0] if made is not None and made.op_type == _DEQUANTIZE else None


def _quantized_dtype(node: ir.Node, index: int) -> ir.DataType | None:
    value = _quantized(node, index)
    return None if value is None else value.dtype


def _input(node: ir.Node, index: int) -> ir.Value | None:
    return node.inputs[index] if index < len(node.inputs) else None


def _dtype(node: ir.Node, index: int) -> ir.DataType | None:
    value = _input(node, index)
    return None if value is None else value.dtype


def _nodes(subject: Subject, *ops: str) -> Iterator[ir.Node]:
    return (node for node in subject.nodes if node.op_type in ops and not node.domain)


def _maker(node: ir.Node, index: int) -> ir.Node | None:
    """What makes an input, behind transposes."""
    value = node.inputs[index] if index < len(node.inputs) else None
    made = None if value is None else value.producer()
    while made is not None and made.op_type == "Transpose":
        value = made.inputs[0]
        made = None if value is None else value.producer()
    return made


def _dequantized(node: ir.Node, index: int) -> bool:
    made = _maker(node, index)
    return made is not None and made.op_type == _DEQUANTIZE


def _scale(node: ir.Node, index: int) -> np.ndarray | None:
    """The scale with which an input was dequantized, where it is known."""
    made = _maker(node, index)
    return _known(made, 1) if made is not None and made.op_type == _DEQUANTIZE else None


def _is_constant(node: ir.Node, index: int) -> bool:
    value = node.inputs[index]
    return value is not None and value.const_value is not None


def _known(node: ir.Node, index: int) -> np.ndarray | None:
    value = node.inputs[index] if index < len(node.inputs) else None
    tensor = None if value is None else value.const_value
    return None if tensor is None or tensor.nbytes > _READ_AT_MOST else np.asarray(tensor.numpy())


def _dims(node: ir.Node, index: int) -> tuple[object, ...] | None:
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None:
        return None
    shape = value.const_value.shape if value.const_value is not None else value.shape
    return None if shape is None else tuple(shape)
