"""Weights of a target that calls them otherwise: tried in the source's node, in the order of axes that fits best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.align.fingerprints import best_order
from trueport.verifying.causes.hypothesis import formal, with_input

__all__ = ["other_weights"]

_MOST = 16
"""Constants of the target that are tried."""


def other_weights(case: NodeCase, stored: Iterable[tuple[str, Any]]) -> Iterator[Hypothesis]:
    """``stored``: constants of the target's part, by its names. One that differs counts if it explains the result."""
    theirs = [(name, array) for name, array in stored if np.asarray(array).dtype.kind == "f"][:_MOST]
    for index, value in enumerate(case.node.inputs):
        if value is None or value.const_value is None or np.asarray(case.inputs[index]).dtype.kind != "f":
            continue
        mine = np.asarray(value.const_value.numpy())
        for name, array in theirs:
            found = best_order(mine, array) if mine.size > 1 else None
            if found is None:
                continue
            other = np.transpose(array, np.argsort(found[0]))
            differ = np.argwhere(other != mine)
            if len(differ):
                place = tuple(int(i) for i in differ[0])
                words = f"weight {formal(case.node, index)} differs in {len(differ)} of {mine.size} elements"
                evidence = (
                    f"the target's {name!r}, put in its place, gives the target's numbers; "
                    f"first at {list(place)}: {other[place]!s}, the source has {mine[place]!s}"
                )
                yield Hypothesis("weight", words, with_input(case, index, other.astype(np.float64)), evidence)
