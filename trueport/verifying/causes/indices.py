"""The node with indices that other frameworks would make of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueport.reference.indices import readings
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import formal, with_input

__all__ = ["other_indices"]


def other_indices(case: NodeCase) -> Iterator[Hypothesis]:
    """The node with indices that other frameworks would make of its own."""
    sizes = {*np.shape(case.truth), *(np.shape(case.inputs[0]) if case.inputs else ())}
    for index, array in enumerate(case.inputs):
        if isinstance(array, np.ndarray):
            for words, moved in readings(formal(case.node, index), array, sizes):
                yield Hypothesis("indices", words, with_input(case, index, moved))
