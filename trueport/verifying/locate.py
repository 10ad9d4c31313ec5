"""Which node departs first, how much of its error is its own, and how much it inherited.

Every value that both models have is judged as an output is: against the float64 truth, over what rounding explains.
Where a value departs though what it is made from does not, its node is run by itself: the target's part on the source's
inputs, judged against the truth of that part on the same inputs. A node whose own ratio exceeds ``k`` is the culprit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.errors import InvalidInput, NoOracle
from trueport.fidelity import Verdict
from trueport.ir.provenance import origins
from trueport.runtimes.base import Model
from trueport.runtimes.wide.evaluate import captured
from trueport.runtimes.wide.widen import widened_array
from trueport.verifying.judge import DEFAULT_K, Judgement, judge
from trueport.verifying.oracle import OnnxOracle

__all__ = ["Cause", "Culprit", "Located", "NodeCase", "Step", "locate"]

Feeds = Mapping[str, Any]
_SEGMENT_BYTES = 1 << 28
"""Values that are held at once while a model is walked, in each of the runs that are compared."""

_GROWS = "no single node departs by itself: the error grows along the graph"


@dataclass(frozen=True)
class Step:
    """One aligned value: the error it shows at the end of everything before it."""

    value: str
    node: str
    op: str
    ratio: float
    error: float
    """largest distance from the truth"""
    floor: float
    """largest distance that rounding explains"""


@dataclass(frozen=True)
class NodeCase:
    """A node with everything needed to look for the cause: what goes in, what comes out, what should."""

    node: ir.Node
    inputs: tuple[Any, ...]
    """the source's own values"""
    source: Any
    target: Any
    truth: Any
    noisy: tuple[Any, ...]
    output: str
    again: Callable[[ir.Node, Sequence[Any]], Sequence[Any]]
    """evaluates a changed node in float64, on inputs"""


@dataclass(frozen=True)
class Cause:
    """An explanation with its evidence."""

    kind: str
    """a class of causes: ``attribute``, ``weight``, ``dtype``, ``layout``, ``rounding`` …"""
    what: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.what} ({self.evidence})"


@dataclass(frozen=True)
class Culprit:
    """The first node that departs by itself."""

    value: str
    node: str
    op: str
    origin: tuple[str, ...]
    own: Judgement
    inherited: float
    """the ratio of the worst of its inputs"""
    end_to_end: Judgement
    causes: tuple[Cause, ...] = ()
    """what would explain it, most likely first"""
    case: NodeCase | None = None


@dataclass(frozen=True)
class Located:
    """The walk along the graph, and where it found the first departure."""

    steps: tuple[Step, ...]
    culprit: Culprit | None
    aligned: int
    values: int
    """of the source's inner values, so many were found in the target"""
    k: float = DEFAULT_K
    why: str = ""
    feeds: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """the inputs on which it was found"""


def locate(
    source: Sequence[Model], target: Model, feeds: Feeds, oracle: OnnxOracle, *, k: float = DEFAULT_K
) -> Located:
    """Walk all values that both models have, in the order in which they are made."""
    graph = oracle.model.graph
    made = [(node, value) for node in graph for value in node.outputs if value.name]
    common = {*target.inner(), *(port.name for port in target.outputs)} & {v.name for _, v in made if v.name}
    ratios: dict[ir.Value, Judgement] = {}
    steps: list[Step] = []
    looked: set[ir.Value] = set()

    def culprit(node: ir.Node, value: ir.Value) -> Culprit | None:
        looked.add(value)
        before = max((ratios[v].ratio for v in _aligned_before(node, ratios)), default=0.0)
        own, case = _own(source, target, feeds, oracle, node, value, k)
        if own is None or own.verdict != Verdict.DEPARTS:
            return None
        names = value.name or "", node.name or ""
        return Culprit(*names, node.op_type, origins(node), own, before, ratios[value], (), case)

    for (node, value), found, step in _walk(source, target, feeds, oracle, made, common, k):
        ratios[value] = found
        steps.append(step)
        inherited = any(ratios[v].ratio > k for v in _aligned_before(node, ratios))
        guilty = culprit(node, value) if found.verdict == Verdict.DEPARTS and not inherited else None
        if guilty is not None:
            return Located(tuple(steps), guilty, len(common), len(made), k)
    if not any(step.ratio > k for step in steps):
        return Located(tuple(steps), None, len(common), len(made), k, "every value is within what rounding explains")
    # Where rounding tips decisions (a quantized value, a choice), what a node inherits may hide what it does itself.
    for node, value in made:
        guilty = culprit(node, value) if value in ratios and value not in looked else None
        if guilty is not None:
            return Located(tuple(steps), guilty, len(common), len(made), k)
    return Located(tuple(steps), None, len(common), len(made), k, _GROWS)


def _walk(
    source: Sequence[Model],
    target: Model,
    feeds: Feeds,
    oracle: OnnxOracle,
    made: Sequence[tuple[ir.Node, ir.Value]],
    common: set[str],
    k: float,
) -> Iterator[tuple[tuple[ir.Node, ir.Value], Judgement, Step]]:
    """Values by segments: as many as fit into memory are fetched from both models at once."""
    exact = oracle.exact.values(feeds)
    noisy = [run.values(feeds) for run in oracle.noisy]
    places = {value: (node, value) for node, value in made}
    segment: list[tuple[ir.Value, Any, list[Any]]] = []
    held = 0
    for value, truth in exact:
        errs = [next(run)[1] for run in noisy]
        if value not in places or value.name not in common:
            continue
        segment.append((value, truth, errs))
        held += _nbytes(truth)
        if held > _SEGMENT_BYTES:
            yield from _judged(source, target, feeds, segment, places, k)
            segment, held = [], 0
    yield from _judged(source, target, feeds, segment, places, k)


def _judged(
    source: Sequence[Model],
    target: Model,
    feeds: Feeds,
    segment: Sequence[tuple[ir.Value, Any, list[Any]]],
    places: Mapping[ir.Value, tuple[ir.Node, ir.Value]],
    k: float,
) -> Iterator[tuple[tuple[ir.Node, ir.Value], Judgement, Step]]:
    names = [value.name or "" for value, _, _ in segment]
    if not names:
        return
    runs = [model.run(feeds, fetch=names) for model in source]
    got = target.run(feeds, fetch=names)
    for value, truth, errs in segment:
        name = value.name or ""
        found = judge(name, [run[name] for run in runs], got[name], truth, errs, k=k)
        node = places[value][0]
        step = Step(
            name,
            node.name or "",
            node.op_type,
            found.ratio,
            _distance(got[name], truth),
            max((_distance(e, truth) for e in (*errs, runs[0][name])), default=0.0),
        )
        yield places[value], found, step


def _own(
    source: Sequence[Model], target: Model, feeds: Feeds, oracle: OnnxOracle, node: ir.Node, value: ir.Value, k: float
) -> tuple[Judgement | None, NodeCase | None]:
    """The node by itself: the target's part on the source's inputs. None where it can't be cut out."""
    read = [v for v in (*node.inputs, *captured(node)) if v is not None and v.const_value is None]
    inner = list(dict.fromkeys(v.name or "" for v in read if not v.is_graph_input()))
    name = value.name or ""
    try:
        taken = {**feeds, **source[0].run(feeds, fetch=[*inner, name])}
        got = target.segment({n: taken[n] for n in inner if n in target.inner()}, [name], feeds)[name]
        around = {v: widened_array(taken[v.name or ""]) for v in read}
        arrays = [None if v is None else oracle.exact.value(v, around) for v in node.inputs]
        index = list(node.outputs).index(value)
        truth = oracle.exact.step(node, arrays, around)[index]
        errs = [run.step(node, arrays, around)[index] for run in oracle.noisy]
    except (NoOracle, InvalidInput):
        return None, None
    own = judge(name, [taken[name]], got, truth, errs, k=k)

    def again(changed: ir.Node, changed_inputs: Sequence[Any]) -> Sequence[Any]:
        return oracle.exact.step(changed, changed_inputs, around)

    case = NodeCase(node, tuple(arrays), taken[name], got, truth, tuple(errs), name, again)
    return own, case


def _aligned_before(node: ir.Node, known: Mapping[ir.Value, Judgement]) -> list[ir.Value]:
    """The nearest values before a node that were judged."""
    found: list[ir.Value] = []
    waiting = [value for value in node.inputs if value is not None]
    seen: set[ir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        maker = value.producer()
        if value in known:
            found.append(value)
        elif maker is not None:
            waiting += [v for v in maker.inputs if v is not None]
    return found


def _distance(value: Any, truth: Any) -> float:
    if not isinstance(truth, np.ndarray) or np.shape(value) != truth.shape or truth.dtype.kind not in "fiu":
        return 0.0
    with np.errstate(all="ignore"):
        gap = np.abs(np.asarray(value).astype(np.float64) - truth.astype(np.float64))
    return float(np.max(gap[np.isfinite(gap)], initial=0.0))


def _nbytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(_nbytes(item) for item in value) if isinstance(value, (list, tuple)) else 0
