"""Linear quantization that is written out in arithmetic: QuantizeLinear and DequantizeLinear with the same parameters.

What is looked for is what a converted model holds: ``(x - zero_point) * scale`` on integers that are cast to floats,
and ``round(x / scale) + zero_point`` held to the range of an integer type. A scale that is a literal of the program,
like the 1/255 of an image's pixels, is a factor, not a parameter, and stays arithmetic.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.ir.dtypes import numpy_dtype
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import ints_of, is_constant, maker, orders, put, scalar_of
from trueport.passes.rewrite_rules import Rule, apply_rules

__all__ = ["QUANTIZATION", "recognize_quantization"]

_D = ir.DataType
_HALVES = (_D.FLOAT16, _D.BFLOAT16)
_INTEGERS = (_D.INT8, _D.UINT8, _D.INT16, _D.UINT16, _D.INT4, _D.UINT4)
_LARGEST = {_D.FLOAT8E4M3FN: 448.0, _D.FLOAT8E5M2: 57344.0}
_QUANTIZED = (*_INTEGERS, _D.INT32, *_LARGEST)


def recognize_quantization(model: ir.Model) -> int:
    """Replace the arithmetic by operators, in place; return how many.

    Before constants are folded: they are its parameters.
    """
    return apply_rules(model, QUANTIZATION, backward=True)


@dataclass(frozen=True)
class _Parameter:
    """A scale or zero point before it was laid over a tensor."""

    value: ir.Value
    axis: int | None = None
    block_size: int = 0


@dataclass(frozen=True)
class _Linear:
    """What a node computes if it is a linear quantization, or its inverse."""

    op: str
    root: ir.Node
    data: ir.Value
    scale: _Parameter
    dtype: ir.DataType
    """the quantized type"""
    offset: ir.Value | None

    @functools.cached_property
    def zero_point(self) -> ir.Value | np.ndarray | None:
        return _zero_point(self.offset, self.dtype, self.scale)


def _dequantized_halves(cast: ir.Node) -> Iterator[_Linear]:
    """Computed in float32, rounded to the scale's own type."""
    product = maker(cast.inputs[0], "Mul") if cast.outputs[0].dtype in _HALVES else None
    if product is not None and len(product.outputs[0].uses()) == 1:
        yield from _readings(product, cast)


def _dequantized(product: ir.Node) -> Iterator[_Linear]:
    yield from _readings(product, product)


def _readings(product: ir.Node, root: ir.Node) -> Iterator[_Linear]:
    for centred, factor in orders(product):
        scale = _scale(factor, root.outputs[0].dtype)
        if scale is None or product.outputs[0].dtype != _D.FLOAT:
            continue
        difference = maker(centred, "Sub")
        numbers = difference.inputs[0] if difference is not None else centred
        data = _uncast(numbers)
        if data is None or data.dtype is None or data.dtype not in _QUANTIZED:
            continue
        offset = difference.inputs[1] if difference is not None else None
        yield _Linear("DequantizeLinear", root, data, scale, data.dtype, offset)


def _quantized(cast: ir.Node) -> Iterator[_Linear]:
    dtype = cast.outputs[0].dtype
    if dtype is None or (dtype not in _INTEGERS and dtype not in _LARGEST):
        return
    shifted = _held_float(cast, _LARGEST[dtype]) if dtype in _LARGEST else _held_integer(_unencoded(cast), dtype)
    if shifted is None:
        return
    total = maker(shifted, "Add")
    real, offset = (total.inputs[0], total.inputs[1]) if total is not None else (shifted, None)
    if dtype not in _LARGEST:
        rounded = maker(real, "Round")
        real = rounded.inputs[0] if rounded is not None else None
    ratio = maker(real, "Div") or maker(_uncast(real), "Div")
    if ratio is None or ratio.inputs[0] is None:
        return
    scale = _scale(ratio.inputs[1], ratio.inputs[0].dtype)
    if scale is not None:
        yield _Linear("QuantizeLinear", cast, ratio.inputs[0], scale, dtype, offset)


def _why_not_linear(found: _Linear) -> str | None:
    if found.zero_point is None:
        return "the offset is not a zero point of the quantized type, laid over the data as the scale is"
    return None


def _put_linear(found: _Linear, shop: Workshop) -> None:
    root, scale, zero_point = found.root, found.scale, found.zero_point
    result, graph = root.outputs[0], root.graph
    assert isinstance(graph, ir.Graph) and zero_point is not None
    if isinstance(zero_point, np.ndarray):
        zero_point = shop.constant(graph, f"{result.name}.zero_point", zero_point)
    attributes = {"axis": scale.axis, "block_size": scale.block_size or None}
    given = {name: value for name, value in attributes.items() if value is not None}
    shape = list(result.shape) if result.shape is not None else []
    inputs = [found.data, scale.value, zero_point]
    put(shop, root, [shop.node(found.op, inputs, given, f"{result.name}.{found.op}", shape, result.dtype, root)])


def _held_integer(value: ir.Value | None, dtype: ir.DataType) -> ir.Value | None:
    """What is held to the range of a type: the least where it is less, or not a number."""
    least, most = _range(dtype)
    upper = maker(value, "Min")
    if upper is None or scalar_of(upper.inputs[1]) != most:
        return None
    lower = maker(upper.inputs[0], "Where")
    condition = maker(lower.inputs[0], "GreaterOrEqual") if lower is not None else None
    if lower is None or condition is None or condition.inputs[0] is not lower.inputs[1]:
        return None
    return lower.inputs[1] if scalar_of(lower.inputs[2]) == scalar_of(condition.inputs[1]) == least else None


def _held_float(cast: ir.Node, largest: float) -> ir.Value | None:
    upper = maker(cast.inputs[0], "Min")
    lower = maker(upper.inputs[0], "Max") if upper is not None else None
    if upper is None or lower is None or scalar_of(upper.inputs[1]) != largest:
        return None
    return lower.inputs[0] if scalar_of(lower.inputs[1]) == -largest else None


def _unencoded(cast: ir.Node) -> ir.Value | None:
    """What is cast, before the four bits that it fits in were cut out and their sign was spread."""
    value = cast.inputs[0]
    dtype = cast.outputs[0].dtype
    if dtype not in (_D.INT4, _D.UINT4):
        return value
    for step, number in (("Sub", 8), ("BitwiseXor", 8), ("BitwiseAnd", 15)):
        node = maker(_behind_casts(value), step)
        if node is not None and scalar_of(node.inputs[1]) == number:
            value = node.inputs[0]
    return _behind_casts(value)


def _behind_casts(value: ir.Value | None) -> ir.Value | None:
    while (node := maker(value, "Cast")) is not None:
        value = node.inputs[0]
    return value


def _range(dtype: ir.DataType) -> tuple[int, int]:
    signed = dtype in (_D.INT8, _D.INT16, _D.INT4)
    size = int(2**dtype.bitwidth)
    return (-size // 2, size // 2 - 1) if signed else (0, size - 1)


def _uncast(value: ir.Value | None) -> ir.Value | None:
    """What was cast, four bits by way of eight; None where nothing was."""
    node = maker(value, "Cast")
    if node is None:
        return None
    before = maker(node.inputs[0], "Cast")
    four = before is not None and before.inputs[0] is not None and before.inputs[0].dtype in (_D.INT4, _D.UINT4)
    return before.inputs[0] if before is not None and four else node.inputs[0]


def _scale(value: ir.Value | None, dtype: ir.DataType | None) -> _Parameter | None:
    """The scale behind a factor: a parameter of the model, or computed, of the type that the reals have."""
    found = _parameter(value)
    if found is None:
        return None
    source = _uncast(found.value) or found.value
    literal = is_constant(source) and not source.meta.get("weight")
    return None if literal or source.dtype != dtype else _Parameter(source, found.axis, found.block_size)


def _parameter(value: ir.Value | None) -> _Parameter | None:
    """A single number, one per index of an axis, or one per block of an axis."""
    if value is None or value.shape is None:
        return None
    cut = maker(value, "Slice")
    view = maker(cut.inputs[0] if cut is not None else value, "Reshape")
    if view is None or view.inputs[0] is None:
        return _Parameter(value) if value.shape.rank() == 0 else None
    repeated = maker(view.inputs[0], "Tile")
    if repeated is not None:
        return _blocked(repeated)
    axes = [axis for axis, dim in enumerate(value.shape) if dim != 1]
    source = view.inputs[0]
    rank = source.shape.rank() if source.shape is not None else None
    if not value.shape.rank():
        return _Parameter(value)
    return _Parameter(source, axes[0]) if rank == 1 and len(axes) == 1 else None


def _blocked(repeated: ir.Node) -> _Parameter | None:
    apart = maker(repeated.inputs[0], "Unsqueeze")
    axes, counts = ints_of(apart.inputs[1]) if apart is not None else None, ints_of(repeated.inputs[1])
    if apart is None or axes is None or counts is None or apart.inputs[0] is None or len(axes) != 1:
        return None
    others = [count for axis, count in enumerate(counts) if axis != axes[0]]
    if axes[0] < 1 or any(count != 1 for count in others):
        return None
    return _Parameter(apart.inputs[0], axes[0] - 1, counts[axes[0]])


def _zero_point(offset: ir.Value | None, dtype: ir.DataType, scale: _Parameter) -> ir.Value | np.ndarray | None:
    """The zero point in the quantized type; zeros where none is written. None where it has another form."""
    if offset is None:
        known = scale.value.shape
        dims = [dim for dim in known if isinstance(dim, int)] if known is not None else []
        return None if known is None or len(dims) < known.rank() else np.zeros(dims, numpy_dtype(dtype))
    cut = maker(offset, "Slice") if scale.block_size else None
    whole = cut.inputs[0] if cut is not None else offset
    if whole is not None and is_constant(whole) and whole.const_value is not None:
        return _constant_zero_point(np.asarray(whole.const_value.numpy()), dtype, scale)
    found = _parameter(offset)
    source = _uncast(found.value) if found is not None else None
    if found is None or source is None or source.dtype != dtype:
        return None
    return source if (found.axis, found.block_size) == (scale.axis, scale.block_size) else None


def _constant_zero_point(numbers: np.ndarray, dtype: ir.DataType, scale: _Parameter) -> np.ndarray | None:
    if scale.block_size and scale.axis is not None:
        numbers = numbers.take(range(0, numbers.shape[scale.axis], scale.block_size), scale.axis)
    dims = tuple(scale.value.shape) if scale.value.shape is not None else None
    if dims is None or numbers.size != np.prod([dim for dim in dims if isinstance(dim, int)], dtype=int):
        return None
    whole = numbers.reshape([dim for dim in dims if isinstance(dim, int)]).astype(numpy_dtype(dtype))
    return whole if np.array_equal(whole.astype(np.float64).ravel(), numbers.ravel()) else None


QUANTIZATION = (
    Rule("quantize", frozenset({"Cast"}), _quantized, _why_not_linear, _put_linear),
    Rule("dequantize to half", frozenset({"Cast"}), _dequantized_halves, _why_not_linear, _put_linear),
    Rule("dequantize", frozenset({"Mul"}), _dequantized, _why_not_linear, _put_linear),
)
