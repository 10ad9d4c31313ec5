"""The node that departs on inputs that no explanation was fitted to: both models' parts run once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueport.reference.walk import NodeCase, Walkable, stream
from trueport.verifying.align.values import AlignedModel
from trueport.verifying.locate.isolated_error import Owned

__all__ = ["OtherSamples", "cases_on_other_inputs"]

_FEW = 8
"""Integers of at most so many elements in one axis may be sizes or axes: they are left as they are."""
_DRAWS = 2


@dataclass
class OtherSamples:
    """Cases on other inputs, run when they are first asked for."""

    again: Callable[[int], Sequence[NodeCase]] | None
    drawn: dict[int, Sequence[NodeCase]] = field(default_factory=dict)

    def of(self, index: int) -> list[NodeCase]:
        """Return the case at an index of the culprit's, on each of the other inputs that both models take."""
        if self.again is None:
            return []
        for draw in range(_DRAWS):
            if draw not in self.drawn:
                self.drawn[draw] = self.again(draw)
        return [cases[index] for cases in self.drawn.values() if index < len(cases)]


def cases_on_other_inputs(
    walk: Walkable, target: AlignedModel, feeds: Mapping[str, Any], own: Owned, draw: int
) -> Sequence[NodeCase]:
    """Return the nodes between the same values, on numbers in another order; none where a model does not take them."""
    generator, name = np.random.default_rng(draw), own.judgement.name
    ports = dict(zip(walk.start(feeds), feeds, strict=True))
    given = {n: _redrawn(array, generator) for n, array in own.given.items()}
    inner = {n: array for n, array in given.items() if n not in ports}
    other = {**feeds, **{ports[n]: array for n, array in given.items() if n in ports}}
    try:
        got = target.segment(inner, [name], other)[name]
        source = walk.executions[0].segment(inner, [name], other)[name]
        start = walk.start(other)
        held = {**{n: start[n] for n in own.gap.frontier if n in start}, **walk.taken(inner)}
        noisy = [dict(stream(stepper, own.gap.places, held))[name] for stepper in walk.steppers[1:]]
        return walk.cases(own.gap.places, name, held, source, got, noisy)
    except Exception:  # any runtime's own error: these inputs are none for it, nothing is learned from them
        return ()


def _redrawn(array: Any, generator: np.random.Generator) -> Any:
    """The elements in another order, floats also of other sizes within the range that they have."""
    if not isinstance(array, np.ndarray) or not array.size:
        return array
    if array.dtype.kind in "iu" and array.ndim < 2 and array.size <= _FEW:
        return array
    moved = generator.permutation(array.ravel()).reshape(array.shape)
    if array.dtype.kind != "f":
        return moved
    with np.errstate(all="ignore"):
        scaled = moved * generator.uniform(0.8, 1.2, size=moved.shape)
        inside = np.clip(scaled, np.nanmin(array), np.nanmax(array))
    return np.where(np.isfinite(moved), inside, moved).astype(array.dtype)
