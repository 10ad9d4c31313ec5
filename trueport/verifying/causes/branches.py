"""Control flow that went another way: the other branch of an If, a loop of other steps or without its state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import OPERAND, STRUCTURE, hypothesis, run_on, text, with_operand

__all__ = ["other_branches"]


def other_branches(case: NodeCase) -> Iterator[Hypothesis]:
    """What the node would give had it gone another way."""
    if case.node.domain:
        return
    if case.node.op_type == "If":
        yield from _other_branch(case)
    elif case.node.op_type == "Loop":
        yield from _other_steps(case)


def _other_branch(case: NodeCase) -> Iterator[Hypothesis]:
    condition = bool(np.all(case.inputs[0]))
    taken, other = ("then_branch", "else_branch") if condition else ("else_branch", "then_branch")
    words = f"it takes the other branch: {other}, the source takes {taken}"
    evidence = f"the condition is {condition}; the {other} gives the target's numbers on the same inputs"
    yield hypothesis(case, "branch", words, with_operand(0, np.logical_not), STRUCTURE / 2, evidence)


def _other_steps(case: NodeCase) -> Iterator[Hypothesis]:
    trips = case.inputs[0]
    if trips is not None:
        steps = int(trips)
        for step in (-1, 1):
            words = f"it makes 1 step {'less' if step < 0 else 'more'}: {steps + step}, the source makes up to {steps}"
            on = with_operand(0, lambda trips, step=step: np.asarray(trips) + step)  # type: ignore[misc]
            yield hypothesis(case, "loop", words, on, OPERAND)
    going = (
        "" if len(case.inputs) < 2 or case.inputs[1] is None else f"; the condition starts as {bool(case.inputs[1])}"
    )
    evidence = f"one step on what it was started with gives the target's numbers (trips: {text(trips)}{going})"
    yield Hypothesis(
        "loop", "its state is not carried from step to step", lambda: _first_step(case), evidence, bits=OPERAND + 1
    )


def _first_step(case: NodeCase) -> Any:
    """What one step gives: for the state its result, for what is collected that result in every step."""
    names = [value.name for value in case.node.outputs]
    place = names.index(case.output)
    once = run_on(case, case.node, [np.asarray(1), *case.inputs[1:]])
    carried = len(case.inputs) - 2
    if place < carried:
        return once
    return np.broadcast_to(once[:1], np.shape(case.target))
