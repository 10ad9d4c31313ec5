"""One evaluation of a source with every intermediate value at hand, and what it reached."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.errors import NoOracle
from trueport.mapping.registry import RECORDS
from trueport.operators.record import Kind
from trueport.operators.table import facts_of
from trueport.reference.onnx.evaluate import WideEvaluator, values_read
from trueport.reference.onnx.noise import NodeRounding
from trueport.reference.onnx.widen import widened_array
from trueport.reference.walk import nbytes
from trueport.verifying.coverage.count import Count, Family
from trueport.verifying.coverage.sides import FAMILIES as SIDES
from trueport.verifying.coverage.sides import Compared, Wide
from trueport.verifying.coverage.tables import FAMILIES as TABLES
from trueport.verifying.inputs.reach.paths import Paths

__all__ = ["MOST_WORK", "Observation", "Observer", "TooLarge", "family_of"]

MOST_WORK = 100_000_000
"""Multiplications and elements of one evaluation; a larger model is not counted on."""
_PER_NODE = 20_000
"""What calling a node costs, in multiplications."""
_LARGEST = 1e30
"""A float32 that is squared, summed or scaled a little still holds this."""


class Observation:
    """What one set of inputs made of every node; of a node in a loop the last step."""

    def __init__(self) -> None:
        self.values: dict[ir.Value, Any] = {}
        self.counts: dict[ir.Node, Count] = {}
        self.last: dict[ir.Node, tuple[Sequence[Any], Sequence[Any]]] = {}
        self.complete = True
        """False where the evaluation ended early"""
        self.holds_all = True
        """False where intermediate values were dropped after their last use"""
        self.overflows = False
        """a float became infinite or nearly so, or an integer wrapped around"""

    def note(self, node: ir.Node, found: Count) -> None:
        """Add what was reached to what was before."""
        known = self.counts.get(node)
        if known is not None and len(known.hit) == len(found.hit):
            found = Count(found.kind, found.labels, known.hit | found.hit)
        self.counts[node] = found


_NOTHING = Count("", (), np.zeros(0, bool))
"""Of a node that decides nothing, on these types or attributes."""


class TooLarge(Exception):
    """The model does more work than is spent on counting."""


class Observer(WideEvaluator):
    """Evaluates a canonical model in float64, node by node, and looks at each."""

    def __init__(self, graph: ir.Graph, paths: Paths) -> None:
        super().__init__(ir.Model(graph, ir_version=10), NodeRounding(RECORDS), lambda node: None)
        self.paths = paths
        self._now = Observation()
        self._work, self._keep = 0, True
        self._masked: Collection[ir.Node] = ()
        self.spent = 0
        """multiplications of all evaluations so far"""
        self._watched: dict[ir.Node, Family | None] = {}

    def observe(
        self, feeds: Mapping[str, Any], *, most_held: float = math.inf, masked: Collection[ir.Node] = ()
    ) -> Observation:
        """Return what these inputs reach; as far as the reference goes. Raises `TooLarge`.

        ``most_held``: bytes up to which every intermediate value is held; where they are more, each is dropped after
        its last use. Solving for other inputs needs all. ``masked``: nodes whose counts have masks, as long as values
        are held.
        """
        self._now, self._work, self._keep, self._masked = Observation(), 0, True, masked
        made = self._now.values
        made.update(
            (value, widened_array(feeds[value.name]))
            for value in self.graph.inputs
            if value.name is not None and value.name in feeds
        )
        uses, held = Counter(value for node in self.graph for value in values_read(node)), 0
        try:
            for node in self.graph:
                given = [None if value is None else self.value(value, made) for value in node.inputs]
                results = list(zip(node.outputs, self.step(node, given, made), strict=False))
                held += sum(nbytes(array) for _, array in results)
                made.update(results)
                uses.subtract(values_read(node))
                if self._keep and held > most_held:
                    self._keep = self._now.holds_all = False
                    self._now.last.clear()
                if not self._keep:
                    for value in [value for value in made if not uses[value]]:
                        del made[value]
        except NoOracle:
            self._now.complete = False
        return self._now

    def step(
        self,
        node: ir.Node,
        inputs: Sequence[Any],
        around: Mapping[ir.Value, Any] | None = None,
        sizes: Sequence[Any] | None = None,
    ) -> Sequence[Any]:
        """Evaluate one node, and note what it reached."""
        work = _work(node, inputs)
        self._work += work
        self.spent += work
        if self._work > MOST_WORK:
            raise TooLarge
        results = super().step(node, inputs, around, sizes)
        if self._keep:
            self._now.last[node] = inputs, results
            self._now.values.update(zip(node.inputs, inputs, strict=False))  # type: ignore[arg-type]
        self._now.overflows |= _overflows(node, inputs, results)
        family = self._family(node)
        if family is not None and node.op_type != "Loop":
            self._note(node, family, inputs, results)
        return results

    def again(self, node: ir.Node, inputs: Sequence[Any], around: Mapping[ir.Value, Any]) -> Sequence[Any]:
        """Evaluate one node on other inputs; nothing is noted."""
        self.spent += _work(node, inputs)
        return super().step(node, inputs, around)

    def _loop(self, node: ir.Node, inputs: Sequence[Any], around: Mapping[ir.Value, Any]) -> list[Any] | None:
        steps = 0
        body = node.attributes["body"].as_graph()
        inside = self._inside

        def counted(graph: ir.Graph, given: Sequence[Any], held: Mapping[ir.Value, Any]) -> list[Any]:
            nonlocal steps
            steps += graph is body
            return inside(graph, given, held)

        self.__dict__["_inside"] = counted
        try:
            made = super()._loop(node, inputs, around)
        finally:
            self.__dict__["_inside"] = inside
        family = self._family(node)
        if family is not None:
            self._note(node, family, inputs, [steps])
        return made

    def _note(self, node: ir.Node, family: Family, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        try:
            found = family.count(node, inputs, results)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            # What is not as the operator's schema says is not counted: the comparison itself must not end here.
            return
        if found is not None and not (self._keep and node in self._masked):
            found = Count(found.kind, found.labels, found.hit)
        self._now.note(node, found or _NOTHING)

    def _family(self, node: ir.Node) -> Family | None:
        if node not in self._watched:
            self._watched[node] = family_of(node, self.paths)
        return self._watched[node]


def family_of(node: ir.Node, paths: Paths) -> Family | None:
    """Return how a node decides; None where it does not, or where the inputs' numbers have no say in it."""
    family: Family | None = TABLES.get((node.domain, node.op_type)) or (
        SIDES.get(node.op_type) if not node.domain else None
    )
    if family is None:
        return None
    deciding = [node.inputs[at] for at in family.operand(node) if at < len(node.inputs)]
    if not any(value in paths.depends for value in deciding):
        return None
    # Products of indices and lengths are as small as these are.
    ranged = isinstance(family, Wide) or node.op_type == "Cast"
    used = [value for value in deciding if value in paths.depends]
    if isinstance(family, Compared):
        family = replace(family, exact=all(value in paths.exact for value in used))
    return None if ranged and not all(value in paths.free for value in used) else family


def _work(node: ir.Node, inputs: Sequence[Any]) -> int:
    sizes = [int(array.size) for array in inputs if isinstance(array, np.ndarray)]
    if facts_of(node).kind in (Kind.PRODUCT, Kind.RECURRENCE, Kind.ATTENTION) and len(sizes) > 1:
        first, second = (array for array in list(inputs)[:2])
        spread = int(np.prod(np.shape(first)[2:])) if node.op_type.endswith("Conv") else np.shape(first)[-2:-1]
        rows = spread if isinstance(spread, int) else int(np.prod(spread or (1,)))
        batch = int(np.shape(first)[0]) if np.ndim(first) > 2 else 1
        return _PER_NODE + int(np.size(second)) * max(rows, 1) * max(batch, 1)
    return _PER_NODE + sum(sizes)


def _overflows(node: ir.Node, inputs: Sequence[Any], results: Sequence[Any]) -> bool:
    for value, made in zip(node.outputs, results, strict=False):
        if not isinstance(made, np.ndarray) or not made.size:
            continue
        if made.dtype.kind == "f" and value.dtype in (ir.DataType.FLOAT, ir.DataType.FLOAT16):
            limit = _LARGEST if value.dtype == ir.DataType.FLOAT else 6e4
            finite = made[np.isfinite(made)]
            if finite.size and np.max(np.abs(finite)) > limit and not any(_is_beyond(array, limit) for array in inputs):
                return True
        if made.dtype.kind == "i" and node.op_type in _WRAPS and not node.domain:
            wide = _WRAPS[node.op_type](*(np.asarray(array).astype(np.float64) for array in inputs[:2]))
            if wide.shape == made.shape and np.any(np.abs(wide - made) > 1e-6 * np.abs(wide) + 1):
                return True
    return False


def _is_beyond(array: Any, limit: float) -> bool:
    """True of masks, which hold the lowest float on purpose."""
    return isinstance(array, np.ndarray) and array.dtype.kind == "f" and bool(np.any(np.abs(array) > limit))


_WRAPS: Mapping[str, Any] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
