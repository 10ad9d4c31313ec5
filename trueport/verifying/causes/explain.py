"""All rules, the direct evidence first, then hypotheses from the likely to the far-fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from trueport.errors import NoOracle
from trueport.fidelity import EXACT, UNSUPPORTED, Verdict
from trueport.mapping.registry import RECORDS, Registry
from trueport.operators.record import Randomness
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.runtimes.base import Model
from trueport.verifying.causes.attributes import fitted_attributes, other_attributes
from trueport.verifying.causes.branches import other_branches
from trueport.verifying.causes.evidence import direct_evidence
from trueport.verifying.causes.hypothesis import Rule
from trueport.verifying.causes.operands import other_indices, other_operands, other_weights
from trueport.verifying.causes.operators import other_operators, passed_through
from trueport.verifying.causes.quantization import other_quantization
from trueport.verifying.causes.shapes_of_error import error_patterns
from trueport.verifying.causes.special_numbers import other_special_numbers, unusual_numbers
from trueport.verifying.causes.ties import near_ties
from trueport.verifying.judge.output import judge
from trueport.verifying.locate.first_node import Cause

__all__ = ["explain", "fits"]

RULES: tuple[Rule, ...] = (
    other_branches,
    passed_through,
    other_quantization,
    other_special_numbers,
    other_operands,
    other_indices,
    other_attributes,
    other_operators,
    fitted_attributes,
    error_patterns,
)
_ENOUGH = 3
"""Explanations that are kept: several may fit, the first is the likeliest."""
_WORK = 3000.0
"""For all hypotheses of one node, counted so that two runs try the same ones; those beyond it stay untried."""
_UNIT = 1e5
"""Elements that go into a node per unit of work; a smaller node counts as one unit."""


def explain(
    case: NodeCase,
    target: Model,
    *,
    k: float,
    declarations: Registry = RECORDS,
    stored: Iterable[tuple[str, Any]] = (),
) -> tuple[Cause, ...]:
    """Return the causes that fit, likeliest first; never empty.

    ``declarations`` by which such targets are written; ``stored``: weights of the target's part, by its own names.
    """
    found = [*direct_evidence(case, target), *declared(case, declarations, target.runtime)]
    tried = 0
    elements = sum(np.size(array) for array in case.inputs if isinstance(array, np.ndarray))
    affordable = _WORK / max(1.0, elements / _UNIT)
    for hypothesis in _hypotheses(case, stored):
        if len(found) >= _ENOUGH or tried > affordable:
            break
        tried += 1
        said = any(cause.what == hypothesis.what for cause in found)
        if not said and fits(hypothesis, case, k):
            found.append(_cause(hypothesis))
    for last in (near_ties, unusual_numbers):
        found += list(last(case))[: max(0, _ENOUGH - len(found))]
    if not found:
        found += [_cause(hypothesis) for hypothesis in other_order(case) if fits(hypothesis, case, k)]
    return tuple(found) or (Cause("unknown", "unknown", f"none of {tried} hypotheses gives the target's numbers"),)


def _cause(hypothesis: Hypothesis) -> Cause:
    return Cause(hypothesis.kind, hypothesis.what, hypothesis.evidence)


def _hypotheses(case: NodeCase, stored: Iterable[tuple[str, Any]]) -> Iterator[Hypothesis]:
    yield from other_weights(case, stored)
    for rule in RULES:
        yield from rule(case)


def fits(hypothesis: Hypothesis, case: NodeCase, k: float) -> bool:
    """Whether a hypothesis gives the target's numbers."""
    try:
        with np.errstate(all="ignore"):
            predicted = hypothesis.predict()
    except (NoOracle, ValueError, TypeError, IndexError):
        return False  # no such node: the change does not fit its inputs
    if np.shape(predicted) != np.shape(case.target):
        return False
    got = np.asarray(case.target)
    if got.dtype.kind not in "fc" and got.dtype.name != "bfloat16":
        return bool(np.asarray(predicted).dtype == got.dtype and np.array_equal(predicted, got))
    plain = _as(predicted, got)
    found = judge(case.output, [plain], got, np.asarray(predicted), _noisy(predicted, case), k=k)
    return found.verdict == Verdict.FAITHFUL


def _as(predicted: Any, got: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(predicted).astype(got.dtype)


def _noisy(predicted: Any, case: NodeCase) -> Sequence[Any]:
    """The node's own noise, around what is predicted."""
    if (
        not isinstance(case.truth, np.ndarray)
        or case.truth.dtype.kind != "f"
        or case.truth.shape != np.shape(predicted)
    ):
        return ()
    with np.errstate(all="ignore"):
        errors = [run - case.truth for run in case.noisy if np.shape(run) == case.truth.shape]
    # Where the truth is NaN or infinite its noise says nothing about another number in that place.
    return [predicted + np.where(np.isfinite(error), error, 0) for error in errors]


def other_order(case: NodeCase) -> Iterator[Hypothesis]:
    """Along one axis the truth's own numbers, ranked as the target's are: what fits is only a matter of places."""
    truth, got = case.truth, np.asarray(case.target)
    if not isinstance(truth, np.ndarray) or truth.shape != got.shape or truth.dtype.kind not in "fiu":
        return
    for axis in reversed(range(truth.ndim)):
        if truth.shape[axis] < 2:
            continue
        ranks = np.argsort(np.argsort(got, axis=axis, kind="stable"), axis=axis, kind="stable")
        placed = np.take_along_axis(np.sort(truth, axis=axis), ranks, axis=axis)
        own = np.argsort(np.argsort(truth, axis=axis, kind="stable"), axis=axis, kind="stable")
        moved = np.any(ranks != own, axis=axis)
        words = f"along axis {axis} it gives the right numbers in another order"
        evidence = f"so it is in {int(np.sum(moved))} of {moved.size} rows along that axis, the others agree"
        yield Hypothesis("order", words, lambda placed=placed: placed, evidence)  # type: ignore[misc]


def declared(case: NodeCase, registry: Registry, target: str) -> Iterator[Cause]:
    """Causes that were announced; ``target``: the runtime, for a translation's limits hold for what it makes."""
    if registry.facts(case.node.op_type, case.node.domain).random is Randomness.ALWAYS:
        yield Cause("random", "the operator draws random numbers", "no two runtimes draw the same ones")
    mapping = registry.find(case.node.op_type, case.node.domain)
    if mapping is None or target != registry.target:
        return
    for reason in registry.assess(case.node).reasons:
        if EXACT < reason.effect < UNSUPPORTED:
            bound = f"; declared bound: {mapping.error}" if mapping.error else ""
            words = f"{case.node.op_type} is declared {reason.effect.name.lower()} ({reason.label})"
            yield Cause("approximate", words, f"{reason.because}{bound}")
