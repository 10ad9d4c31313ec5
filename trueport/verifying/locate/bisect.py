"""Looking into a gap of another tool's model by putting the source's values in: where that mends what comes after,
the value belongs there, and the fault lies before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueport.errors import InvalidInput
from trueport.fidelity import Verdict
from trueport.ir.artifact import InnerValue
from trueport.reference.walk import Walkable
from trueport.verifying.align.fingerprints import orders
from trueport.verifying.align.gaps import Gaps
from trueport.verifying.align.values import AlignedModel
from trueport.verifying.judge.output import Judgement, judge
from trueport.verifying.locate.isolated_error import Owned, owned

__all__ = ["Refined", "confirmed", "refined"]

_TRIES = 64
"""Runs of the target that one gap is worth."""
_BETTER = 0.1


@dataclass(frozen=True)
class Refined:
    """The target with what was aligned in the gap, and the part of it that departs."""

    target: AlignedModel
    own: Owned


def confirmed(
    walk: Walkable,
    target: AlignedModel,
    feeds: Mapping[str, Any],
    own: Owned,
    judged: Mapping[str, Judgement],
    k: float,
) -> bool:
    """Whether the source's value, put in its place, mends some output; if not, it is another value of the same name."""
    name = own.judgement.name
    ends = [end for end in walk.outputs.values() if end in target.inner()]
    if name in ends:
        return True
    wrong = [end for end in ends if end not in judged or judged[end].verdict == Verdict.DEPARTS]
    if not wrong:
        return False
    plain = walk.executions[0].run(feeds, fetch=[name, *wrong])
    try:
        before = target.run(feeds, fetch=wrong)
        after = target.segment({name: plain[name]}, wrong, feeds)
    except InvalidInput:
        return True
    return any(_gap(plain[end], after[end]) <= _BETTER * _gap(plain[end], before[end]) for end in wrong) or any(
        _gap(plain[end], before[end]) == float("inf") for end in wrong
    )


def refined(
    walk: Walkable, target: AlignedModel, feeds: Mapping[str, Any], gaps: Gaps, own: Owned, k: float
) -> Refined:
    """Align what can be within the gap, from its end backward, and say which part of it departs first."""
    name = own.judgement.name
    skipped = {name, *target.inner(), *walk.unseen}
    inside = [n for place in own.gap.places for n in place.makes if n and n not in skipped]
    if not inside:
        return Refined(target, own)
    around = [n for n in own.gap.frontier if gaps.is_made(n)]
    plain = walk.executions[0].run(feeds, fetch=[*inside, name, *around])
    tries = _TRIES
    found: dict[str, InnerValue] = {}
    for value in reversed(inside):
        for held in _candidates(target, name, plain[value]):
            if tries <= 0:
                break
            tries -= 1
            trial = target.with_values({value: held})
            if _mends(trial, value, plain, name, own, feeds, k):
                found[value] = held
                break
    if not found:
        return Refined(target, own)
    nearer = target.with_values(found)
    common = set(nearer.inner())
    wanted = [n for n in (*inside, name) if n in common]
    parts = owned(walk, nearer, feeds, gaps, common, wanted, plain, k)
    first = next((parts[n] for n in wanted if n in parts and parts[n].judgement.verdict == Verdict.DEPARTS), None)
    return Refined(nearer, first or own)


def _mends(
    trial: AlignedModel, value: str, plain: Mapping[str, Any], name: str, own: Owned, feeds: Mapping[str, Any], k: float
) -> bool:
    try:
        got = trial.segment({value: plain[value]}, [name], feeds)[name]
    except Exception:  # shapes that do not fit: whatever the runtime raises, the value does not belong there
        return False
    return judge(name, [plain[name]], got, own.truth, own.noisy, k=k).verdict == Verdict.FAITHFUL


def _candidates(target: AlignedModel, name: str, array: Any) -> Iterator[InnerValue]:
    """Values of the target before a value, that have the shape of another; the nearest first."""
    if not isinstance(array, np.ndarray):
        return
    taken = {held.tensor for held in target.inner().values()}
    for key, shape in target.shapes_before(name):
        if key not in taken:
            for perm in list(orders(array.shape, shape))[:3]:
                yield InnerValue(key, None if perm == tuple(range(array.ndim)) else perm)


def _gap(one: Any, other: Any) -> float:
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or a.dtype.kind not in "fiub":
        return float("inf")
    with np.errstate(all="ignore"):
        return float(
            np.nan_to_num(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)), initial=0.0), nan=np.inf)
        )
