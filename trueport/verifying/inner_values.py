"""Values before outputs that hide errors: judged as well, where both models have them.

An output that hardly changes when the inputs do (a saturated softmax, an ArgMax, a Clip) would hide even large errors.
So the nearest values before it that do change are judged as outputs are, by `verify` and by `locate` alike. Values that
also go into an output that changes are left to that output.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.ir.artifact import InnerValue
from trueport.quoting import one_line
from trueport.reference.base import Oracle
from trueport.reference.walk import Stepper, Walkable, stream
from trueport.runtimes.base import Model
from trueport.verifying.align.failures import Failure, failed
from trueport.verifying.align.gaps import Gaps
from trueport.verifying.align.values import align
from trueport.verifying.inputs.pairing import PairedModel, pair
from trueport.verifying.judge.bulk import BULK_RUNS
from trueport.verifying.judge.output import Judgement, allowance, is_doubtful, judge
from trueport.verifying.judge.sensitivity import is_moved, moved_inputs
from trueport.verifying.verification import Verification, badness

__all__ = ["judge_inside", "output_ends"]

Feeds = Mapping[str, Any]

_HEAVY = 1 << 28
"""Bytes of weights above which values inside are not judged: that takes several more runs of both models."""
_FAR = 256
"""Values before an output among which a float is looked for."""
_NEAREST = 32
"""Values before an output that are looked at, the nearest first."""
_SAMPLES = 2
"""Sets of inputs on which they are judged."""


def output_ends(target: PairedModel) -> dict[str, InnerValue]:
    """Return by the source's outputs the target's inner value that each is, as far as it has one."""
    known = target.model.output_values()
    return {p.source: InnerValue(known[p.target], p.perm) for p in target.output_pairs if p.target in known}


def judge_inside(found: Verification, oracle: Oracle, executions: Sequence[Model], target: Model) -> Verification:
    """Return the same, with the values judged that lie before outputs which hide errors."""
    if found.verdict in (None, Verdict.DEPARTS) or found.strict or not found.hiding:
        return replace(found, hiding=())
    try:
        walk = oracle.walk(executions)
        graph = _Graph(walk, found)
        graph.leave_out_integers(found.looked_on[0])
        if not graph.hiding or walk.weight_bytes > _HEAVY:
            why = "that takes many runs of a model of this size" if graph.hiding else ""
            return replace(found, hiding=graph.hiding, unseen_inside=why)
        opened = _opened(target, executions[0])
        judged = [(feeds, _judged(walk, graph, opened, feeds, found.k)) for feeds in found.looked_on[:_SAMPLES]]
    except TrueportError as error:
        return replace(found, unseen_inside=one_line(error.why, 200))
    worst: dict[str, Judgement] = {}
    for one in (one for _, values in judged for one in values):
        worst[one.name] = max(worst.get(one.name, one), one, key=badness)
    shown = (feeds for feeds, values in judged if any(one.verdict == Verdict.DEPARTS for one in values))
    why = "" if worst else "no value before it that changes with the inputs is known in both models"
    return replace(
        found,
        hiding=graph.hiding,
        inner=tuple(worst.values()),
        unseen_inside=why,
        shown_by=next(shown, found.shown_by),
    )


def _opened(target: Model, source: Model) -> PairedModel:
    """Return the target with its inner values, called with the source's names."""
    if isinstance(target, PairedModel):
        return target.around(target.model.opened())
    opened = target.opened()
    return PairedModel(opened, *pair(source, opened))


class _Graph:
    """The source's graph before outputs that hide errors."""

    def __init__(self, walk: Walkable, found: Verification) -> None:
        self._walk = walk
        self._makers = {name: place for place in walk.places for name in place.makes if name}
        seen = [walk.outputs[o.name] for o in found.outputs if o.name in walk.outputs and o.name not in found.hiding]
        gaps = Gaps(walk.places, ())
        # A value that another output shows is judged by that one.
        self._shown = {*seen, *(read for place in gaps.behind(seen) for read in place.reads)}
        self._ends = {port: walk.outputs[port] for port in found.hiding if port in walk.outputs}
        self.hiding = tuple(port for port, end in self._ends.items() if any(True for _ in self._before(end)))

    def leave_out_integers(self, feeds: Feeds) -> None:
        """Forget outputs that are made of no floats: they are judged exactly, and hide nothing."""
        by_output = {port: list(itertools.islice(self._before(self._ends[port]), _FAR)) for port in self.hiding}
        names = [n for n in dict.fromkeys(itertools.chain(*by_output.values())) if n not in self._walk.unseen]
        values = self._walk.executions[0].run(feeds, fetch=names) if names else {}
        floats = {name for name, value in values.items() if _is_float(value)}
        self.hiding = tuple(port for port in self.hiding if not floats.isdisjoint(by_output[port]))

    def nearest(self) -> list[str]:
        """Return all values before these outputs that no other output shows, the nearest first."""
        return list(dict.fromkeys(name for port in self.hiding for name in self._before(self._ends[port])))

    def frontier(self, wanted: Collection[str]) -> list[str]:
        """Return the wanted values nearest to the outputs: nothing before them is looked at."""
        found = (n for port in self.hiding for n in self._before(self._ends[port], wanted) if n in wanted)
        return list(dict.fromkeys(found))

    def _before(self, end: str, until: Collection[str] = ()) -> Iterator[str]:
        waiting, met = [end], {end}
        while waiting:
            place = self._makers.get(waiting.pop(0))
            for read in place.reads if place is not None else ():
                if read not in self._makers or read in met or read in self._shown:
                    continue
                met.add(read)
                yield read
                if read not in until:
                    waiting.append(read)


def _judged(walk: Walkable, graph: _Graph, target: PairedModel, feeds: Feeds, k: float) -> list[Judgement]:
    """Judge the nearest values before each output that change with the inputs."""
    aligned = align(walk, target, output_ends(target), feeds)
    known = aligned.inner()
    names = [name for name in graph.nearest() if name in known and aligned.is_certain(name)][:_NEAREST]
    if not names:
        return []
    plain = [model.run(feeds, fetch=names) for model in walk.executions]
    moved = walk.executions[0].run(moved_inputs(feeds), fetch=names)
    values = _Values(walk, feeds, names)
    sensitive = {n for n in names if _is_float(plain[0][n]) and values.moves(n, plain[0][n], moved[n], k)}
    wanted = graph.frontier(sensitive)
    got = aligned.values(feeds, wanted)
    return [values.judged(n, [run[n] for run in plain], got[n], k) for n in wanted if n in got]


class _Values:
    """Values inside the source, by its float64 reference."""

    def __init__(self, walk: Walkable, feeds: Feeds, names: Sequence[str]) -> None:
        self._walk, self._start, self._names = walk, walk.start(feeds), set(names)
        behind = Gaps(walk.places, ()).behind(names)
        self._places = [place for place in walk.places if place in behind]
        self._truth, *self._noisy = map(self._run, walk.steppers)

    def moves(self, name: str, plain: Any, moved: Any, k: float) -> bool:
        """Return whether a value changes by more than is allowed for rounding."""
        return is_moved(plain, moved, self._truth[name], [run[name] for run in self._noisy], k)

    def judged(self, name: str, plain: Sequence[Any], got: Any, k: float) -> Judgement:
        """Judge a value of the target as an output is judged."""
        if isinstance(got, Failure):
            return failed(name, got)
        found = judge(name, plain, got, self._truth[name], [run[name] for run in self._noisy], k=k)
        if not is_doubtful(found, known=False):
            return found
        while len(self._noisy) < BULK_RUNS:
            self._noisy += map(self._run, self._walk.steppers[1:])  # each draws on
        noisy = [run[name] for run in self._noisy]
        found = judge(name, plain, got, self._truth[name], noisy, k=k)
        if found.verdict == Verdict.DEPARTS and _is_turned_over(plain[0], got, self._truth[name], noisy, k):
            why = "as many elements differ as rounding turns over"
            return replace(found, verdict=Verdict.FAITHFUL, ratio=0.0, why=why)
        return found

    def _run(self, stepper: Stepper) -> dict[str, Any]:
        made = stream(stepper, self._places, self._start)
        return {name: array for name, array in made if name in self._names}


def _is_turned_over(plain: np.ndarray, got: Any, truth: Any, noisy: Sequence[Any], k: float) -> bool:
    """Return whether a noisy run, judged by all others, departs as much: behind a quantization rounding makes steps."""
    if not isinstance(got, np.ndarray) or got.shape != plain.shape or got.dtype != plain.dtype:
        return False
    count, largest = _beyond(plain, got, truth, noisy, k)
    others = [
        _beyond(plain, run.astype(plain.dtype), truth, [*noisy[:index], *noisy[index + 1 :]], k)
        for index, run in enumerate(noisy)
        if np.shape(run) == plain.shape
    ]
    return bool(others) and count <= k * max(n for n, _ in others) and largest <= k * max(size for _, size in others)


def _beyond(plain: np.ndarray, got: np.ndarray, truth: Any, noisy: Sequence[Any], k: float) -> tuple[int, float]:
    """Return how many elements are farther from the reference than rounding explains, and the largest distance."""
    exact, allowed = allowance(plain, truth, noisy, k)
    with np.errstate(all="ignore"):
        distance = np.abs(got.astype(exact.dtype) - exact)
        beyond = ~(distance <= allowed) & ~(np.isnan(got) & np.isnan(exact))
    if np.any(beyond & ~np.isfinite(distance)):
        return got.size, float("inf")
    return int(np.sum(beyond)), float(np.max(distance[beyond], initial=0.0))


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and (value.dtype.kind == "f" or value.dtype == ml_dtypes.bfloat16)
