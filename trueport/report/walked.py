"""The values that were judged along the graph, with the one that is to blame among them."""

from __future__ import annotations

import math

from trueport.verifying.locate.result import Located, Step

__all__ = ["judged_values"]


def judged_values(found: Located) -> tuple[tuple[Step, ...], int | None]:
    """Return the values in the order in which they are made, and which of them the culprit makes; None without one.

    A value that was matched only when its node was looked for is not among the steps: it stands before the first that
    differs. Its error is the distance from the source then, and its noise is not known (NaN).
    """
    c, steps = found.culprit, found.steps
    if c is None:
        return steps, None
    at = next((at for at, step in enumerate(steps) if step.value == c.value), None)
    if at is not None:
        return steps, at
    at = next((at for at, step in enumerate(steps) if step.ratio > found.k), len(steps))
    metrics = c.own.metrics
    error = metrics.max_abs if metrics is not None and metrics.max_abs is not None else math.nan
    names = c.target_value, c.target_node
    made = Step(c.value, c.node, c.op, c.end_to_end.ratio, error, math.nan, None, c.own.ratio, *names, c.origin)
    return (*steps[:at], made, *steps[at:]), at
