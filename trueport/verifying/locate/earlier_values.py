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
    start = walk.start(feeds)
    names = [_names_before(case, culprit, walk, start) for case in culprit.cases]
    made = [name for name in dict.fromkeys(itertools.chain(*names)) if name not in start]
    values = {**_values(walk, feeds, made), **start}
    cases = tuple(
        replace(case, earlier=_fitting(case, {name: values[name] for name in before if name in values}), inside=inside)
        for case, before in zip(culprit.cases, names, strict=True)
    )
    return replace(culprit, cases=cases, case=cases[0] if cases else None)


def _names_before(case: NodeCase, culprit: Culprit, walk: Walkable, start: Mapping[str, Any]) -> list[str]:
    """Return the values that are made before a node, the nearest first, and the model's inputs."""
    at = next((i for i, place in enumerate(walk.places) if place.node is case.node), None)
    if at is None:
        return []
    left_out = _behind(walk.places[:at], walk.places[at], culprit)
    made = (n for place in reversed(walk.places[:at]) for n in place.makes if n and n not in walk.unseen | left_out)
    return [*itertools.islice(made, _MOST), *(name for name in start if name not in left_out)]


def _values(walk: Walkable, feeds: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    """Return what one run of the source gives for the names; nothing where it can't."""
    if not names:
        return {}
    try:
        return walk.taken(walk.executions[0].run(feeds, fetch=names))
    except Exception:  # any runtime's own error: what can't be looked at is not offered
        return {}


def _fitting(case: NodeCase, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of the shapes and kinds of what the node reads, in their order."""
    wanted = {(np.shape(a), np.asarray(a).dtype.kind) for a in case.inputs if isinstance(a, np.ndarray)}
    kept: dict[str, Any] = {}
    for name, array in values.items():
        fits = isinstance(array, np.ndarray) and (array.shape, array.dtype.kind) in wanted
        if fits and nbytes(array) + sum(map(nbytes, kept.values())) <= _MOST_BYTES:
            kept[name] = array
    return kept


def _behind(before: Sequence[Place], reader: Place, culprit: Culprit) -> set[str]:
    """What a node of the same part makes the reader's operand of: to read that instead is to skip that node."""
    given = set(culprit.part.given) if culprit.part is not None else set()
    makers = (place for place in before if set(place.makes) & set(reader.reads) - given)
    return {name for place in makers for name in place.reads}
