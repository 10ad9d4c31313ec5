"""Inputs that bite: several sizes of every open dim, several kinds of numbers, and those that the graph suggests.

A plan is made from the inputs' types and, where there is a graph, from what it does with them: an integer that indexes
a table stays inside it, a float that is quantized also comes at the ties between two steps, one that is clipped at the
bounds. The same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.ports import Port, make_ports
from trueport.verifying.inputs.composites import INNER_SIZES, find_composites
from trueport.verifying.inputs.draw import SPECIAL, draw, is_float
from trueport.verifying.inputs.hints import Hints, graph_hints
from trueport.verifying.inputs.probing import Accepts, Answer, ask
from trueport.verifying.inputs.size_candidates import SizedGraph, sized_by
from trueport.verifying.inputs.sizes import Dims, Sizes, dim_key, plan_sizes

__all__ = ["PLAN", "Plan", "Sample", "graph_ports", "make_inputs", "plan_inputs"]

Feeds = Mapping[str, Any]

PLAN = (
    "normal",
    "boundaries",
    "normal",
    "signal",
    "uniform",
    "heavy-tailed",
    "integers",
    "negative",
    "powers of two",
    "zeros",
    "ones",
)
"""What is drawn, in this order: the first few are what a quick look takes."""


class Sample(dict[str, Any]):
    """Inputs by name, and how they were drawn."""

    about: str
    special: bool
    """whether it holds NaN, infinities or denormals: such are judged apart"""

    def __init__(self, feeds: Feeds, about: str = "", *, special: bool = False) -> None:
        super().__init__(feeds)
        self.about = about
        self.special = special


@dataclass(frozen=True)
class Plan:
    """How the inputs of one model are drawn."""

    ports: tuple[Port, ...]
    hints: Mapping[str, Hints]
    sizes: Sizes
    seed: int
    inner: Sequence[int]
    """sizes to give the inner axes of sparse tensors"""

    def samples(self, count: int | None = None) -> Iterator[Sample]:
        """Ordinary numbers; as many sets as the plan has, or ``count``."""
        for index in range(len(PLAN) if count is None else count):
            yield self.sample(index, PLAN[index % len(PLAN)], self.sizes.row(index))

    def specials(self) -> Iterator[Sample]:
        """Sets with NaN, infinities and denormals; none where no input can hold them."""
        if any(is_float(port.element) for port in self.ports):
            for index, strategy in enumerate(SPECIAL, len(PLAN)):
                yield self.sample(index, strategy, self.sizes.row(1))

    def sample(self, index: int, strategy: str, sizes: Mapping[str, int]) -> Sample:
        """One set; ``index`` and the seed alone decide the numbers."""
        rng = np.random.default_rng([self.seed, index])
        made: dict[str, Any] = {}

        def numbers(port: Port, shape: Sequence[int]) -> np.ndarray:
            if port.element == ir.DataType.BOOL and not shape and not self.hints.get(port.name, Hints()).fixed:
                return np.array(index % 2 == 0)  # a switch: both of its positions come up
            return draw(port.element, rng, strategy, shape, self.hints.get(port.name, Hints()), sizes)

        parts = {part.name: group for group in find_composites(self.ports) for part in group.parts.values()}
        for port in self.ports:
            if port.name in made:
                continue
            if port.name in parts:
                made |= parts[port.name].draw(rng, _rows(index, sizes), numbers, self.inner)
            else:
                made[port.name] = _value(port, rng, sizes, numbers)
        about = ", ".join([strategy, *(f"{name} = {size}" for name, size in sizes.items())])
        ordered = {port.name: made[port.name] for port in self.ports}
        return Sample(ordered, about, special=strategy in SPECIAL)


def plan_inputs(
    ports: Sequence[Port],
    graph: ir.Graph | None = None,
    *,
    seed: int = 0,
    dims: Dims | None = None,
    accepts: Accepts | None = None,
    rows: int | None = None,
    hints: Mapping[str, Hints] | None = None,
    graphs: Sequence[SizedGraph] | None = None,
) -> Plan:
    """Plan the inputs of a model with these ports.

    ``graph``: what its inputs are looked up in, under the ports' names; ``hints`` where the names differ.
    ``accepts`` tells whether the source takes inputs: with it, sizes are looked for that it does take.
    ``rows``: how many different rows of sizes are wanted at most. ``graphs``: what sizes matter to, by default
    ``graph``.
    """
    learned = hints if hints is not None else graph_hints(graph) if graph is not None else {}
    inner = _table_sizes(graph)
    sized = [port for port in ports if port.name not in _part_names(ports)]
    plain = Plan(tuple(ports), learned, Sizes(({},)), seed, inner)

    def tried(sizes: Mapping[str, int], *, apart: bool = False) -> Answer:
        return Answer(True) if accepts is None else ask(accepts, plain.sample(0, "normal", sizes), apart=apart)

    if graphs is None:
        graphs = [SizedGraph(graph, {port.name: sized_by(port) for port in sized})] if graph is not None else []
    sizes = plan_sizes(sized, dims, tried if accepts is not None else None, rows, graphs)
    return Plan(tuple(ports), learned, sizes, seed, inner)


def make_inputs(
    ports: Sequence[Port],
    graph: ir.Graph | None = None,
    *,
    seed: int = 0,
    samples: int | None = None,
    dims: Dims | None = None,
    accepts: Accepts | None = None,
) -> list[Sample]:
    """Inputs of ordinary numbers; see :func:`plan_inputs`."""
    plan = plan_inputs(ports, graph, seed=seed, dims=dims, accepts=accepts, rows=samples)
    return list(plan.samples(samples))


def graph_ports(graph: ir.Graph) -> tuple[Port, ...]:
    """The inputs of a graph that have to be fed."""
    return make_ports(value for value in graph.inputs if value.name not in graph.initializers)


def _value(
    port: Port,
    rng: np.random.Generator,
    sizes: Mapping[str, int],
    numbers: Callable[[Port, Sequence[int]], np.ndarray],
) -> Any:
    if port.kind in ("map", "sequence_map"):
        keys = ["a", "b"] if port.key_dtype == "STRING" else [0, 1]
        row = dict(zip(keys, rng.normal(size=2).tolist(), strict=True))
        return row if port.kind == "map" else [row]
    shape = [d if isinstance(d, int) else sizes.get(dim_key(port, a), 1) for a, d in enumerate(port.shape or ())]
    array = numbers(port, shape)
    return array if port.kind in ("tensor", "pair", "optional") else [array]


def _rows(index: int, sizes: Mapping[str, int]) -> int:
    """Rows of a ragged or sparse value: the batch, where other inputs have one."""
    return sizes.get("axis 0", next(iter(sizes.values()), (3, 5, 1)[index % 3]))


def _part_names(ports: Sequence[Port]) -> set[str]:
    return {part.name for group in find_composites(ports) for part in group.parts.values()}


def _table_sizes(graph: ir.Graph | None) -> Sequence[int]:
    """First axes of the graph's matrices: what a sparse row is multiplied with has as many columns."""
    shapes = [value.shape for value in graph.initializers.values()] if graph is not None else []
    found = [shape[0] for shape in shapes if shape is not None and len(shape) == 2]
    return [size for size in found if isinstance(size, int) and size][:1] or INNER_SIZES
