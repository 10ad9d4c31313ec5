"""All rules, and what is said where none of them explains a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from trueport.fidelity import EXACT, UNSUPPORTED
from trueport.mapping.registry import RECORDS, Registry
from trueport.operators.record import Randomness
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.runtimes.base import Model
from trueport.verifying.causes.approximations import (
    approximations,
    other_casts,
    other_normalizations,
    other_roundings,
)
from trueport.verifying.causes.attributes import attribute_pairs, fitted_attributes, other_attributes
from trueport.verifying.causes.bodies import inner_attributes
from trueport.verifying.causes.branches import other_branches
from trueport.verifying.causes.composed import appended_operators, applied_twice
from trueport.verifying.causes.evidence import result_evidence, shape_evidence, weights_of_the_same_name
from trueport.verifying.causes.gates import other_gates
from trueport.verifying.causes.held import differences_as_held, differences_of_constants
from trueport.verifying.causes.hypothesis import Rule
from trueport.verifying.causes.inner_operators import inner_operators
from trueport.verifying.causes.numbers_of_operands import fitted_elements, fitted_operands, rounded_operands
from trueport.verifying.causes.operands import (
    all_weights,
    earlier_operands,
    other_indices,
    other_operands,
    other_outputs,
    other_weights,
)
from trueport.verifying.causes.operators import fitted_operators, other_operators, passed_through
from trueport.verifying.causes.quantization import other_quantization
from trueport.verifying.causes.search import fewer_rows, fits, search
from trueport.verifying.causes.shapes_of_error import error_patterns, narrow_arithmetic
from trueport.verifying.causes.sizes import other_windows, sizes_of_the_result
from trueport.verifying.causes.special_numbers import other_special_numbers, unusual_numbers
from trueport.verifying.causes.structure import (
    differences,
    differences_as_read,
    nodes_as_read,
    other_nodes,
    target_constants,
)
from trueport.verifying.causes.ties import near_ties
from trueport.verifying.locate.first_node import Cause

__all__ = ["explain", "fits", "is_read"]

RULES: tuple[Rule, ...] = (
    differences,
    other_branches,
    passed_through,
    other_quantization,
    other_special_numbers,
    other_outputs,
    other_operands,
    earlier_operands,
    other_gates,
    other_indices,
    other_attributes,
    other_windows,
    sizes_of_the_result,
    rounded_operands,
    other_roundings,
    other_casts,
    other_normalizations,
    approximations,
    other_operators,
    applied_twice,
    appended_operators,
    fitted_attributes,
    fitted_operands,
    fitted_operators,
    fitted_elements,
    inner_attributes,
    inner_operators,
    attribute_pairs,
    error_patterns,
)
"""Each yields its hypotheses from the shortest description to the longest."""
_ENOUGH = 3
_PATTERNS = frozenset({"scale", "offset", "clip"})
"""Kinds that describe what the error looks like."""
_TIPPED = frozenset({"constant", "dtype", "indices", "layout", "offset", "operand", "scale"})
"""Kinds of which a small one tips a choice between nearly equal numbers, be it the cause or not."""


def explain(
    case: NodeCase,
    target: Model,
    *,
    k: float,
    declarations: Registry = RECORDS,
    stored: Iterable[tuple[str, Any]] = (),
    others: Callable[[], Sequence[NodeCase]] = tuple,
) -> tuple[Cause, ...]:
    """Return the causes that fit, the shortest description first; never empty.

    ``declarations`` by which such targets are written; ``stored``: weights of the target's part, by its own names;
    ``others``: the same node on other inputs, which an explanation must hold on as well.
    """
    said = [*result_evidence(case), *declared(case, declarations, target.runtime)]
    small = fewer_rows(case)
    weights = sorted(weights_of_the_same_name(small, target), key=lambda one: one.bits)
    theirs = [*stored, *target_constants(small)]
    constants = sorted([*other_weights(small, theirs), *all_weights(small, theirs)], key=lambda one: one.bits)
    read = differences_of_constants(small)
    rules = [iter(weights), iter(constants), iter(read), *(rule(small) for rule in RULES)]
    result = search(small, rules, k, others)
    if all(one.kind in _PATTERNS for one in result.hypotheses):
        said += differences_as_read(small)
    found = [*said, *_with_ties([_cause(one) for one in result.hypotheses], case)]
    if not result.hypotheses:
        found += list(differences_as_held(small, read, k))
    for last in (shape_evidence, narrow_arithmetic, unusual_numbers):
        found += list(last(case))[: max(0, _ENOUGH - len(found))]
    if not found:
        found += [_cause(one) for one in weights]
    for rule in (other_order, other_nodes):
        if not found:
            found += [_cause(one) for one in rule(case) if fits(one, case, k)]
    if not found:
        found += nodes_as_read(small)
    nothing = f"none of {result.tried} hypotheses gives the target's numbers"
    return tuple(found) or (Cause("unknown", "unknown", nothing),)


def is_read(case: NodeCase, target: Model, k: float) -> bool:
    """Return whether differences that are read in the target's weights or nodes explain the node."""
    small = fewer_rows(case)
    held = (one for one in differences_of_constants(small) if one.is_read)
    read = (*weights_of_the_same_name(small, target), *differences(small), *held)
    return any(fits(one, small, k) for one in read if one.kind)


def _with_ties(found: list[Cause], case: NodeCase) -> list[Cause]:
    """A choice between numbers that are nearly equal is likelier than operands or results of other numbers."""
    ties = list(near_ties(case))
    firm = [cause for cause in found if not ties or cause.kind not in _TIPPED]
    return [*firm, *ties, *(cause for cause in found if cause not in firm)]


def _cause(hypothesis: Hypothesis) -> Cause:
    return Cause(hypothesis.kind, hypothesis.what, hypothesis.evidence)


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
