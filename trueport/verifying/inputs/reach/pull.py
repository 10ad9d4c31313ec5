"""From numbers that an intermediate value shall have back to inputs that give them.

Each node is inverted at the values of one evaluation: where a node moves elements they are followed, where it is
element-wise or reduces, the numbers are searched by brackets and bisection, where it multiplies by a matrix, by least
squares. What can't be reached keeps the value it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.errors import NoOracle
from trueport.operators.record import Kind, Role, Trait, Widening
from trueport.operators.table import facts_of
from trueport.verifying.inputs.reach.observe import Observation, Observer
from trueport.verifying.inputs.reach.solve import solve

__all__ = ["Pull", "Wanted"]

_DEEPEST = 64
"""Nodes between a decision and the inputs."""
_MOST_ELEMENTS = 20_000
_MOST_SYSTEMS = 256
"""Rows for which least squares are solved."""
_LIKE_ELEMENTWISE = frozenset({"BatchNormalization", "Scaler"})


@dataclass(frozen=True)
class Wanted:
    """What elements of a value shall be; the others are free."""

    array: np.ndarray
    mask: np.ndarray

    def only(self, mask: np.ndarray) -> Wanted:
        """Return the same for fewer elements."""
        return Wanted(self.array, self.mask & mask)


class Pull:
    """Inverts the nodes of one evaluation."""

    def __init__(self, observer: Observer, seen: Observation) -> None:
        self._observer = observer
        self._seen = seen

    def to_inputs(self, value: ir.Value, wanted: Wanted, depth: int = 0) -> dict[str, Wanted]:
        """Return what inputs shall be, by name; empty where no way leads to them."""
        if not wanted.mask.any() or depth > _DEEPEST or wanted.array.size > _MOST_ELEMENTS:
            return {}
        if value.is_graph_input():
            return {value.name or "": wanted} if value.graph is self._observer.graph else {}
        node = value.producer()
        if node is None or node not in self._seen.last:
            return {}
        for operand, before in self._ways(node, value, wanted):
            found = self.to_inputs(operand, before, depth + 1)
            if found:
                return found
        return {}

    def _ways(self, node: ir.Node, value: ir.Value, wanted: Wanted) -> Iterator[tuple[ir.Value, Wanted]]:
        """Yield operands and what they shall be, those first that reach most of what is wanted."""
        output = list(node.outputs).index(value)
        found = []
        for index, operand in enumerate(node.inputs):
            if operand is None or operand not in self._observer.paths.depends:
                continue
            before = self._before(node, index, output, wanted)
            if before is not None and before.mask.any():
                found.append((int(before.mask.sum()), operand, before))
        yield from ((operand, before) for _, operand, before in sorted(found, key=lambda way: -way[0]))

    def _before(self, node: ir.Node, index: int, output: int, wanted: Wanted) -> Wanted | None:
        inputs, results = self._seen.last[node]
        x, made = inputs[index], results[output]
        arrays = isinstance(x, np.ndarray) and isinstance(made, np.ndarray) and x.size and made.size
        if not arrays or made.shape != wanted.array.shape:
            return None
        operator = facts_of(node)

        def run(array: np.ndarray) -> np.ndarray:
            given = [array if at == index else other for at, other in enumerate(inputs)]
            return np.asarray(self._observer.again(node, given, self._seen.values)[output])

        try:
            casts = operator.kind is Kind.QUANTIZATION or operator.widening is Widening.TYPE
            if (casts or node.op_type in _LIKE_ELEMENTWISE) and index == 0:
                return _elementwise(run, x, made, wanted, inputs, index)
            if operator.has(Trait.MOVES_FIRST) or operator.has(Trait.SAME_NUMBERS) or node.op_type == "Concat":
                moved = operator.role(index) in (Role.DATA, Role.STATE)
                return self._moved(node, index, output, wanted) if moved else None
            if operator.kind in (Kind.ELEMENTWISE, Kind.COMPARISON) or made.shape == np.broadcast_shapes(
                *(np.shape(other) for other in inputs if other is not None)
            ):
                return _elementwise(run, x, made, wanted, inputs, index)
            if operator.kind in (Kind.REDUCTION, Kind.POOLING) and index == 0:
                return _reduced(run, x, made, wanted, _axes(node, inputs))
            if node.op_type in ("MatMul", "Gemm") and index == 0 and not _is_transposed(node):
                scale = float(node.attributes["alpha"].value) if "alpha" in node.attributes else 1.0
                flipped = "transB" in node.attributes and node.attributes["transB"].as_int()
                weight = np.asarray(inputs[1], np.float64) * scale
                return _product(x, made, wanted, weight.T if flipped else weight)
        except (NoOracle, ValueError, IndexError, FloatingPointError):
            # A node that does not take such numbers, or not such shapes, is no way back.
            return None
        return None

    def _moved(self, node: ir.Node, index: int, output: int, wanted: Wanted) -> Wanted | None:
        """Number the elements, and look where they come out."""
        inputs, _ = self._seen.last[node]
        x = inputs[index]
        numbers = np.arange(1, x.size + 1, dtype=np.int64).reshape(x.shape)
        given = [
            numbers
            if at == index
            else np.zeros(np.shape(other), np.int64)
            if other is not None and facts_of(node).role(at) is Role.DATA
            else other
            for at, other in enumerate(inputs)
        ]
        places = np.asarray(self._observer.again(node, given, self._seen.values)[output]).astype(np.int64)
        array, mask = x.copy(), np.zeros(x.shape, bool)
        chosen = wanted.mask & (places > 0)
        at = places[chosen] - 1
        array.flat[at] = wanted.array[chosen]
        mask.flat[at] = True
        return Wanted(array, mask)


def _elementwise(
    run: Callable[[np.ndarray], np.ndarray], x: np.ndarray, made: np.ndarray, wanted: Wanted, inputs: Any, index: int
) -> Wanted | None:
    """Of several results of one broadcast element the first counts."""
    owners = np.broadcast_to(np.arange(x.size).reshape(x.shape), made.shape)[wanted.mask]
    elements, first = np.unique(owners, return_index=True)
    places = np.flatnonzero(wanted.mask)[first]
    others = [
        np.broadcast_to(other, made.shape).ravel()[places]
        for at, other in enumerate(inputs)
        if at != index
        and isinstance(other, np.ndarray)
        and other.dtype.kind in "fiu"
        and other.size
        and np.broadcast_shapes(other.shape, made.shape) == made.shape
    ]

    def function(numbers: np.ndarray) -> np.ndarray:
        array = x.copy()
        array.flat[elements] = numbers.astype(x.dtype)
        return run(array).ravel()[places]

    numbers, solved = solve(function, x.ravel()[elements], wanted.array.ravel()[places], others)
    array, mask = x.copy(), np.zeros(x.shape, bool)
    array.flat[elements[solved]] = numbers[solved]
    mask.flat[elements[solved]] = True
    return Wanted(array, mask)


def _reduced(
    run: Callable[[np.ndarray], np.ndarray], x: np.ndarray, made: np.ndarray, wanted: Wanted, axes: tuple[int, ...]
) -> Wanted | None:
    """Move all elements of a group by one amount; where that does not do, make them all alike."""
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    if int(np.prod(kept)) != made.size:
        return None
    mask = wanted.mask.reshape(kept)
    target = wanted.array.reshape(kept)
    groups = np.flatnonzero(mask)
    zero = np.zeros(groups.size, x.dtype if x.dtype.kind == "i" else np.float64)
    for moved in (True, False):

        def spread(numbers: np.ndarray, moved: bool = moved) -> np.ndarray:
            steps = np.zeros(kept, np.float64)
            steps.flat[groups] = numbers
            shifted = x + steps if moved else np.broadcast_to(steps, x.shape)
            return np.where(mask, shifted, x).astype(x.dtype)

        def function(numbers: np.ndarray, spread: Callable[..., np.ndarray] = spread) -> np.ndarray:
            return run(spread(numbers)).ravel()[groups]

        numbers, solved = solve(function, zero, target.ravel()[groups], ())
        if solved.any():
            reached = np.zeros(kept, bool)
            reached.flat[groups[solved]] = True
            return Wanted(spread(numbers), np.broadcast_to(reached, x.shape).copy())
    return None


def _product(x: np.ndarray, made: np.ndarray, wanted: Wanted, weight: np.ndarray) -> Wanted | None:
    """The smallest step of each row that gives the columns that are wanted."""
    if weight.ndim != 2 or x.shape[:-1] != made.shape[:-1]:
        return None
    array, mask = x.copy(), np.zeros(x.shape, bool)
    rows, steps = array.reshape(-1, x.shape[-1]), (wanted.array - made).reshape(-1, made.shape[-1])
    for row in np.flatnonzero(wanted.mask.reshape(steps.shape).any(axis=1))[:_MOST_SYSTEMS]:
        chosen = np.flatnonzero(wanted.mask.reshape(steps.shape)[row])[: weight.shape[0]]
        rows[row] += np.linalg.lstsq(weight[:, chosen].T, steps[row, chosen], rcond=None)[0]
        mask.reshape(rows.shape)[row] = True
    return Wanted(rows.reshape(x.shape), mask)


def _is_transposed(node: ir.Node) -> bool:
    return "transA" in node.attributes and bool(node.attributes["transA"].as_int())


def _axes(node: ir.Node, inputs: Any) -> tuple[int, ...]:
    """The axes that are reduced: given, or all; of a global pool those behind the channels."""
    rank = np.ndim(inputs[0])
    if node.op_type.startswith("Global"):
        return tuple(range(2, rank))
    given = inputs[1] if len(inputs) > 1 else None
    if given is None and "axes" in node.attributes:
        given = node.attributes["axes"].as_ints()
    if given is None or not np.size(given):
        return tuple(range(rank))
    return tuple(int(axis) % rank for axis in np.ravel(given))
