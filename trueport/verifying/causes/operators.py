"""Another operator in the node's place: dropped, another activation, reduction, pooling or rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trueport.operators.record import Confusable
from trueport.operators.table import OPERATORS, facts_of
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import replaced

__all__ = ["other_operators", "passed_through"]

_WITH_ATTRIBUTES = frozenset({Confusable.REDUCTION, Confusable.POOL, Confusable.ALONG})
"""Their operators have the same attributes."""


def other_operators(case: NodeCase) -> Iterator[Hypothesis]:
    """What other operators would give on the same inputs."""
    yield from _roundings(case)
    attributes = {name: attr.value for name, attr in case.node.attributes.items()}
    group = facts_of(case.node).confusable
    for op in sorted(known.name for known in OPERATORS.values() if group and known.confusable is group):
        if op != case.node.op_type:
            given = attributes if group in _WITH_ATTRIBUTES else {}
            words = f"it behaves as {op}, the source has {case.node.op_type}"
            yield Hypothesis("operator", words, replaced(case, op, _present(case), **_fitting(op, given)))
    if group is Confusable.UNARY:
        yield Hypothesis("operator", "it behaves as a Relu that is clipped at 6", lambda: np.clip(case.inputs[0], 0, 6))
        tanh = replaced(case, "Gelu", _present(case), approximate="tanh")
        yield Hypothesis("operator", "it behaves as Gelu with the tanh formula", tanh)


def _present(case: NodeCase) -> list[Any]:
    return [array for array in case.inputs if array is not None]


def _fitting(op: str, attributes: dict[str, Any]) -> dict[str, Any]:
    dropped = {"MaxPool": {"count_include_pad"}, "AveragePool": {"storage_order"}}.get(op, set())
    return {name: value for name, value in attributes.items() if name not in dropped}


def passed_through(case: NodeCase) -> Iterator[Hypothesis]:
    """The node does nothing: one of its inputs is its result."""
    for index, array in enumerate(case.inputs):
        if isinstance(array, np.ndarray) and np.shape(array) == np.shape(case.target):
            words = f"the node is skipped: input {index} passes through"
            yield Hypothesis("operator", words, lambda array=array: array)  # type: ignore[misc]


def _roundings(case: NodeCase) -> Iterator[Hypothesis]:
    """Where the node rounds: the other ways to treat a half."""
    if case.node.op_type not in ("Round", "Cast") or not isinstance(case.inputs[0], np.ndarray):
        return
    x = case.inputs[0]
    ways = {
        "halves go away from zero": lambda v: np.sign(v) * np.floor(np.abs(v) + 0.5),
        "halves go up": lambda v: np.floor(v + 0.5),
        "it rounds down": np.floor,
        "it rounds up": np.ceil,
        "it rounds to zero": np.trunc,
        "it rounds to the nearest even": np.rint,
    }
    for words, way in ways.items():
        if case.node.op_type == "Round" or np.asarray(case.target).dtype.kind in "iu":
            yield Hypothesis("rounding", words, lambda way=way: way(x).astype(np.asarray(case.target).dtype))  # type: ignore[misc]
