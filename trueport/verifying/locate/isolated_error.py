"""A node's own error: the target's part of it on the source's inputs, judged by the truth on the same inputs.

Where a runtime can't be fed inner values it is the other way round: the source's part, and the truth, on the target's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueport.errors import NoOracle
from trueport.fidelity import Verdict
from trueport.reference.walk import Walkable, stream
from trueport.verifying.align.failures import Failure, as_failure, compute_each, failed
from trueport.verifying.align.gaps import Gap, Gaps
from trueport.verifying.align.values import AlignedModel
from trueport.verifying.judge.output import Judgement, is_doubtful, judge

__all__ = ["Owned", "owned"]

_MORE_DRAWS = 3
_ABSENT = Failure("it is not handed out")


@dataclass(frozen=True)
class Owned:
    """One value made by itself."""

    judgement: Judgement
    gap: Gap
    held: Mapping[str, Any]
    """what it was made from, as the steppers take it"""
    given: Mapping[str, Any]
    """the same, as a runtime gave it"""
    source: Any
    got: Any
    truth: Any
    noisy: tuple[Any, ...]


def owned(
    walk: Walkable,
    target: AlignedModel,
    feeds: Mapping[str, Any],
    gaps: Gaps,
    common: Collection[str],
    names: Sequence[str],
    known: Mapping[str, Any],
    k: float,
) -> dict[str, Owned]:
    """All of some values at once; those whose part can't be evaluated are left out. ``known``: the source's values.

    A part that the target fails to run, though the source runs it on the same inputs, departs.
    """
    parts = {name: gaps.before(name, common) for name in names}
    inputs = walk.start(feeds)
    plain = dict(zip(inputs, feeds.values(), strict=True))
    inner = dict.fromkeys(n for gap in parts.values() for n in gap.frontier if n not in inputs)
    needed = [name for name in dict.fromkeys((*inner, *names)) if name not in known]
    taken = {**known, **(walk.executions[0].run(feeds, fetch=needed) if needed else {})}
    got = _computed(target, {name: taken[name] for name in inner}, names, feeds)
    broken = {name: gap for name, gap in parts.items() if isinstance(got[name], Failure)}
    found = _mirrored(walk, target, feeds, broken, k) if broken else {}
    tensors = {name: target.inner()[name].tensor for name in (*inner, *names)}
    for name, gap in parts.items():
        if name in broken:
            continue
        given = {n: taken[n] for n in gap.frontier if n not in inputs}
        alias = next((n for n in given if tensors[n] == tensors[name]), None)
        # Where the target holds both in one tensor, what is given there is what comes out.
        made = got[name] if alias is None else _reordered(given[alias], target, alias, name)
        held = {**{n: inputs[n] for n in gap.frontier if n in inputs}, **walk.taken(given)}
        one = _one(walk, name, gap, held, _given(gap, given, plain), taken[name], made, k)
        if one is not None:
            found[name] = one
    return found


def _computed(
    target: AlignedModel, given: Mapping[str, Any], names: Sequence[str], feeds: Mapping[str, Any]
) -> dict[str, Any]:
    """Run parts of the target, all at once where that works; a `Failure` for each that does not run."""
    try:
        return target.segment(given, names, feeds)
    except Exception as error:  # runtimes raise types of their own, as for shapes that do not fit
        if not target.has_parts:
            return dict.fromkeys(names, as_failure(error))
    return compute_each(lambda chunk: target.segment(given, chunk, feeds), names)


def _given(gap: Gap, inner: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    return {name: inner[name] if name in inner else plain[name] for name in gap.frontier}


def _one(
    walk: Walkable,
    name: str,
    gap: Gap,
    held: Mapping[str, Any],
    given: Mapping[str, Any],
    source: Any,
    got: Any,
    k: float,
) -> Owned | None:
    try:
        truth, *noisy = (dict(stream(stepper, gap.places, held))[name] for stepper in walk.steppers)
        if isinstance(got, Failure):
            return Owned(failed(name, got), gap, held, given, source, got, truth, tuple(noisy))
        found = judge(name, [source], got, truth, noisy, k=k)
        if found.verdict != Verdict.FAITHFUL or found.bulk > 1:
            # Each draws on: hardly an element errs little in so many runs. Causes are told by them as well.
            again = [*walk.steppers[1:]] * _MORE_DRAWS
            noisy += [dict(stream(stepper, gap.places, held))[name] for stepper in again]
            found = judge(name, [source], got, truth, noisy, k=k) if is_doubtful(found, known=True) else found
    except NoOracle:
        return None
    return Owned(found, gap, held, given, source, got, truth, tuple(noisy))


def _mirrored(
    walk: Walkable, target: AlignedModel, feeds: Mapping[str, Any], parts: Mapping[str, Gap], k: float
) -> dict[str, Owned]:
    """Run the source's parts on the target's values."""
    inputs = walk.start(feeds)
    plain = dict(zip(inputs, feeds.values(), strict=True))
    needed = dict.fromkeys((*(n for gap in parts.values() for n in gap.frontier if n not in inputs), *parts))
    got = target.values(feeds, list(needed))
    found = {}
    for name, gap in parts.items():
        given = {n: got[n] for n in gap.frontier if n not in inputs and n in got}
        missing = [n for n in gap.frontier if n not in inputs and isinstance(got.get(n, _ABSENT), Failure)]
        source = None if missing else _source_part(walk, given, name, feeds)
        if source is None or name not in got:
            continue  # it fails because of what is before it
        held = {**{n: inputs[n] for n in gap.frontier if n in inputs}, **walk.taken(given)}
        one = _one(walk, name, gap, held, _given(gap, given, plain), source, got[name], k)
        if one is not None:
            found[name] = one
    return found


def _source_part(walk: Walkable, given: Mapping[str, Any], name: str, feeds: Mapping[str, Any]) -> Any:
    """Run the source's part on the target's values; None where they do not fit it."""
    try:
        return walk.executions[0].segment(given, [name], feeds)[name]
    except Exception:  # runtimes raise types of their own
        return None


def _reordered(array: Any, target: AlignedModel, given: str, wanted: str) -> Any:
    first, second = target.inner()[given].perm, target.inner()[wanted].perm
    turned = np.transpose(array, first) if first else array
    return np.transpose(turned, np.argsort(second)) if second else turned
