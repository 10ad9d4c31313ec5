"""Knees, bounds, comparisons, selections: on which side of a number the elements of an operand were."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.verifying.coverage.count import Aim, Arrays, Count, attribute, beside, margin

__all__ = ["FAMILIES", "Compared", "Knees", "Wide"]

_EXP_LIMIT = 88.0
"""Above about 88.7 the exponential of a float32 is infinite."""
_LARGE = 1 << 31
_EXACT_IN_FLOAT = 1 << 24
_MOST_POINTS = 64
_NARROW = (ir.DataType.INT64, ir.DataType.UINT64)


@dataclass(frozen=True)
class Knees:
    """One operand, and the numbers at which the operator changes its formula."""

    points: Callable[[ir.Node, Arrays], Sequence[Any]]
    kind: str = "side"

    def operand(self, node: ir.Node) -> Sequence[int]:
        return (0,)

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        points, x = self.points(node, inputs), _array(inputs[0])
        if not len(points) or x is None:
            return None
        names = [_name(point) for point in points]
        labels = [f"below {names[0]}", *(f"{a} to {b}" for a, b in itertools.pairwise(names))]
        near = [self._margin(point, x.dtype) for point in (points[0], points[-1])]
        masks = [(x < points[0]) & (x >= points[0] - near[0])]
        masks += [(x > a) & (x < b) for a, b in itertools.pairwise(points)]
        masks.append((x > points[-1]) & (x <= points[-1] + near[1]))
        return _count(self.kind, [*labels, f"above {names[-1]}"], masks)

    def _margin(self, point: Any, dtype: np.dtype) -> Any:
        return np.inf if self.kind == "range" else margin(point, dtype)

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        points, dtype = self.points(node, inputs), np.asarray(inputs[0]).dtype
        values: list[Any] = []
        for part in missing:
            if part == 0:
                values += beside(points[0], -1, dtype, exact=exact)
            elif part == len(points):
                values += beside(points[-1], 1, dtype, exact=exact)
            else:
                values += [(np.asarray(points[part - 1]) + points[part]) / 2]
        return [Aim(0, tuple(values))]


def _clip_points(node: ir.Node, inputs: Arrays) -> list[Any]:
    found = [inputs[index] for index in (1, 2) if index < len(inputs) and inputs[index] is not None]
    finite = [np.asarray(bound).astype(np.float64) for bound in found]
    return [bound for bound in finite if bound.size == 1 and np.isfinite(bound).all() and abs(float(bound)) < 1e30]


def _hard_sigmoid(node: ir.Node, inputs: Arrays) -> list[float]:
    alpha, beta = attribute(node, "alpha", 0.2), attribute(node, "beta", 0.5)
    return sorted([-beta / alpha, (1 - beta) / alpha]) if alpha else []


def _quantized(node: ir.Node, inputs: Arrays) -> list[float]:
    """Return the numbers beyond which the result is the type's smallest or largest."""
    scale = np.asarray(inputs[1]).ravel()
    zero = np.asarray(inputs[2]).ravel() if len(inputs) > 2 and inputs[2] is not None else np.zeros(1, np.uint8)
    if scale.size != 1 or zero.size != 1 or zero.dtype.kind not in "iu":
        return []
    info = np.iinfo(zero.dtype)
    return [float(scale[0]) * (bound - float(zero[0])) for bound in (info.min, info.max)]


def _at(*points: float) -> Callable[[ir.Node, Arrays], Sequence[float]]:
    return lambda node, inputs: points


def _both(name: str, default: float) -> Callable[[ir.Node, Arrays], Sequence[float]]:
    return lambda node, inputs: sorted({-attribute(node, name, default), attribute(node, name, default)})


def _signed(node: ir.Node, inputs: Arrays) -> Sequence[float]:
    """Return zero for signed integers: quotients and remainders of negative ones are rounded in several ways."""
    return (0,) if np.asarray(inputs[0]).dtype.kind == "i" else ()


def _exponents(node: ir.Node, inputs: Arrays) -> Sequence[float]:
    return (_EXP_LIMIT,) if node.inputs[0] is not None and node.inputs[0].dtype == ir.DataType.FLOAT else ()


def _cast(node: ir.Node, inputs: Arrays) -> Sequence[float]:
    """Return where integers stop being exact as a float32."""
    wide = node.inputs[0] is not None and node.inputs[0].dtype in (ir.DataType.INT32, *_NARROW)
    return (_EXACT_IN_FLOAT,) if wide and node.outputs[0].dtype == ir.DataType.FLOAT else ()


@dataclass(frozen=True)
class Compared:
    """Two operands: below and above each constant, or the other operand; where nothing rounds before, equal as well."""

    name: str
    exact: bool = False

    def operand(self, node: ir.Node) -> Sequence[int]:
        return (0, 1)

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        a, b = (np.asarray(array) for array in inputs[:2])
        if a.dtype.kind not in "fiu" or self.name == "Equal":
            said = np.asarray(results[0])
            return _count("side", ("true", "false"), [said, ~said])
        x, other = (b, a) if _constant(node) == 0 else (a, b)
        away = x.astype(np.float64) - other
        near = np.abs(away) <= margin(other, other.dtype)
        points = _points(node, other)
        # Two zeros hide much: what is multiplied by them, or negated, is as it was.
        equal = (away == 0) & ((other != 0) | bool(points))
        sides = [near & (away < 0), near & (away > 0), *([equal] if self._equals(a) else [])]
        words = ("below", "above", "equal to")[: len(sides)]
        if not points:
            return _count("side", [f"{word} the other" for word in words], sides)
        at = [other == point for point in points]
        labels = [f"{word} {point:.6g}" for point in points for word in words]
        return _count("side", labels, [side & here for here in at for side in sides])

    def _equals(self, array: np.ndarray) -> bool:
        return self.exact or array.dtype.kind in "iu"

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        found = []
        for operand in (0, 1):
            other, dtype = np.asarray(inputs[1 - operand]), np.asarray(inputs[operand]).dtype
            if dtype.kind not in "fiu":
                found.append(Aim(operand, (other, ~other) if dtype.kind == "b" else (other,)))
                continue
            sides = 3 if self._equals(other) else 2
            equal = self.name == "Equal" or sides == 3
            points = _points(node, other) if _constant(node) == 1 - operand else []
            # Where each element meets each constant, numbers may stand anywhere; else at their own place.
            spread = len(points) > 1 and _meets_all(inputs, operand)
            wanted = [points[part // sides] for part in missing if part // sides < len(points)] if spread else []
            # One element can be on one side at a time: what is missing comes first.
            first = -1 if missing[0] % sides == 0 else 1
            around = [_around(at, dtype, first, exact=exact, equal=equal) for at in dict.fromkeys(wanted) or [other]]
            found.append(Aim(operand, tuple(itertools.chain.from_iterable(around))))
        return found


def _count(kind: str, labels: Sequence[str], masks: Sequence[np.ndarray]) -> Count:
    """Return a count of parts that are known element by element."""
    return Count(kind, labels, np.array([bool(mask.any()) for mask in masks]), masks)


def _around(point: Any, dtype: np.dtype, first: int, *, exact: bool, equal: bool) -> list[Any]:
    sides = [beside(point, side, dtype, exact=exact)[:2] for side in (first, -first)]
    return [*sides[0], *sides[1], *([point] if equal else [])]


def _meets_all(inputs: Arrays, operand: int) -> bool:
    """True if the result is larger than the operand: its elements meet several of the other's."""
    shapes = [np.shape(array) for array in inputs[:2]]
    return np.broadcast_shapes(*shapes) != shapes[operand]


def _constant(node: ir.Node) -> int | None:
    """Return which operand is a constant."""
    found = [at for at, value in enumerate(node.inputs[:2]) if value is not None and value.const_value is not None]
    return found[0] if found else None


def _points(node: ir.Node, other: np.ndarray) -> list[float]:
    """Return the constants that are compared with, each once; none where they are very many, or computed."""
    if _constant(node) is None or other.size > _MOST_POINTS**2:
        return []
    points = np.unique(other)
    finite = points[np.isfinite(points)]
    return [float(point) for point in finite] if 0 < len(finite) <= _MOST_POINTS else []


class Chosen:
    """A condition per element: Where."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        return (0,)

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        said = np.broadcast_to(np.asarray(inputs[0]), np.shape(results[0]))
        return _count("side", ("true", "false"), [said, ~said])

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        return [Aim(0, (np.array(True), np.array(False)))]


class Extreme:
    """Min and Max: which operand is the result; of two, on which side of the other the first is."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        return tuple(range(len(node.inputs)))

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        if len(inputs) == 2:
            return _COMPARED.count(node, inputs, results)
        if len(inputs) < 2:
            return None
        arrays = [np.asarray(array) for array in inputs]
        if arrays[0].dtype.kind not in "fiu":
            return None
        made = np.asarray(results[0])
        masks = []
        for index, array in enumerate(arrays):
            others = [other == made for place, other in enumerate(arrays) if place != index]
            masks.append((array == made) & ~np.any(np.broadcast_arrays(made != made, *others), axis=0))
        return _count("operand", [f"operand {index}" for index in range(len(arrays))], masks)

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        if len(inputs) == 2:
            return _COMPARED.aims(node, inputs, missing, exact)
        found = []
        for operand in range(len(inputs)):
            others = [np.asarray(array) for place, array in enumerate(inputs) if place != operand]
            dtype = np.asarray(inputs[operand]).dtype
            values = [
                value for other in others for side in (-1, 1) for value in beside(other, side, dtype, exact=exact)
            ]
            found.append(Aim(operand, tuple(values)))
        return found


class Wide:
    """Sums and products of 64-bit integers: results that 32 bits don't hold."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        return tuple(range(len(node.inputs)))

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        if node.outputs[0].dtype not in _NARROW:
            return None
        made = np.asarray(results[0])
        beyond = (made >= _LARGE) | (made < -_LARGE)
        return _count("range", ("beyond 32 bits",), [beyond])

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        if len(inputs) != 2 or node.op_type not in ("Add", "Sub", "Mul"):
            return []
        found = []
        for operand in (0, 1):
            other = np.asarray(inputs[1 - operand]).astype(np.float64)
            size = 3.0 * _LARGE / np.maximum(np.abs(other), 1) if node.op_type == "Mul" else np.full((), 3.0 * _LARGE)
            found.append(Aim(operand, (np.ceil(size),)))
        return found


def _array(value: Any) -> np.ndarray | None:
    return value if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" else None


def _name(point: Any) -> str:
    return f"{float(np.asarray(point).ravel()[0]):.6g}"


_COMPARED = Compared("Max")
_ZERO = Knees(_at(0.0))

FAMILIES: Mapping[str, Any] = {
    **dict.fromkeys(("Relu", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "Abs", "Sign"), _ZERO),
    "Clip": Knees(_clip_points),
    "ThresholdedRelu": Knees(lambda node, inputs: (attribute(node, "alpha", 1.0),)),
    "HardSigmoid": Knees(_hard_sigmoid),
    "HardSwish": Knees(_at(-3.0, 3.0)),
    "Shrink": Knees(_both("lambd", 0.5)),
    "QuantizeLinear": Knees(_quantized),
    "Mod": Knees(_signed),
    "Div": Knees(_signed),
    "Softmax": Knees(_exponents, "range"),
    "LogSoftmax": Knees(_exponents, "range"),
    "Cast": Knees(_cast, "range"),
    **{name: Compared(name) for name in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")},
    "Where": Chosen(),
    "Min": Extreme(),
    "Max": Extreme(),
    **dict.fromkeys(("Add", "Sub", "Mul", "ReduceSum", "ReduceProd", "CumSum"), Wide()),
}
"""By operator of ONNX's own domain."""
