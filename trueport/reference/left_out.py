"""Nodes that the target leaves out altogether: what goes into the first comes out of the last."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.reference.walk import Hypothesis, Place, Stepper, stream

__all__ = ["left_out"]

_LONGEST = 4


def left_out(
    stepper: Stepper, region: Sequence[Place], value: str, held: Mapping[str, Any]
) -> Iterator[tuple[Place, Hypothesis]]:
    """Every run of nodes of a region that keeps the shape; a single node is looked at by itself elsewhere."""
    if len(region) < 2:
        return
    made = {**held, **dict(stream(stepper, region, held))}
    for first in (index for index, place in enumerate(region) if place.reads):
        for last in range(first, min(first + _LONGEST, len(region))):
            begin, end = region[first].reads[0], region[last].makes[0]
            if np.shape(made[begin]) == np.shape(made[end]):
                names = ", ".join(place.op for place in region[first : last + 1])
                words = f"{names}: left out, what goes in passes through"
                given = {**made, end: made[begin]}
                predict = functools.partial(_after, stepper, region[last + 1 :], given, value)
                yield region[first], Hypothesis("operator", words, predict)


def _after(stepper: Stepper, rest: Sequence[Place], given: Mapping[str, Any], value: str) -> Any:
    return {**given, **dict(stream(stepper, rest, given))}[value]
