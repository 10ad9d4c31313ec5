"""Recurrent operators whose weights have their gates in another order: other frameworks have orders of their own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from trueport.operators.record import Kind
from trueport.operators.table import facts
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import OPERAND, among, formal, hypothesis, with_operands

__all__ = ["other_gates"]


def other_gates(case: NodeCase) -> Iterator[Hypothesis]:
    """All weights of a recurrent node with their gates in another order, or the recurrent one transposed by gates."""
    if case.node.domain or facts(case.node.op_type).kind is not Kind.RECURRENCE:
        return
    slots = {formal(case.node, i): i for i, array in enumerate(case.inputs) if isinstance(array, np.ndarray)}
    if not {"W", "R"} <= set(slots):
        return
    rows, hidden = np.shape(case.inputs[slots["R"]])[-2:]
    count = rows // hidden
    orders = [order for order in itertools.permutations(range(count)) if order != tuple(range(count))]
    orders.sort(key=lambda order: sum(a != b for a, b in enumerate(order)))
    for number, order in enumerate(orders):
        given = [name for name in ("W", "R", "B") if name in slots]
        words = f"the gates of its weights {', '.join(given)} are in the order {list(order)}"
        changes = {slots[name]: functools.partial(_in_order, order=order, halves=1 + (name == "B")) for name in given}
        yield hypothesis(case, "layout", words, with_operands(changes), OPERAND + among(number + 1))
    turned = functools.partial(_turned, gates=count)
    words = "the recurrent weight R of each gate is transposed"
    yield hypothesis(case, "layout", words, with_operands({slots["R"]: turned}), OPERAND + among(len(orders) + 1))


def _in_order(array: Any, order: Sequence[int], halves: int) -> Any:
    """Return an array whose second axis has the gates in another order, in each of its halves."""
    parts = np.split(array, halves * len(order), axis=1)
    return np.concatenate([parts[half * len(order) + gate] for half in range(halves) for gate in order], axis=1)


def _turned(array: Any, gates: int) -> Any:
    return np.concatenate([part.swapaxes(1, 2) for part in np.split(array, gates, axis=1)], axis=1)
