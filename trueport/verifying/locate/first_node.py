"""Which node departs first, how much of its error is its own, and how much it inherited.

Every value that both models have is judged as an output is: against the float64 truth, over what rounding explains.
Where a value departs though what it is made from does not, its node is run by itself: the target's part on the source's
inputs, judged against the truth of that part on the same inputs. A node whose own ratio exceeds ``k`` is the culprit.

Only so many bytes of values are held. Where all values are asked for, they are walked in segments, each fetched by a
run of its own. Else as many as fit are spread over the graph, and the gap before the first that departs is looked into.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueport.errors import UsageError
from trueport.fidelity import Verdict
from trueport.reference.walk import NodeCase, Place, Walkable, nbytes, stream
from trueport.verifying.align.failures import Failure, failed
from trueport.verifying.align.gaps import Gaps
from trueport.verifying.align.values import AlignedModel
from trueport.verifying.judge.output import DEFAULT_K, Judgement, judge
from trueport.verifying.locate.another_sample import cases_on_other_inputs
from trueport.verifying.locate.bisect import confirmed, refined
from trueport.verifying.locate.isolated_error import Owned, owned
from trueport.verifying.locate.result import Cause, Culprit, Located, Part, Step

__all__ = ["DEFAULT_MEMORY", "GROWS", "Cause", "Culprit", "Located", "NodeCase", "Step", "locate"]

Feeds = Mapping[str, Any]
Held = dict[str, tuple[Any, ...]]
"""Values by name, each in all evaluations: the truth first."""

DEFAULT_MEMORY = 2 << 30
_LEAST_MEMORY = 16 << 20
_SHARE = 4
"""Of the memory, one part in so many is for values that are held; the rest is for what is made of them on the way."""
GROWS = "no single node is to blame, the error grows along the graph"
_FAITHFUL = "every intermediate value is within normal rounding"


def locate(
    walk: Walkable,
    target: AlignedModel,
    feeds: Feeds,
    *,
    k: float = DEFAULT_K,
    memory: int = DEFAULT_MEMORY,
    everything: bool = False,
) -> Located:
    """Walk the values that both models have, in the order in which they are made.

    With ``everything`` all of them are judged, and every node's own error is found; else it ends with the culprit.
    """
    if memory < _LEAST_MEMORY:
        raise UsageError(
            f"{memory} bytes are too few", where="memory", remedy=f"allow at least {_LEAST_MEMORY >> 20} MB"
        )
    return _Search(walk, target, feeds, k, memory // _SHARE, everything).run()


@dataclass
class _Search:
    walk: Walkable
    target: AlignedModel
    feeds: Feeds
    k: float
    budget: int
    everything: bool
    judged: dict[str, Judgement] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)
    """the source's own values of the segment that is looked at"""
    looked: set[str] = field(default_factory=set)
    dismissed: set[str] = field(default_factory=set)
    """values that are aligned by name only, and turned out to be others"""

    def run(self) -> Located:
        self.start = self.walk.start(self.feeds)
        self.gaps = Gaps(self.walk.places, self.start)
        places = [place for place in self.walk.places if place in self.gaps.behind(self._common)]
        culprit = self._search(places, [dict(self.start) for _ in self.walk.steppers])
        departs = self._departs()
        if culprit is None and departs:
            # Where rounding tips decisions (a quantized value, a choice), what is inherited may hide what is own.
            culprit = self._hidden()
        why = "" if culprit else GROWS if departs else _FAITHFUL
        values = sum(bool(name) for place in self.walk.places for name in place.makes)
        ordered = [self.steps[name] for place in self.walk.places for name in place.makes if name in self.steps]
        found = self.target.found
        differs = departs or culprit is not None
        return Located(tuple(ordered), culprit, found.total, values, self.k, why, {}, found, differs)

    def _departs(self) -> bool:
        """By the outputs alone: a value inside that is off may be one that no output depends on."""
        ends = set(self.walk.outputs.values())
        return any(found.verdict == Verdict.DEPARTS for name, found in self.judged.items() if name in ends)

    @property
    def _common(self) -> set[str]:
        return set(self.target.inner()) - self.dismissed

    def _search(self, places: Sequence[Place], starts: Sequence[dict[str, Any]], until: str = "") -> Culprit | None:
        """The first node that departs by itself among some places; ``starts`` is what they begin with.

        ``until`` is a value that departs: what is not looked at before it at first is looked at after that.
        """
        guilty: Culprit | None = None
        for segment in self._segments(places, starts):
            self._judge(segment)
            owns = self._owned(list(segment)) if self.everything else {}
            for name in segment:
                if name in owns:
                    self._note_own(name, owns[name])
                if name not in self.judged:
                    continue
                suspect = self.judged[name].is_suspect and not self._inherits(name)
                if guilty is None and suspect and name not in self.dismissed:
                    guilty = self._between(name, segment, starts) or self._guilty(name, owns.get(name))
                    if guilty is not None and not self.everything:
                        return guilty
            if guilty is None and until:
                return self._between(until, segment, starts)
        return guilty

    def _segments(self, places: Sequence[Place], starts: Sequence[dict[str, Any]]) -> Iterator[Held]:
        """All values in pieces that fit, or one piece of as many as fit, spread evenly."""
        runs = [stream(stepper, places, s) for stepper, s in zip(self.walk.steppers, starts, strict=True)]
        ends = set(self.walk.outputs.values())
        held: Held = {}
        count, size, stride = 0, 0, 1
        for items in zip(*runs, strict=True):
            name = items[0][0]
            if name not in self._common or name in self.judged:
                continue
            count += 1
            if count % stride and name not in ends:
                continue
            held[name] = tuple(array for _, array in items)
            size += _weight(held[name])
            if size > self.budget and self.everything:
                yield held
                held, size = {}, 0
            while size > self.budget and len(held) > 2 and not self.everything:
                held = {n: held[n] for index, n in enumerate(held) if index % 2 or n in ends or n == name}
                size, stride = sum(map(_weight, held.values())), stride * 2
                if stride > count:
                    break
        if held:
            yield held

    def _judge(self, segment: Held) -> None:
        names = list(segment)
        runs = [model.run(self.feeds, fetch=names) for model in self.walk.executions]
        got = self.target.values(self.feeds, names)
        self.plain = dict(runs[0])
        for name, (truth, *errs) in segment.items():
            if name not in got:
                self.dismissed.add(name)  # the runtime keeps it to itself
                continue
            if isinstance(got[name], Failure):
                found = failed(name, got[name])
            else:
                found = judge(name, [run[name] for run in runs], got[name], truth, errs, k=self.k)
            self.judged[name] = found
            place = self.gaps.maker(name)
            floor = max((_distance(e, truth) for e in (*errs, runs[0][name])), default=0.0)
            own_names = self.target.own_names(name)
            self.steps[name] = Step(
                name,
                place.name,
                place.op,
                found.ratio,
                _distance(got[name], truth),
                floor,
                None,
                None,
                *own_names,
                place.origin,
                found.metrics.snr_db if found.metrics is not None else None,
                found.metrics.histogram if found.metrics is not None else {},
            )

    def _inherits(self, name: str) -> bool:
        before = self.gaps.before(name, set(self.judged) - self.dismissed)
        return any(self.judged[n].ratio > self.k for n in before.frontier if n in self.judged)

    def _between(self, name: str, segment: Held, starts: Sequence[dict[str, Any]]) -> Culprit | None:
        """Values that were left out before one that departs: the gap is walked, from what is held around it."""
        held = {n: segment[n] for n in segment if n != name}
        known = {*held, *starts[0]} - self.dismissed
        gap = self.gaps.before(name, known)
        left_out = [n for place in gap.places for n in place.makes if n in self._common and n not in self.judged]
        if not left_out:
            return None
        begin = [{n: held[n][run] if n in held else start[n] for n in gap.frontier} for run, start in enumerate(starts)]
        return self._search(gap.places, begin, until=name)

    def _owned(self, names: Sequence[str]) -> dict[str, Owned]:
        return owned(self.walk, self.target, self.feeds, self.gaps, self._common, names, self.plain, self.k)

    def _guilty(self, name: str, own: Owned | None = None) -> Culprit | None:
        self.looked.add(name)
        own = own or self._owned([name]).get(name)
        if own is not None:
            self._note_own(name, own)
        if own is None or own.judgement.verdict != Verdict.DEPARTS:
            return None
        if not self._is_confirmed(name, own):
            self.dismissed.add(name)
            return None
        if not self.target.exact and len(own.gap.places) > 1:
            nearer = refined(self.walk, self.target, self.feeds, self.gaps, own, self.k)
            self.target, own = nearer.target, nearer.own
        return self._culprit(self._put_between(own) or own)

    def _put_between(self, own: Owned) -> Owned | None:
        """A value before it, if the fault is what the target puts between that value and all that reads it."""
        for name in own.gap.frontier:
            if name not in self.target.stands or isinstance(own.got, Failure):
                continue
            trial = self.target.standing_in(name)
            common = self._common
            parts = owned(
                self.walk, trial, self.feeds, self.gaps, common, [own.judgement.name, name], self.plain, self.k
            )
            first, last = (parts.get(n) for n in (name, own.judgement.name))
            if first is None or last is None or last.judgement.verdict != Verdict.FAITHFUL:
                continue
            if first.judgement.verdict == Verdict.DEPARTS:
                self.target, self.judged[name] = trial, first.judgement
                return first
        return None

    def _is_confirmed(self, name: str, own: Owned) -> bool:
        if self.target.is_certain(name) or isinstance(own.got, Failure):
            return True
        return confirmed(self.walk, self.target, self.feeds, own, self.judged, self.k) or self._fits_readers(name)

    def _fits_readers(self, name: str) -> bool:
        """Whether the source's value, put in its place, gives right results of what reads it: then it is the same."""
        readers = [p for p in self.walk.places if name in p.reads]
        made = [n for p in readers for n in p.makes if n in self.judged and n not in self.dismissed]
        owns = self._owned(made) if made else {}
        return any(name in o.gap.frontier and o.judgement.verdict == Verdict.FAITHFUL for o in owns.values())

    def _culprit(self, own: Owned) -> Culprit:
        name = own.judgement.name
        place = self.gaps.maker(name)
        before = [self.judged[n].ratio for n in own.gap.frontier if n in self.judged]
        fails = isinstance(own.got, Failure)
        cases = [] if fails else self.walk.cases(own.gap.places, name, own.held, own.source, own.got, own.noisy)
        others = tuple(p.name for p in own.gap.places if p is not place)
        end = self.judged.get(name, own.judgement)
        return Culprit(
            name,
            place.name,
            place.op,
            place.origin,
            own.judgement,
            max(before, default=0.0),
            end,
            (),
            cases[0] if cases else None,
            tuple(cases),
            *self.target.own_names(name),
            self._part(own),
            others,
            () if fails else tuple(self.walk.hypotheses(own.gap.places, name, own.held)),
            functools.partial(cases_on_other_inputs, self.walk, self.target, self.feeds, own),
        )

    def _part(self, own: Owned) -> Part:
        ports = dict(zip(self.walk.start(self.feeds), self.feeds, strict=True))
        inputs = {name: ports[name] for name in own.given if name in ports}
        made = own.source, own.truth, own.noisy
        return Part(own.judgement.name, own.given, inputs, *made, self.walk.executions[0], self.target, own.got)

    def _hidden(self) -> Culprit | None:
        names = [name for name in self.judged if name not in self.looked | self.dismissed]
        for start in range(0, len(names), 64):
            chunk = names[start : start + 64]
            owns = self._owned(chunk)
            for name in chunk:
                guilty = self._guilty(name, owns[name]) if name in owns else None
                if guilty is not None:
                    return guilty
        return None

    def _note_own(self, name: str, own: Owned) -> None:
        if name in self.steps:
            self.steps[name] = replace(
                self.steps[name], own=_distance(own.got, own.truth), own_ratio=own.judgement.ratio
            )


def _weight(arrays: Sequence[Any]) -> int:
    """Bytes of one value in all evaluations, and of what three runs give for it, which has half the width."""
    return sum(map(nbytes, arrays)) + 3 * nbytes(arrays[0]) // 2


def _distance(value: Any, truth: Any) -> float:
    if isinstance(value, Failure):
        return float("inf")
    if not isinstance(truth, np.ndarray) or np.shape(value) != truth.shape or truth.dtype.kind not in "fiu":
        return 0.0
    with np.errstate(all="ignore"):
        gap = np.abs(np.asarray(value).astype(np.float64) - truth.astype(np.float64))
    return float(np.max(gap[np.isfinite(gap)], initial=0.0))
