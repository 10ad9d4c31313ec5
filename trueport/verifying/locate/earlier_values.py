"""Values of the source that are made before a node: what the target's node may read in the place of its operands."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueport.reference.walk import NodeCase, Place, Walkable, nbytes
from trueport.verifying.locate.result import Culprit

__all__ = ["with_earlier_values"]

_MOST = 64
"""Values that are looked at, the nearest before the node."""
_MOST_BYTES = 1 << 27


def with_earlier_values(culprit: Culprit, walk: Walkable, feeds: Mapping[str, Any]) -> Culprit:
    """Return the culprit whose cases know the values that the source makes before each of their nodes."""
    inside = frozenset(v.name for case in culprit.cases for v in case.node.outputs if v.name)
    cases = tuple(replace(case, earlier=_earlier(case, culprit, walk, feeds), inside=inside) for case in culprit.cases)
    return replace(culprit, cases=cases, case=cases[0] if cases else None)


def _earlier(case: NodeCase, culprit: Culprit, walk: Walkable, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values of the shapes and kinds of what the node reads, the nearest first."""
    at = next((i for i, place in enumerate(walk.places) if place.node is case.node), None)
    wanted = {(np.shape(a), np.asarray(a).dtype.kind) for a in case.inputs if isinstance(a, np.ndarray)}
    if at is None or not wanted:
        return {}
    left_out = _behind(walk.places[:at], walk.places[at], culprit)
    made = [n for place in reversed(walk.places[:at]) for n in place.makes if n and n not in walk.unseen | left_out]
    start = {name: array for name, array in walk.start(feeds).items() if name not in left_out}
    try:
        found = walk.executions[0].run(feeds, fetch=list(itertools.islice(made, _MOST)))
    except Exception:  # any runtime's own error: what can't be looked at is not offered
        found = {}
    kept: dict[str, Any] = {}
    for name, array in {**walk.taken(found), **start}.items():
        fits = isinstance(array, np.ndarray) and (array.shape, array.dtype.kind) in wanted
        if fits and nbytes(array) + sum(map(nbytes, kept.values())) <= _MOST_BYTES:
            kept[name] = array
    return kept


def _behind(before: Sequence[Place], reader: Place, culprit: Culprit) -> set[str]:
    """What a node of the same part makes the reader's operand of: to read that instead is to skip that node."""
    given = set(culprit.part.given) if culprit.part is not None else set()
    makers = (place for place in before if set(place.makes) & set(reader.reads) - given)
    return {name for place in makers for name in place.reads}
