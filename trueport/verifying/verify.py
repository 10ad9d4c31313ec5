"""Both models on the same inputs, judged against the float64 truth and the source's own noise."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueport.errors import InvalidInput, TrueportError
from trueport.fidelity import Verdict
from trueport.quoting import one_line
from trueport.reference.base import Oracle
from trueport.runtimes.base import Model
from trueport.verifying.coverage.tally import Tally
from trueport.verifying.inputs.probing import reason_of
from trueport.verifying.inputs.rejected import some_rejected, why_rejected
from trueport.verifying.judge.criteria import Asked, as_asked
from trueport.verifying.judge.known_departures import known_departure
from trueport.verifying.judge.metrics import Metrics, measure
from trueport.verifying.judge.output import Judgement, is_doubtful, judge, source_distance
from trueport.verifying.judge.precision import Coarse
from trueport.verifying.judge.saturation import Saturation
from trueport.verifying.judge.sensitivity import Sensitivity
from trueport.verifying.judge.summed_bounds import compare_outputs
from trueport.verifying.judge.tied_indices import Ties
from trueport.verifying.judge.truth import GuardedReference
from trueport.verifying.verification import Verification, badness

__all__ = ["verify_runs"]

Feeds = Mapping[str, Any]


_EQUAL = "equal"
_FAR = 1e-3
"""Of an output's size: a distance beyond which two executions of the source are looked at."""
_PRINTED = 1e6
_STRANGE = 100.0
"""A source that is so many times as far from the truth as rounding explains: one of them is wrong."""


class _Worst:
    """The worst judgement of every output, over samples."""

    def __init__(self) -> None:
        self.outputs: dict[str, Judgement] = {}
        self.strange: dict[str, float] = {}
        self.rewritten: dict[str, float] = {}
        """outputs that the source's own optimized executions give otherwise: by how much, as a ratio"""
        self.samples = 0
        self.shown_by: Feeds = {}

    def look(self, name: str, source: Any, truth: Any, noisy: Sequence[Any]) -> None:
        """Keep how far the source is from its truth, where that is strange."""
        if isinstance(source, (np.ndarray, np.generic)):
            away = source_distance(source, truth, noisy)
            if away > _STRANGE:
                self.strange[name] = max(away, self.strange.get(name, 0.0))

    def hints(self, source: Model) -> tuple[str, ...]:
        """One sentence per strange output."""
        rewritten = tuple(
            f"output {name!r}: an optimized execution of the source is off by {_shown(away)} what rounding explains: "
            f"the optimizer of {source.runtime}, not the model; faults of the target below that size are not seen"
            for name, away in self.rewritten.items()
        )
        if not self.strange:
            return rewritten
        because = known_departure(source) or (
            "its runtime is inexact there, or the truth is wrong, and smaller faults of the target are not seen"
        )
        return rewritten + tuple(
            f"output {name!r}: the source itself is {away:.3g} × as far from the truth as rounding explains; {because}"
            for name, away in self.strange.items()
        )

    @property
    def faithful(self) -> bool:
        return all(found.verdict == Verdict.FAITHFUL for found in self.outputs.values())

    def departs(self, name: str) -> bool:
        """Whether an output departs on a sample before."""
        return name in self.outputs and self.outputs[name].verdict == Verdict.DEPARTS

    def add(self, found: Judgement, feeds: Feeds) -> None:
        """Keep a judgement if it is worse than what is known, and the first inputs that show an output to depart."""
        if found.verdict == Verdict.DEPARTS and not self.shown_by:
            self.shown_by = feeds
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
    coarse: Coarse | None = None,
    sensitivity: Sensitivity | None = None,
) -> Verification:
    """Judge the target on every sample, one after the other, and keep the worst of each output.

    ``source`` holds equivalent executions of the source, the plain one first. Without a reference
    floats are compared with the source by ``allowed_ulps``, the declared bounds added up. ``coarse``:
    the reference at the target's own precision, where that was changed on purpose. ``sensitivity``:
    what earlier calls saw of the outputs, on other samples.
    """
    wish, sensitivity = wish or Asked(), sensitivity or Sensitivity(source[0])
    truth_of, rejected = GuardedReference(oracle), Counter[str]()
    worst, special, saturation, tally = _Worst(), _Worst(), Saturation(source[0], target), Tally()
    for feeds, runs, why in _run(source, samples, tally):
        if not runs:
            rejected[why] += 1
            continue
        got, failure = _target_run(target, feeds)
        saturation.look(feeds, {"source": runs[0], "target": got})
        seen_in = special if getattr(feeds, "special", False) else worst
        seen_in.samples += 1
        if failure:
            judged = _failed(runs[0], failure)
        else:
            one = _Sample(feeds, runs, got, truth_of, Ties(source[0], feeds, got), wish, allowed_ulps, random, coarse)
            judged = one.judged(seen_in)
            one.look(sensitivity)
        for found in judged:
            group = worst if _decides(feeds, runs[0][found.name]) else special
            group.add(found, feeds)
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
        shown_by=worst.shown_by,
        coverage=tally.coverage(),
        hiding=sensitivity.insensitive,
        looked_on=tuple(sensitivity.samples),
    )


def _run(
    source: Sequence[Model], samples: Iterable[Feeds], tally: Tally
) -> Iterator[tuple[Feeds, list[dict[str, Any]], str]]:
    """Yield inputs with the source's runs, or why there are none; what may be too much for the source is left out."""
    for feeds in samples:
        runs, why = _source_runs(source, feeds)
        if getattr(feeds, "bold", False) and not (runs and all(map(_is_finite, runs[0].values()))):
            continue
        if runs:
            tally.note(feeds)
        yield feeds, runs, why


def _failed(outputs: Feeds, failure: str) -> list[Judgement]:
    return [Judgement(name, Verdict.DEPARTS, math.inf, f"the target fails: {failure}") for name in outputs]


def _decides(feeds: Feeds, output: Any) -> bool:
    """Return whether an output counts for the verdict: of tested NaN and infinities what comes out finite does."""
    return not getattr(feeds, "special", False) and (not getattr(feeds, "tested", False) or _is_finite(output))


def _is_finite(value: Any) -> bool:
    """Return whether no number is NaN or infinite; what holds none is."""
    return not isinstance(value, np.ndarray) or value.dtype.kind not in "fc" or bool(np.isfinite(value).all())


@dataclass(frozen=True, eq=False)
class _Sample:
    """What both models give for one set of inputs."""

    feeds: Feeds
    runs: Sequence[Feeds]
    got: Feeds
    truth_of: GuardedReference
    ties: Ties
    wish: Asked
    allowed_ulps: float
    random: bool
    coarse: Coarse | None

    @functools.cached_property
    def reference(self) -> tuple[Feeds | None, Sequence[Feeds]]:
        """The exact outputs and the noisy ones; None and nothing where there is no reference."""
        return (None, []) if self.random else self.truth_of(self.feeds)

    def look(self, sensitivity: Sensitivity) -> None:
        """See which outputs change when the inputs do; not on inputs with NaN, infinities and denormals."""
        truth, noisy = self.reference
        if truth is not None and not any(getattr(self.feeds, kind, False) for kind in ("special", "tested", "bold")):
            sensitivity.look(self.feeds, self.runs[0], truth, noisy, self.wish.k)

    def judged(self, group: _Worst) -> list[Judgement]:
        """Judge every output of the source; ``group`` has what was found on the samples before."""
        truth, noisy = self.reference
        found = []
        for name, plain in self.runs[0].items():
            if name not in self.got:
                found.append(Judgement(name, Verdict.DEPARTS, math.inf, "the target gives no value"))
            elif truth is None or name not in truth:
                found.append(self._without_truth(name))
            else:
                group.look(name, plain, truth[name], [run[name] for run in noisy])
                self._look_at_optimized(group, name, truth[name], noisy)
                one = self._by_truth(name, truth[name], noisy)
                if is_doubtful(one, known=group.departs(name)) and not self.wish.strict:
                    one = self._by_truth(name, truth[name], [*noisy, *self._more])
                found.append(self._at_own_precision(one, truth))
        return found

    def _at_own_precision(self, found: Judgement, truth: Feeds) -> Judgement:
        """Judge what departs by the rounding of the target's precision, if that was changed on purpose."""
        if found.verdict != Verdict.DEPARTS or self.coarse is None or not self._coarse_runs:
            return found
        again = self._by_truth(found.name, truth[found.name], self._coarse_runs)
        name, ratio = self.coarse.name, f"{again.ratio:.3g} ×" if math.isfinite(again.ratio) else "beyond any ratio"
        if again.verdict == Verdict.DEPARTS:
            why = f"precision change: {name}, and more than that precision explains ({ratio} that; {found.why})"
            return replace(found, why=why)
        why = f"precision change: {name}, within what that precision explains ({ratio} that; {found.why})"
        return replace(found, verdict=Verdict.PRECISION_CHANGE, why=why)

    @functools.cached_property
    def _coarse_runs(self) -> list[dict[str, Any]]:
        return self.coarse(self.feeds) if self.coarse is not None else []

    def _look_at_optimized(self, group: _Worst, name: str, truth: Any, noisy: Sequence[Feeds]) -> None:
        """Note a runtime that computes something else once it optimizes the source: that hides faults."""
        plain = self.runs[0][name]
        for run in self.runs[1:] if name not in group.rewritten else ():
            if _far(plain, run[name]):
                errs = [made[name] for made in (*noisy, *self._more)]
                found = judge(name, [plain], run[name], truth, errs, k=self.wish.k)
                if found.verdict == Verdict.DEPARTS:
                    group.rewritten[name] = found.ratio

    @functools.cached_property
    def _more(self) -> list[dict[str, Any]]:
        return self.truth_of.more(self.feeds)

    def _by_truth(self, name: str, truth: Any, noisy: Sequence[Feeds]) -> Judgement:
        wish, settle = self.wish, self.ties.of(name, self.runs[0][name])
        here, errs = [settle.array(run[name]) for run in self.runs], [settle.array(run[name]) for run in noisy]
        got = self.got[name]
        found = judge(name, here, settle.array(got), settle.array(truth), errs, k=wish.k, tolerance=wish.tolerance)
        return as_asked(settle.say(found), here[0], got, wish)

    def _without_truth(self, name: str) -> Judgement:
        want, got = self.runs[0][name], self.got[name]
        settle = self.ties.of(name, want)
        plain = compare_outputs(name, want, settle.array(got), self.allowed_ulps, shapes_only=self.random)
        ratio = plain.needed_ulps / max(plain.allowed_ulps, 1e-30)
        found = settle.say(Judgement(name, plain.verdict, ratio, plain.why, _measured(want, got, self.random)))
        return found if self.random else as_asked(found, want, got, self.wish)


def _far(one: Any, other: Any) -> bool:
    """True for floats that are apart by far more than rounding; that of a few operators is not looked at."""
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)) or one.dtype.kind != "f":
        return False
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    size = float(np.max(np.abs(one), initial=0.0, where=np.isfinite(one)))
    return not np.allclose(one, other, 0.0, _FAR * size, equal_nan=True)


def _shown(ratio: float) -> str:
    return f"{ratio:.3g} ×" if ratio <= _PRINTED else f"over {_PRINTED:g} ×"


def _shared(oracle: Oracle, target: Model) -> str:
    """Said where truth and target run the same code: a fault in it shows in neither."""
    if oracle.shares != target.runtime:
        return ""
    return f"; the target runs the same kernels ({target.runtime}), what is wrong in them is not seen"


def _measured(want: Any, got: Any, random: bool) -> Metrics | None:
    a, b = (np.asarray(value) if isinstance(value, np.ndarray) else None for value in (want, got))
    fits = a is not None and b is not None and a.shape == b.shape and a.dtype == b.dtype and not random
    return measure(a, b) if fits and a is not None and b is not None else None


def _target_run(target: Model, feeds: Feeds) -> tuple[dict[str, Any], str]:
    """The outputs, or what the runtime says when it fails on inputs that the source takes."""
    try:
        return target.run(feeds), ""
    except InvalidInput as error:  # the source takes them
        return {}, f"{error.where}: {error.why}"
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
