"""The rule of every operator that sizes are followed through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueport.operators.record import Kind
from trueport.operators.table import OPERATORS
from trueport.verifying.inputs.flow.flow import Call, Rule
from trueport.verifying.inputs.flow.known import Known
from trueport.verifying.inputs.flow.numbers import NUMBER_RULES, REDUCTIONS, reduce_rule
from trueport.verifying.inputs.flow.shapes import SHAPE_RULES, broadcast, reduced
from trueport.verifying.inputs.flow.windows import WINDOW_RULES

__all__ = ["RULES"]


def _elementwise(call: Call) -> Sequence[Known]:
    return [broadcast(call)]


def _first(call: Call) -> Sequence[Known]:
    return [Known(call.input(0).shape)]


def _by_kind() -> dict[str, Rule]:
    """Return the rules that follow from what an operator does."""
    found: dict[str, Rule] = {}
    for (domain, name), operator in OPERATORS.items():
        key = f"{domain}:{name}" if domain else name
        if operator.kind in (Kind.ELEMENTWISE, Kind.COMPARISON) and not domain:
            found[key] = _elementwise
        elif operator.kind is Kind.NORMALIZATION and not domain:
            found[key] = _first
        elif operator.kind is Kind.REDUCTION:
            found[key] = reduce_rule(reduced) if name in REDUCTIONS else reduced
    return found


RULES: Mapping[str, Rule] = {**_by_kind(), **SHAPE_RULES, **WINDOW_RULES, **NUMBER_RULES}
"""By operator; those of other domains as ``domain:name``. What is not listed is known by the graph's own shapes."""
