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
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.verifying.coverage.tally import Seen
from trueport.verifying.inputs.composites import INNER_SIZES, find_composites
from trueport.verifying.inputs.draw import SPECIAL, draw, is_float
from trueport.verifying.inputs.hints import Hints, graph_hints
from trueport.verifying.inputs.probing import Accepts, Answer, ask
from trueport.verifying.inputs.reach.search import Reach
from trueport.verifying.inputs.size_candidates import SizedGraph, sized_by
from trueport.verifying.inputs.sizes import Dims, Sizes, dim_key, open_dims, plan_sizes

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


_BEYOND = 4
_LARGE = 1
_FIRST_LARGE, _FIRST_TESTED, _FIRST_SEARCHED = 100, 200, 300
"""Numbers of samples by which their random numbers differ from all others'."""


class Sample(dict[str, Any]):
    """Inputs by name, and how they were drawn."""

    about: str
    special: bool
    """whether it holds NaN, infinities or denormals: such are judged apart"""
    bold: bool
    """whether it may be more than the source takes: then it is dropped, and not counted"""
    tested: bool
    """whether it holds NaN or infinities that the source's graph tests for: what comes out finite is ordinary"""
    seen: Seen | None
    """what it reaches in the source's graph; None where that is not known"""
    left_out: str
    """inputs that the plan does without for their cost"""

    def __init__(
        self, feeds: Feeds, about: str = "", *, special: bool = False, bold: bool = False, tested: bool = False
    ) -> None:
        super().__init__(feeds)
        self.about = about
        self.special = special
        self.bold, self.tested = bold, tested
        self.seen, self.left_out = None, ""


@dataclass(frozen=True)
class Plan:
    """How the inputs of one model are drawn."""

    ports: tuple[Port, ...]
    hints: Mapping[str, Hints]
    sizes: Sizes
    seed: int
    inner: Sequence[int]
    """sizes to give the inner axes of sparse tensors"""
    reach: Reach | None = None
    """counts what samples reach in the source's graph, and looks for others; None where no graph is known"""

    def samples(self, count: int | None = None) -> Iterator[Sample]:
        """Ordinary numbers; as many sets as the plan has, or ``count``."""
        for index in range(len(PLAN) if count is None else count):
            yield self._seen(self.sample(index, PLAN[index % len(PLAN)], self.sizes.row(index)))

    def beyond(self, accepts: Accepts | None = None, most: int = _BEYOND, large: int = _LARGE) -> Iterator[Sample]:
        """Sets for what the others did not reach: tested NaN and infinities, large numbers, and what is solved for.

        They come after :meth:`samples`: what these reached is not looked for again. ``most``: how many are solved
        for; ``large``: how many hold large numbers. ``accepts`` tells whether the source takes inputs.
        """
        yield from self._tested()
        for turn in range(large):
            index = _FIRST_LARGE + turn
            sample = self.sample(index, "large", self.sizes.row(1 + turn))
            if self.reach is None or self.reach.stays_finite(sample):
                sample.bold = True
                yield self._seen(sample)
        if self.reach is not None:
            for found in self.reach.search(self._base, _takes(accepts), most):
                sample = Sample(found.feeds, f"reaches more ({found.how})", bold=True)
                sample.seen = found.seen
                yield sample

    def _tested(self) -> Iterator[Sample]:
        """NaN and infinities, in inputs that the graph tests for them."""
        for index, (strategy, test) in enumerate((("NaN", "IsNaN"), ("infinity", "IsInf")), _FIRST_TESTED):
            named = {name for name, hints in self.hints.items() if test in hints.tests}
            if not any(port.name in named and is_float(port.element) for port in self.ports):
                continue
            plain = self.sample(index, "normal", self.sizes.row(1))
            strewn = self.sample(index, strategy, self.sizes.row(1))
            feeds = {name: strewn[name] if name in named else plain[name] for name in plain}
            yield self._seen(Sample(feeds, f"{strategy} where it is tested for", tested=True))

    def _base(self, index: int, rows: int) -> Sample:
        """Ordinary inputs to begin a search with; open batches have at least so many rows."""
        sizes = dict(self.sizes.row(1))
        sizes |= {
            name: max(sizes.get(name, 1), rows) for name, batch in open_dims(self.ports).items() if batch and rows
        }
        return self.sample(_FIRST_SEARCHED + index, "normal", sizes)

    def _seen(self, sample: Sample) -> Sample:
        sample.left_out = self.sizes.left_out
        if self.reach is not None:
            sample.seen = self.reach.look(sample)
        return sample

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
    return Plan(tuple(ports), learned, sizes, seed, inner, _reach(ports, graph, learned))


def _reach(ports: Sequence[Port], graph: ir.Graph | None, hints: Mapping[str, Hints]) -> Reach | None:
    """Return what counts in the graph; None where it can't be evaluated: another opset, other inputs."""
    if graph is None or any(CANONICAL_OPSETS.get(name, at) != at for name, at in graph.opset_imports.items()):
        return None
    named = {value.name for value in graph.inputs if value.name not in graph.initializers}
    if named != {port.name for port in ports} or any(port.kind != "tensor" for port in ports):
        return None
    return Reach(graph, [name for name, known in hints.items() if known.bounded])


def _takes(accepts: Accepts | None) -> Callable[[Feeds], bool]:
    return (lambda feeds: True) if accepts is None else lambda feeds: bool(accepts(feeds))


def make_inputs(
    ports: Sequence[Port],
    graph: ir.Graph | None = None,
    *,
    seed: int = 0,
    samples: int | None = None,
    dims: Dims | None = None,
    accepts: Accepts | None = None,
) -> list[Sample]:
    """Return inputs of ordinary numbers; see :func:`plan_inputs`."""
    return list(plan_inputs(ports, graph, seed=seed, dims=dims, accepts=accepts, rows=samples).samples(samples))


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
