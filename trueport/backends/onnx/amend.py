"""Where ONNX Runtime has a kernel that departs from what ONNX says, or none: the same by other operators.

Found with ONNX Runtime 1.31 on CPU:

* sums of integers are added up as doubles: they lose digits beyond 2**53, and stop at the type's end instead of
  wrapping;
* products of integers likewise;
* the maximum and minimum of int64 along an axis take the lower 32 bits as signed where the upper ones are equal;
* NaN has no order (see :mod:`trueport.backends.onnx.nan_order`);
* halves can't be scattered with a reduction (a matter of types, see :mod:`trueport.backends.onnx.kernels`).

Before 1.31 Cos of float64 has no kernel either; Sin has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.onnx.nan_order import again, extreme_of_floats, sort_of_floats, why_no_care, why_no_sort
from trueport.ir.build import known_array
from trueport.ir.insert import Inserter, Workshop
from trueport.ir.provenance import MADE_BY
from trueport.ir.replace import replace_node
from trueport.mapping.bind import attribute_value
from trueport.operators.record import Trait
from trueport.operators.table import facts_of
from trueport.passes.rewrite_rules import Rule, apply_at

__all__ = ["amend", "amendments"]

_D = ir.DataType
_Check = Callable[[ir.Node], str | None]
"""why a node stays as it is, None where it is replaced"""
_Emit = Callable[[Inserter], ir.Value | tuple[ir.Value, ...]]
_SMALL_NUMBERS = "its numbers are sizes, indices or of a narrower type: far from where ONNX Runtime is wrong"
_NARROW = frozenset({_D.BOOL, _D.INT8, _D.UINT8, _D.INT16, _D.UINT16, _D.INT32})
_SUMMED = frozenset({_D.INT32, _D.INT64, _D.UINT32, _D.UINT64})
_UPPER_BITS = 32
_UPPER = np.array(1 << _UPPER_BITS)
_SMALL = 1 << 16
"""Constants below it stay far from 2**31 when some thousands of them are added."""


def amend(model: ir.Model, lacks: Callable[[ir.Node], bool]) -> int:
    """Replace what ONNX Runtime lacks, or computes in another way than ONNX says, in place; return how many nodes.

    The model is at the canonical opset; ``lacks`` says of a node that nothing will run it.
    """
    shop, rules = Workshop(model), amendments(lacks)
    return sum(apply_at(node, rules, shop) for node in list(model.graph.all_nodes()))


def amendments(lacks: Callable[[ir.Node], bool]) -> tuple[Rule[ir.Node], ...]:
    """Return the rules of :func:`amend`, one for each operator; ``lacks`` says of a node that nothing will run it."""
    wrong = [_rule(op, check, emit) for op, (check, emit) in _WRONG.items()]
    return (*wrong, *(_rule(op, _unless_run(check, lacks), emit) for op, (check, emit) in _MISSING.items()))


def _rule(op_type: str, check: _Check, emit: _Emit) -> Rule[ir.Node]:
    def rewrite(node: ir.Node, shop: Workshop) -> None:
        op = Inserter(shop, node)
        op.metadata[MADE_BY] = f"amend:{op_type}"
        made = emit(op)
        replace_node(node, made if isinstance(made, tuple) else (made,))

    return Rule(f"amend {op_type}", frozenset({op_type}), lambda node: [node], check, rewrite)


def _unless_run(check: _Check, lacks: Callable[[ir.Node], bool]) -> _Check:
    return lambda node: check(node) if lacks(node) else "ONNX Runtime has a kernel for it"


def _always(node: ir.Node) -> None:
    return None


def _why_no_sum(node: ir.Node) -> str | None:
    return None if _dtype(node) in _SUMMED else "not a reduction of integers of 32 or 64 bits"


def _why_no_large_sum(node: ir.Node) -> str | None:
    return _why_no_sum(node) or (_SMALL_NUMBERS if _is_small(_data(node)) else None)


def _why_no_product(node: ir.Node) -> str | None:
    return _why_no_large_sum(node) or (None if _axes(node) is not None else "its axes, or the rank, are not known")


def _why_not_largest(node: ir.Node) -> str | None:
    dtype = _dtype(node)
    if dtype is not None and dtype.is_floating_point():
        return why_no_care(node)
    if dtype == _D.UINT32:
        return None
    if dtype not in (_D.INT64, _D.UINT64):
        return "ONNX Runtime is right for this type"
    return _why_no_product(node)


def _why_no_cosine(node: ir.Node) -> str | None:
    return None if _dtype(node) == _D.DOUBLE else "only float64 is written by sines"


def _why_not_nearest(node: ir.Node) -> str | None:
    attributes = {name: attribute_value(attribute) for name, attribute in node.attributes.items()}
    return None if _data(node).shape is not None and _is_plain(attributes) else "not a plain resize to the nearest"


def _data(node: ir.Node) -> ir.Value:
    data = node.inputs[0]
    assert data is not None
    return data


def _dtype(node: ir.Node) -> ir.DataType | None:
    return _data(node).dtype


def _sum(op: Inserter) -> ir.Value:
    return _summed(op, _data(op.node))


def _sum_of_absolutes(op: Inserter) -> ir.Value:
    return _summed(op, op.Abs(_data(op.node)))


def _sum_of_squares(op: Inserter) -> ir.Value:
    return _summed(op, op.Mul(_data(op.node), _data(op.node)))


def _summed(op: Inserter, data: ir.Value) -> ir.Value:
    """In int64, which a double holds; 64 bits themselves by their upper and lower half."""
    assert data.dtype is not None
    wide = data if data.dtype == _D.INT64 else op.Cast(data, to=_D.INT64.value)
    if data.dtype.bitwidth == _UPPER_BITS:
        made = again(op, wide, "ReduceSum")
    else:
        lower = op.Mod(wide, _UPPER)
        upper = op.Div(op.Sub(wide, lower), _UPPER)
        made = op.Add(op.Mul(again(op, upper, "ReduceSum"), _UPPER), again(op, lower, "ReduceSum"))
    return made if data.dtype == _D.INT64 else op.Cast(made, to=data.dtype.value)


def _product(op: Inserter) -> ir.Value:
    """The last of the running products, along one axis after the other; that of nothing is 1."""
    made, axes = _data(op.node), _axes(op.node)
    assert axes is not None
    one = op.like(1, made)
    for axis in axes:
        with_one = _with_end(op, made, axis, one)
        made = op.Slice(op.CumProd(with_one, np.array(axis)), [-1], [np.iinfo(np.int64).max], [axis])
    return _without_axes(op, made, axes)


def _largest(op: Inserter) -> ir.Value:
    """Of 32 bits as doubles; of 64 bits the first of the largest, along one axis after the other; NaN wins."""
    data = _data(op.node)
    assert data.dtype is not None
    if data.dtype.is_floating_point():
        return extreme_of_floats(op)
    largest = int(op.node.op_type == "ReduceMax")
    if data.dtype == _D.UINT32:
        return _largest_by_doubles(op, data, largest)
    axes = _axes(op.node)
    assert axes is not None
    end = op.like(_of_nothing(data, largest), data)
    made = data
    for axis in axes:
        assert made.shape is not None
        size = made.shape[axis]
        some = made if isinstance(size, int) and size > 0 else _with_end(op, made, axis, end)
        made, _ = op.several(2).TopK(some, [1], axis=axis, largest=largest, sorted=0)
    return _without_axes(op, made, axes)


def _largest_by_doubles(op: Inserter, data: ir.Value, largest: int) -> ir.Value:
    """Emit the extreme of 32 bits as doubles; of nothing it is infinite, and a limit of the type."""
    made = again(op, op.Cast(data, to=_D.DOUBLE.value), op.node.op_type)
    limit = op.like(_of_nothing(data, largest), made)
    made = op.Max(made, limit) if largest else op.Min(made, limit)
    return op.Cast(made, to=_D.UINT32.value)


def _of_nothing(data: ir.Value, largest: int) -> int:
    """Return the extreme of no element: the type's other limit, which is never chosen before another element."""
    assert data.dtype is not None
    limits = np.iinfo(data.dtype.numpy())
    return int(limits.min if largest else limits.max)


def _with_end(op: Inserter, data: ir.Value, axis: int, end: ir.Value) -> ir.Value:
    """One more element along an axis."""
    shape = op.Concat(op.Shape(data, end=axis), [1], op.Shape(data, start=axis + 1), axis=0)
    return op.Concat(data, op.Expand(end, shape), axis=axis)


def _without_axes(op: Inserter, made: ir.Value, axes: list[int]) -> ir.Value:
    keepdims = op.node.attributes.get("keepdims")
    return made if keepdims is None or keepdims.as_int() else op.Squeeze(made, axes)


def _axes(node: ir.Node) -> list[int] | None:
    """The axes of a reduction over int64; None where they, or the rank, are not known."""
    data, given = node.inputs[0], node.inputs[1] if len(node.inputs) > 1 else None
    if data is None or data.shape is None:
        return None
    rank = len(data.shape)
    if "axes" in node.attributes:
        return [axis % rank for axis in node.attributes["axes"].as_ints()]
    known = known_array(given)
    if given is None or (known is not None and not known.size):
        noop = node.attributes.get("noop_with_empty_axes")
        return None if noop is not None and noop.as_int() else list(range(rank))
    return None if known is None else [int(axis) % rank for axis in known.ravel()]


def _is_small(value: ir.Value) -> bool:
    """Whether numbers are sizes, indices, or of a narrower type: far from where it goes wrong."""
    made = value.producer()
    if made is None:
        array = known_array(value)
        return array is not None and bool(np.all(np.abs(array.astype(np.float64)) < _SMALL))
    if made.op_type == "Cast" and made.inputs[0] is not None:
        narrow, dtype = made.inputs[0].dtype, value.dtype
        return narrow in _NARROW and dtype is not None and (dtype.bitwidth > _UPPER_BITS or narrow != _D.INT32)
    operator = facts_of(made)
    if operator.has(Trait.MOVES_FIRST):
        return made.inputs[0] is not None and _is_small(made.inputs[0])
    if operator.has(Trait.KEEPS_SIZE):
        return all(item is None or item.dtype == _D.BOOL or _is_small(item) for item in made.inputs)
    return operator.has(Trait.MAKES_INDEX)


def _relu(op: Inserter) -> ir.Value:
    data = op.node.inputs[0]
    assert data is not None
    return op.Max(data, op.like(0, data))


def _non_zero(op: Inserter) -> ir.Value:
    return op.NonZero(op.Cast(op.node.inputs[0], to=_D.BOOL.value))


def _one_hot(op: Inserter) -> ir.Value:
    indices, depth, values = op.node.inputs
    axis = op.node.attributes.get("axis")
    assert indices is not None and depth is not None
    marks = op.OneHot(
        op.Cast(indices, to=_D.INT64.value),
        op.Cast(depth, to=_D.INT64.value),
        np.array([0, 1], np.float32),
        axis=-1 if axis is None else axis.as_int(),
    )
    off, on = op.several(2).Split(values, num_outputs=2)
    return op.Where(op.Cast(marks, to=_D.BOOL.value), on, off)


def _cosine(op: Inserter) -> ir.Value:
    """Emit the cosine of a float64 by sines of x, 2x and x/2: both factors are exact, so no digit of x is lost.

    sin(2x) / (2 sin x) has no cancellation, but no digits where sin x is near 0. There the cosine is near 1 or -1:
    1 - 2 sin(x/2)**2, or 2 cos(x/2)**2 - 1 with cos(x/2) = sin x / (2 sin(x/2)).
    """
    x = _data(op.node)
    half, one, two = (op.like(number, x) for number in (0.5, 1.0, 2.0))
    sine, sine_of_half = op.Sin(x), op.Sin(op.Mul(x, half))
    cosine_of_half = op.Div(sine, op.Mul(two, sine_of_half))
    square, other_square = (op.Mul(value, value) for value in (sine_of_half, cosine_of_half))
    is_positive = op.Less(square, half)
    near_one = op.Where(is_positive, op.Sub(one, op.Mul(two, square)), op.Sub(op.Mul(two, other_square), one))
    quotient = op.Div(op.Sin(op.Mul(x, two)), op.Mul(two, sine))
    # Beyond 2**1023 there is no 2x; the sum is within 1e-15 then.
    is_near = op.Or(op.Less(op.Abs(sine), half), op.GreaterOrEqual(op.Abs(x), op.like(2.0**1023, x)))
    return op.Where(is_near, near_one, quotient)


def _nearest(op: Inserter) -> ir.Value:
    """Elements by their index, which is resized instead."""
    data, _, scales, sizes = (*op.node.inputs, None, None)[:4]
    attributes = {name: attribute_value(attribute) for name, attribute in op.node.attributes.items()}
    axes = attributes.pop("axes", None)
    assert data is not None and data.shape is not None
    made = data
    for place, axis in enumerate(range(len(data.shape)) if axes is None else axes):
        factor, size = (None if given is None else op.Slice(given, [place], [place + 1]) for given in (scales, sizes))
        known = known_array(scales)
        if known is not None and known[place] == 1:
            continue
        length = op.Gather(op.Shape(data), op.const(np.array(axis)))
        numbers = op.Cast(op.Range(np.array(0), length, np.array(1)), to=_D.FLOAT.value)
        index = op.Cast(op.Resize(numbers, None, factor, size, **attributes), to=_D.INT64.value)
        made = op.Gather(made, index, axis=axis)
    return made


def _is_plain(attributes: Mapping[str, Any]) -> bool:
    return (
        attributes.get("mode", "nearest") == "nearest"
        and attributes.get("keep_aspect_ratio_policy", "stretch") == "stretch"
        and attributes.get("coordinate_transformation_mode") != "tf_crop_and_resize"
    )


_WRONG: Mapping[str, tuple[_Check, _Emit]] = {
    "ReduceL1": (_why_no_sum, _sum_of_absolutes),
    "ReduceMax": (_why_not_largest, _largest),
    "ReduceMin": (_why_not_largest, _largest),
    "ReduceProd": (_why_no_product, _product),
    "ReduceSum": (_why_no_large_sum, _sum),
    "ReduceSumSquare": (_why_no_sum, _sum_of_squares),
    "TopK": (why_no_sort, sort_of_floats),
}
_MISSING: Mapping[str, tuple[_Check, _Emit]] = {
    "Cos": (_why_no_cosine, _cosine),
    "NonZero": (_always, _non_zero),
    "OneHot": (_always, _one_hot),
    "Relu": (_always, _relu),
    "Resize": (_why_not_nearest, _nearest),
}
