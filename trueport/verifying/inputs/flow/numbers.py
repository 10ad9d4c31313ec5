"""Integers that are made of sizes: arithmetic, comparisons, ranges, and what is cut out of a shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.verifying.inputs.flow.flow import MAX_ELEMENTS, Call, Rule
from trueport.verifying.inputs.flow.known import (
    UNKNOWN,
    Known,
    Number,
    common,
    has_gaps,
    is_varying,
    relation,
    remainder,
)
from trueport.verifying.inputs.flow.shapes import broadcast

__all__ = ["NUMBER_RULES", "REDUCTIONS", "reduce_rule"]


def _shape(call: Call) -> Sequence[Known]:
    shape = call.input(0).shape
    if shape is None:
        return [UNKNOWN]
    end = call.integer("end", len(shape))
    cut = shape[call.integer("start", 0) : end if end >= 0 else len(shape) + end]
    return [Known((len(cut),), None if has_gaps(cut) else tuple(cut))]


def _size(call: Call) -> Sequence[Known]:
    shape = call.input(0).shape
    if shape is None or has_gaps(shape):
        return [Known(())]
    total: Any = 1
    for dim in shape:
        total = total * dim
    return [Known((), (total,))]


def _quotient(a: Number, b: Number) -> Number:
    safe = np.where(np.asarray(b) == 0, 1, b)
    if np.asarray(a).dtype.kind == "f" or np.asarray(b).dtype.kind == "f":
        return np.asarray(a) / safe
    return np.trunc(np.asarray(a, np.float64) / safe).astype(np.int64)


def _modulo(a: Number, b: Number) -> Number:
    return np.mod(a, np.where(np.asarray(b) == 0, 1, b))


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": _quotient,
    "Mod": _modulo,
    "Min": np.minimum,
    "Max": np.maximum,
    "Pow": lambda a, b: np.power(np.asarray(a, np.float64), b),
    "Equal": np.equal,
    "Less": np.less,
    "Greater": np.greater,
    "LessOrEqual": np.less_equal,
    "GreaterOrEqual": np.greater_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
}
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "Neg": np.negative,
    "Abs": np.abs,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.round,
    "Sqrt": lambda a: np.sqrt(np.maximum(a, 0)),
    "Not": np.logical_not,
    "Identity": lambda a: a,
}
REDUCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "ReduceProd": np.multiply,
    "ReduceSum": np.add,
    "ReduceMax": np.maximum,
    "ReduceMin": np.minimum,
}
"""What joins two elements, by reduction."""
_MONOTONE = ("Add", "Sub", "Min", "Max")
_DIVISIONS = ("Div", "Mod")
_COMPARISONS = ("Min", "Max", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")


def _binary(call: Call) -> Sequence[Known]:
    made = broadcast(call)
    a, b = call.input(0), call.input(1)
    name = call.node.op_type
    if name in _DIVISIONS:
        _guard_division(call, b)
    if len(call.node.inputs) != 2:
        return [made]
    if a.elements is None or b.elements is None or made.shape is None:
        return [_bounded(call, made, a, b)]
    count = max(len(a.elements), len(b.elements))
    if min(len(a.elements), len(b.elements)) not in (1, count):
        return [made]
    pairs = [(a.elements[i % len(a.elements)], b.elements[i % len(b.elements)]) for i in range(count)]
    for one, other in pairs:
        _decide(call, name, one, other)
    return [Known(made.shape, tuple(_BINARY[name](one, other) for one, other in pairs))]


def _guard_division(call: Call, divisor: Known) -> None:
    """Dividing an integer by zero kills the process in ONNX Runtime."""
    value, array = call.node.inputs[1], call.array(1)
    if value is None or not (_is_integer(divisor) if value.dtype is None else value.dtype.is_integer()):
        return
    if array is not None:
        call.flow.can_crash |= not np.all(array)
    elif divisor.elements is None:
        call.flow.can_crash = True
    for element in divisor.elements or ():
        call.flow.kill(np.asarray(element) == 0)


def _is_integer(held: Known) -> bool:
    """True if the elements are known, and integers."""
    return held.elements is not None and all(np.asarray(element).dtype.kind in "iu" for element in held.elements)


def _decide(call: Call, name: str, one: Number, other: Number) -> None:
    """Note how a size compares with a constant, or what is left of it where it is divided."""
    if name in _DIVISIONS and is_varying(one) and not is_varying(other):
        divisor = int(np.asarray(other).flat[0])
        if divisor > 1 and np.asarray(one).dtype.kind in "iu":
            call.flow.note(divisor)
            call.decide(f"divided by {divisor}", remainder(one, divisor))
    elif name in _COMPARISONS:
        for size, constant in ((one, other), (other, one)):
            if is_varying(size) and not is_varying(constant):
                number = float(np.asarray(constant).flat[0])
                if math.isfinite(number):
                    call.flow.note(abs(number))
                    call.decide(f"compared with {number:g}", relation(size, int(number)))
        if is_varying(one) and is_varying(other):
            call.decide("compared", np.sign(np.asarray(one, np.float64) - np.asarray(other, np.float64)) + 1)


def _bounded(call: Call, made: Known, a: Known, b: Known) -> Known:
    """Bounds of the elements, where the elements themselves are not kept."""
    name, first, second = call.node.op_type, a.bounds, b.bounds
    if first is None or second is None:
        return made
    if name in _COMPARISONS:
        for (low, high), other in ((first, b), (second, a)):
            if other.elements and len(other.elements) == 1 and not is_varying(other.elements[0]):
                _decide(call, name, high, other.elements[0])
                _decide(call, name, low, other.elements[0])
    if name == "Sub":
        second = second[1], second[0]
    if name in _MONOTONE:
        low, high = (_BINARY[name](x, y) for x, y in zip(first, second, strict=True))
        return Known(made.shape, None, low, high)
    if name == "Mul":
        products = np.broadcast_arrays(*(np.multiply(x, y) for x in first for y in second))
        return Known(made.shape, None, np.min(products, axis=0), np.max(products, axis=0))
    if name == "Mod" and b.elements and len(b.elements) == 1:
        return Known(made.shape, None, 0, np.minimum(first[1], np.asarray(b.elements[0]) - 1))
    return Known(made.shape, None, 0, 1) if name in _COMPARISONS[2:] else made


def _unary(call: Call) -> Sequence[Known]:
    held = call.input(0)
    if held.elements is None:
        return [held if call.node.op_type == "Identity" else Known(held.shape)]
    return [Known(held.shape, tuple(_UNARY[call.node.op_type](element) for element in held.elements))]


def _cast(call: Call) -> Sequence[Known]:
    held = call.input(0)
    made = ir.DataType(call.integer("to", 1))
    if held.elements is None:
        source = call.node.inputs[0].dtype if call.node.inputs[0] is not None else None
        if source is not None and source.name == "BOOL":
            return [Known(held.shape, None, 0, 1)]
        return [held]
    to = float if made.is_floating_point() else np.int64
    return [Known(held.shape, tuple(np.asarray(element).astype(to) for element in held.elements))]


def _where(call: Call) -> Sequence[Known]:
    made = broadcast(call)
    condition, a, b = (call.input(index).elements for index in range(3))
    if condition is None or a is None or b is None:
        return [made]
    count = max(len(condition), len(a), len(b))
    if any(len(part) not in (1, count) for part in (condition, a, b)):
        return [made]
    rows = [(condition[i % len(condition)], a[i % len(a)], b[i % len(b)]) for i in range(count)]
    return [Known(made.shape, tuple(np.where(*row) for row in rows))]


def _range(call: Call) -> Sequence[Known]:
    given = [call.input(index).elements for index in range(3)]
    if any(part is None or len(part) != 1 for part in given):
        return [Known((None,))]
    start, limit, step = (part[0] for part in given if part)
    if is_varying(step) or not np.asarray(step).flat[0]:
        return [Known((None,))]
    count = np.maximum(np.ceil((np.asarray(limit, np.float64) - start) / step), 0).astype(np.int64)
    last = start + (count - 1) * step
    return [Known((count,), None, np.minimum(start, last), np.maximum(start, last))]


def _cumulative(call: Call) -> Sequence[Known]:
    held, axis = call.input(0), call.constants(1)
    bounds = held.bounds
    if bounds is None or axis is None or held.shape is None or held.shape[int(axis[0])] is None:
        return [Known(held.shape)]
    length = held.shape[int(axis[0])]
    return [Known(held.shape, None, np.minimum(bounds[0] * length, 0), np.maximum(bounds[1] * length, 0))]


def _constant_of_shape(call: Call) -> Sequence[Known]:
    shape = call.input(0).elements
    if shape is None:
        return [UNKNOWN]
    value = call.node.attributes["value"].as_tensor().numpy().item() if "value" in call.node.attributes else 0
    if any(is_varying(dim) for dim in shape) or math.prod(map(common, shape)) > MAX_ELEMENTS:
        return [Known(tuple(shape), None, value, value)]
    return [Known(tuple(shape), (value,) * math.prod(map(common, shape)))]


def _reduce_elements(call: Call) -> Sequence[Known]:
    held = call.input(0)
    axes = call.parameters(1, "axes")
    if held.elements is None or held.rank != 1 or (axes and [int(axis) % 1 for axis in axes] != [0]):
        return [UNKNOWN]
    total: Any = held.elements[0]
    for element in held.elements[1:]:
        total = REDUCTIONS[call.node.op_type](total, element)
    return [Known((1,) if call.integer("keepdims", 1) else (), (total,))]


def _constant(call: Call) -> Sequence[Known]:
    for name, attribute in call.node.attributes.items():
        if name in ("value", "value_int", "value_ints", "value_float", "value_floats"):
            array = np.asarray(attribute.as_tensor().numpy() if name == "value" else attribute.value)
            small = array.size <= MAX_ELEMENTS and array.dtype.kind in "iufb"
            return [Known(array.shape, tuple(array.ravel().tolist()) if small else None)]
    return []


def _if(call: Call) -> Sequence[Known]:
    condition = call.input(0).elements
    taken = np.broadcast_to(np.asarray(condition[0], bool), call.flow.count) if condition else None
    if taken is not None:
        call.decide("which branch", taken)
        for name, mask in (("then_branch", taken), ("else_branch", ~taken)):
            call.flow.branch(call.node.attributes[name].as_graph(), mask)
    return []


def reduce_rule(shaped: Rule) -> Rule:
    """Return the rule of a reduction: numbers where its input's are known, else only the shape."""
    return lambda call: _reduce_elements(call) if call.input(0).elements is not None else shaped(call)


NUMBER_RULES: Mapping[str, Rule] = {
    "Shape": _shape,
    "Size": _size,
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_UNARY, _unary),
    "Cast": _cast,
    "Where": _where,
    "Range": _range,
    "CumSum": _cumulative,
    "ConstantOfShape": _constant_of_shape,
    "If": _if,
    "Constant": _constant,
}
