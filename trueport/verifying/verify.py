"""Both models on the same inputs, judged against the float64 truth and the source's own noise."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.errors import NoOracle, TrueportError
from trueport.fidelity import Verdict
from trueport.quoting import one_line
from trueport.reference.base import NoReference, Oracle
from trueport.runtimes.base import Model
from trueport.verifying.inputs.probing import reason_of
from trueport.verifying.inputs.rejected import some_rejected, why_rejected
from trueport.verifying.judge.criteria import Asked, as_asked
from trueport.verifying.judge.known_departures import known_departure
from trueport.verifying.judge.metrics import Metrics, measure
from trueport.verifying.judge.output import Judgement, is_doubtful, judge, source_distance
from trueport.verifying.judge.saturation import Saturation
from trueport.verifying.judge.summed_bounds import compare_outputs
from trueport.verifying.judge.tied_indices import Ties
from trueport.verifying.verification import Verification, badness

__all__ = ["verify_runs"]

Feeds = Mapping[str, Any]


_EQUAL = "equal"
_STRANGE = 100.0
"""A source that is so many times as far from the truth as rounding explains: one of them is wrong."""


class _Worst:
    """The worst judgement of every output, over samples."""

    def __init__(self) -> None:
        self.outputs: dict[str, Judgement] = {}
        self.strange: dict[str, float] = {}
        self.samples = 0

    def look(self, name: str, source: Any, truth: Any, noisy: Sequence[Any]) -> None:
        """Keep how far the source is from its truth, where that is strange."""
        if isinstance(source, (np.ndarray, np.generic)):
            away = source_distance(source, truth, noisy)
            if away > _STRANGE:
                self.strange[name] = max(away, self.strange.get(name, 0.0))

    def hints(self, source: Model) -> tuple[str, ...]:
        """One sentence per strange output."""
        if not self.strange:
            return ()
        because = known_departure(source) or (
            "its runtime is inexact there, or the truth is wrong, and smaller faults of the target are not seen"
        )
        return tuple(
            f"output {name!r}: the source itself is {away:.3g} × as far from the truth as rounding explains; {because}"
            for name, away in self.strange.items()
        )

    @property
    def faithful(self) -> bool:
        return all(found.verdict == Verdict.FAITHFUL for found in self.outputs.values())

    def departs(self, name: str) -> bool:
        """Whether an output departs on a sample before."""
        return name in self.outputs and self.outputs[name].verdict == Verdict.DEPARTS

    def add(self, found: Judgement) -> None:
        known = self.outputs.get(found.name)
        # Of two that are as good the one that has something to say.
        if known is None or (*badness(found), found.why != _EQUAL) > (*badness(known), known.why != _EQUAL):
            self.outputs[found.name] = found


def verify_runs(
    source: Sequence[Model],
    target: Model,
    samples: Iterable[Feeds],
    oracle: Oracle,
    *,
    wish: Asked | None = None,
    allowed_ulps: float = 0.0,
    random: bool = False,
) -> Verification:
    """Judge the target on every sample, one after the other, and keep the worst of each output.

    ``source`` holds equivalent executions of the source, the plain one first. Without a reference
    floats are compared with the source by ``allowed_ulps``, the declared bounds added up.
    """
    wish, truth_of, rejected = wish or Asked(), _Truth(oracle), Counter[str]()
    worst, special, saturation = _Worst(), _Worst(), Saturation(source[0], target)
    shown_by: Feeds = {}
    for feeds in samples:
        runs, why = _source_runs(source, feeds)
        if not runs:
            rejected[why] += 1
            continue
        got, failure = _target_run(target, feeds)
        saturation.look(feeds, {"source": runs[0], "target": got})
        truth, noisy = (None, []) if random or failure else truth_of(feeds)
        group = special if getattr(feeds, "special", False) else worst
        group.samples += 1
        more, ties = functools.cache(functools.partial(truth_of.more, feeds)), Ties(source[0], feeds, got)
        for name in runs[0]:
            if failure:
                found = Judgement(name, Verdict.DEPARTS, math.inf, f"the target fails: {failure}")
            elif truth is None:
                found = _without_truth(name, runs[0][name], got[name], allowed_ulps, random, wish, ties)
            else:
                group.look(name, runs[0][name], truth[name], [run[name] for run in noisy])
                found = _by_truth(name, runs, got[name], truth[name], noisy, wish, ties)
                if is_doubtful(found, known=group.departs(name)) and not wish.strict:
                    found = _by_truth(name, runs, got[name], truth[name], [*noisy, *more()], wish, ties)
            group.add(found)
            if found.verdict == Verdict.DEPARTS and group is worst and not shown_by:
                shown_by = feeds
    return Verification(
        source[0].runtime,
        target.runtime,
        truth_of.name + _shared(oracle, target),
        wish.k,
        worst.samples,
        rejected.total(),
        tuple(worst.outputs.values()),
        "" if worst.samples else why_rejected(rejected, source[0].inputs) or "there are no inputs",
        hints=(*worst.hints(source[0]), *saturation.hints(worst.faithful), *some_rejected(rejected, worst.samples)),
        special=tuple(special.outputs.values()),
        special_samples=special.samples,
        executions=len(source),
        strict=wish.strict,
        rtol=wish.tolerance.rtol if wish.tolerance else None,
        atol=wish.tolerance.atol if wish.tolerance else None,
        shown_by=shown_by,
    )


def _by_truth(
    name: str, runs: Sequence[Feeds], got: Any, truth: Any, noisy: Sequence[Feeds], wish: Asked, ties: Ties
) -> Judgement:
    settle = ties.of(name, runs[0][name])
    here, errs = [settle.array(run[name]) for run in runs], [settle.array(run[name]) for run in noisy]
    found = judge(name, here, settle.array(got), settle.array(truth), errs, k=wish.k, tolerance=wish.tolerance)
    return as_asked(settle.say(found), here[0], got, wish)


def _shared(oracle: Oracle, target: Model) -> str:
    """Said where truth and target run the same code: a fault in it shows in neither."""
    if oracle.shares != target.runtime:
        return ""
    return f"; the target runs the same kernels ({target.runtime}), what is wrong in them is not seen"


class _Truth:
    """The oracle as long as it answers; the reason once it does not."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._why_not = oracle.name if isinstance(oracle, NoReference) else ""

    @property
    def name(self) -> str:
        return self._why_not or self._oracle.name

    def __call__(self, feeds: Feeds) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        if self._why_not:
            return None, []
        try:
            return self._oracle.run(feeds)
        except NoOracle as error:
            self._why_not = f"none: {error}"
            return None, []

    def more(self, feeds: Feeds) -> list[dict[str, Any]]:
        """Further noisy runs."""
        return self._oracle.more(feeds)


def _without_truth(
    name: str, want: Any, got: Any, allowed_ulps: float, random: bool, wish: Asked, ties: Ties
) -> Judgement:
    settle = ties.of(name, want)
    plain = compare_outputs(name, want, settle.array(got), allowed_ulps, shapes_only=random)
    ratio = plain.needed_ulps / max(plain.allowed_ulps, 1e-30)
    found = settle.say(Judgement(name, plain.verdict, ratio, plain.why, _measured(want, got, random)))
    return found if random else as_asked(found, want, got, wish)


def _measured(want: Any, got: Any, random: bool) -> Metrics | None:
    a, b = (np.asarray(value) if isinstance(value, np.ndarray) else None for value in (want, got))
    fits = a is not None and b is not None and a.shape == b.shape and a.dtype == b.dtype and not random
    return measure(a, b) if fits and a is not None and b is not None else None


def _target_run(target: Model, feeds: Feeds) -> tuple[dict[str, Any], str]:
    """The outputs, or what the runtime says when it fails on inputs that the source takes."""
    try:
        return target.run(feeds), ""
    except TrueportError:
        raise
    except Exception as error:  # any runtime's own error type
        return {}, f"{type(error).__name__}: {one_line(error, 300)}"


def _source_runs(source: Sequence[Model], feeds: Feeds) -> tuple[list[dict[str, Any]], str]:
    """Return the source's executions that take these inputs; none, and the reason, when the plain one does not."""
    runs: list[dict[str, Any]] = []
    for model in source:
        try:
            runs.append(model.run(feeds))
        except TrueportError:
            raise
        except Exception as error:  # any runtime's own error type: an input, or a setting, that it can't take
            if not runs:
                return [], reason_of(error)
    return runs, ""
