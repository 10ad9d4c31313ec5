"""From two models to the node that departs: the input that shows it best, the alignment, the walk, the cause."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.errors import RunFailed, TrueportError, UsageError
from trueport.fidelity import Verdict
from trueport.ir.provenance import origins
from trueport.mapping.registry import RECORDS, Registry
from trueport.quoting import one_line
from trueport.reference.base import Oracle
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.reference.walk import NodeCase, Place, Walkable
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.align.failures import Failure, fails, has_parts
from trueport.verifying.align.values import AlignedModel, align
from trueport.verifying.causes.explain import explain, fits, is_read
from trueport.verifying.inner_values import judge_inside, output_ends
from trueport.verifying.inputs.pairing import PairedModel, Pairing
from trueport.verifying.judge.criteria import Asked
from trueport.verifying.judge.precision import coarser
from trueport.verifying.judge.sensitivity import Sensitivity
from trueport.verifying.locate.another_sample import OtherSamples
from trueport.verifying.locate.earlier_values import with_earlier_values
from trueport.verifying.locate.first_node import GROWS, locate
from trueport.verifying.locate.inside_bodies import unrolled
from trueport.verifying.locate.result import Cause, Culprit, Located, Part
from trueport.verifying.locate.target_part import target_part
from trueport.verifying.verification import Verification
from trueport.verifying.verify import verify_runs
from trueport.verifying.wording import reworded

__all__ = ["Pursuit", "pursue"]

Feeds = Mapping[str, Any]
_HEAVY = 1 << 28
"""Bytes of weights from which on inputs are compared without the truth before one is chosen."""
_TRIES = 3
"""Sets of inputs that show a departure on which its node is looked for."""
_MOST_STORED = 64
"""Constants that only the target has which are looked at."""
_MOST_HELD = 400
"""Constants of the target's operations behind a value which are looked at."""
_VAGUE = frozenset({"unknown", "scale", "offset", "clip", "shape", "dtype", "ties", "special", "order", "nodes"})
"""Causes that describe the error more than what made it: another node's better one is preferred."""


@dataclass(frozen=True)
class Pursuit:
    """What was found, and the target with the values that were aligned, for what is made of it."""

    located: Located
    target: AlignedModel


def pursue(
    oracle: Oracle,
    executions: Sequence[Model],
    target: PairedModel,
    outputs: Sequence[Pairing],
    inputs: Sequence[Feeds],
    *,
    k: float,
    memory: int,
    everything: bool,
    precision: str = "auto",
    declarations: Registry = RECORDS,
) -> Pursuit:
    """Locate on the input that shows the largest departure, and look for the cause.

    ``precision``: as in `verify`. ``declarations`` by which such targets are written: their limits are causes.
    """
    walk = oracle.walk(executions)
    coarse = coarser(executions[0], target, oracle) if precision == "auto" else None
    shown = _ranked(walk, oracle, executions, target, inputs, {"wish": Asked(k), "coarse": coarse})
    tried = [one for one in shown if one.departs is not False][:_TRIES] or shown[:1]
    pursuit = None
    for one in tried:
        pursuit = _on(one, walk, target, outputs, k, memory, everything)
        if pursuit.located.culprit is not None or one.departs is not True:
            break
    assert pursuit is not None
    found, aligned = pursuit.located, pursuit.target
    if found.culprit is None:
        return Pursuit(_with_missing_outputs(found, executions[0], outputs), aligned)
    culprit = _with_target_part(found.culprit, target.model, found.feeds, declarations)
    if walk.weight_bytes <= _HEAVY:
        culprit = with_earlier_values(culprit, walk, found.feeds)
    culprit = _explained(culprit, walk, aligned, k, declarations)
    if isinstance(oracle, OnnxOracle) and not culprit.within:
        culprit = _looked_inside(culprit, executions[0], target.model, found.feeds, oracle.registry, k, memory)
    return Pursuit(replace(found, culprit=culprit), aligned)


def _with_missing_outputs(found: Located, source: Model, outputs: Sequence[Pairing]) -> Located:
    """Name the outputs that the target lacks, where no node is to blame."""
    paired = {pairing.source for pairing in outputs}
    missing = [repr(port.name) for port in source.outputs if port.name not in paired]
    return replace(found, why=f"the target does not give output {', '.join(missing)}") if missing else found


def _on(
    shown: _Shown,
    walk: Walkable,
    target: PairedModel,
    outputs: Sequence[Pairing],
    k: float,
    memory: int,
    everything: bool,
) -> Pursuit:
    """Locate on one set of inputs. The outputs decide whether anything is wrong, as verify judges them."""
    if not has_parts(target):
        _check_run(target, shown.feeds)
    aligned = align(walk, target, output_ends(target), shown.feeds)
    if not aligned.inner():
        raise UsageError(
            f"no value in {target.runtime} can be looked at",
            where="the target",
            remedy="trueport verify compares the outputs; locate looks into ONNX, SavedModel and TFLite targets",
        )
    located = locate(walk, aligned, shown.feeds, k=k, memory=memory, everything=everything)
    departs = located.departs if shown.departs is None else shown.departs
    # An output of which verify says that it departs is not within rounding, though the walk took fewer noisy runs.
    why = GROWS if departs and located.culprit is None else located.why
    found = replace(located, feeds=shown.feeds, departs=departs, why=why, precision_change=shown.precision_change)
    return Pursuit(found if departs else _without_culprit(found), aligned)


def _check_run(target: PairedModel, feeds: Feeds) -> None:
    """Raise `RunFailed` if a target of which no parts can be run does not run."""
    try:
        target.run(feeds)
    except TrueportError:
        raise
    except Exception as error:  # any runtime's own error type
        raise RunFailed(
            f"cannot locate a difference because the target fails: {one_line(error, 300)}",
            where="target",
            remedy="`trueport verify --everywhere` tells under which settings of its runtime it runs",
        ) from error


def _without_culprit(found: Located) -> Located:
    """No output differs: what differs inside is said, and nobody is to blame."""
    inside = found.culprit
    if inside is None:
        return found
    named = f"{inside.op} node {inside.node or inside.value!r}"
    return replace(found, culprit=None, why=f"every output is faithful, though {named} differs inside")


def _looked_inside(
    culprit: Culprit, source: Model, target: Model, feeds: Feeds, registry: Registry, k: float, memory: int
) -> Culprit:
    """For a loop or a branch that both models have: the step, and the node in the body that departs."""
    if not isinstance(source, OnnxRuntimeModel) or not isinstance(target, OnnxRuntimeModel):
        return culprit
    parts = unrolled(source, target, (culprit.value, culprit.target_value), feeds)
    if parts is None:
        return culprit
    body, other = (OnnxRuntimeModel(part, optimize=False) for part in (parts.source, parts.target))
    inner = OnnxOracle.of(parts.source, registry)
    outputs = [Pairing(port.name, port.name) for port in body.outputs]
    paired = PairedModel(other, [Pairing(port.name, port.name) for port in body.inputs], outputs)
    for step, begin in enumerate(parts.steps):
        if verify_runs([body], paired, [begin], inner, wish=Asked(k)).verdict == Verdict.DEPARTS:
            found = pursue(inner, [body], paired, outputs, [begin], k=k, memory=memory, everything=False)
            at = step if culprit.op == "Loop" else None
            return replace(culprit, iteration=at, inside=found.located.culprit)
    return culprit


@dataclass(frozen=True)
class _Shown:
    """One set of inputs, and what verify says on it."""

    feeds: Feeds
    departs: bool | None
    """None where that was not asked, for the cost of it"""
    rank: tuple[Any, ...]
    precision_change: str = ""
    """how the target's lower precision explains what differs, if it does"""


def _ranked(
    walk: Walkable,
    oracle: Any,
    executions: Sequence[Model],
    target: PairedModel,
    inputs: Sequence[Feeds],
    asked: Mapping[str, Any],
) -> list[_Shown]:
    """All inputs that the source takes, those that show a departure best first; the verdict on each is verify's.

    ``asked``: what `verify_runs` is told beside.
    """
    if not inputs:
        raise UsageError("there are no inputs to compare on", remedy="give some with --data")
    if walk.weight_bytes > _HEAVY:
        found = [_Shown(feeds, None, (_plain_gap(executions[0], target, feeds),)) for feeds in inputs]
    else:
        # In the order in which verify takes them, by the same reference: its noise is the same as there.
        found = _judged(oracle, executions, target, inputs, asked)
    if not found:
        raise UsageError(
            f"the source rejects all {len(inputs)} inputs",
            where="the inputs",
            remedy="give some that it takes with --data",
        )
    return sorted(found, key=lambda shown: shown.rank, reverse=True)


def _judged(
    oracle: Any, executions: Sequence[Model], target: PairedModel, inputs: Sequence[Feeds], asked: Mapping[str, Any]
) -> list[_Shown]:
    """Judge the outputs on each set of inputs, and what they hide, as verify does."""
    sensitivity = Sensitivity(executions[0])
    judged = [
        (feeds, verify_runs(executions, target, [feeds], oracle, sensitivity=sensitivity, **asked)) for feeds in inputs
    ]
    found = [shown for feeds, one in judged if (shown := _shown(one, target, feeds)) is not None]
    if not sensitivity.insensitive or any(shown.departs for shown in found):
        return found
    ordinary = [one for _, one in judged if one.outputs]
    if not ordinary:
        return found
    seen = replace(ordinary[0], hiding=sensitivity.insensitive, looked_on=tuple(sensitivity.samples))
    inside = judge_inside(seen, oracle, executions, target)
    if inside.verdict != Verdict.DEPARTS:
        return found
    # Any of the inputs may show the node; first those on which a value was seen to differ.
    return [replace(one, departs=True, rank=(one.feeds is inside.shown_by, *one.rank[1:])) for one in found]


def _shown(found: Verification, target: Model, feeds: Feeds) -> _Shown | None:
    """Return what a verdict on one set of inputs says of it; None where the source does not take it."""
    outputs = found.outputs or found.special
    if not outputs:
        return None
    departs, special = found.verdict == Verdict.DEPARTS, not found.outputs
    ratio = max(output.ratio for output in outputs)
    # Where the target does not run at all, only the values before it fails can be compared.
    runs = not (math.isinf(ratio) and fails(target, feeds))
    changed = next((output for output in found.outputs if output.verdict == Verdict.PRECISION_CHANGE), None)
    words = reworded(changed.why, changed.ratio, changed.metrics) if changed else ""
    return _Shown(feeds, departs, (departs, not special, runs, ratio, _variety(feeds)), words)


def _variety(feeds: Feeds) -> int:
    """Different numbers in an input: of two that show a departure, the richer one tells more of its cause."""
    arrays = [np.asarray(array) for array in feeds.values()]
    return sum(np.unique(array).size for array in arrays if array.dtype.kind in "fiub")


def _plain_gap(source: Model, target: Model, feeds: Feeds) -> float:
    """How far the outputs are apart, relative to their size; less than nothing where the source takes no such input."""
    try:
        want = source.run(feeds)
    except Exception:  # any runtime's own error: an input that it can't take shows nothing
        return -1.0
    try:
        got = target.run(feeds)
    except Exception:  # any runtime's own error: the values before it fails are compared
        return float("inf")
    return max((_relative(want[name], got[name]) for name in want), default=0.0)


def _relative(one: Any, other: Any) -> float:
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or a.dtype.kind not in "fiub":
        return 0.0 if a.shape == b.shape and np.array_equal(a, b) else float("inf")
    with np.errstate(all="ignore"):
        wide = a.astype(np.float64), b.astype(np.float64)
        size = float(np.max(np.abs(wide[0]), initial=0.0))
        gap = float(np.max(np.abs(wide[0] - wide[1]), initial=0.0))
    return gap / size if size and np.isfinite(gap) else gap


def _explained(culprit: Culprit, walk: Walkable, target: AlignedModel, k: float, declarations: Registry) -> Culprit:
    """The node of the culprit's part for which there is the best explanation."""
    if isinstance(culprit.part, Part) and isinstance(culprit.part.target_result, Failure):
        failing = Cause("fails", "the target fails there", culprit.part.target_result.why)
        return replace(culprit, causes=(failing,), case=None, cases=(), misread=())
    best: tuple[tuple[Cause, ...], NodeCase] | None = None
    misread = _misread(culprit, k)
    culprit = replace(culprit, misread=())
    if misread:
        causes = tuple(Cause(h.kind, h.what, h.evidence) for _, h in misread)
        return _at(replace(culprit, causes=causes), misread[0][0])
    stored = _own_weights(culprit, walk)
    samples = OtherSamples(culprit.again)
    cases = list(enumerate(culprit.cases))
    if len(cases) > 1:  # what is read in the target is likelier than what another node of the part could have done
        cases.sort(key=lambda item: not is_read(item[1], target.at(item[1].output), k))
    for index, case in cases:
        others = functools.partial(samples.of, index)
        causes = explain(case, target.at(case.output), k=k, declarations=declarations, stored=stored, others=others)
        if best is None or (best[0][0].kind == "unknown" and causes[0].kind != "unknown"):
            best = causes, case
        if causes[0].kind not in _VAGUE:
            best = causes, case
            break
    if best is None:
        nothing = Cause("unknown", "unknown", "the node can't be said in ONNX, so nothing could be tried")
        return replace(culprit, causes=(nothing,))
    causes, case = best
    return _named(replace(culprit, causes=causes, case=case), case, walk)


def _with_target_part(culprit: Culprit, model: Model, feeds: Feeds, declarations: Registry) -> Culprit:
    """The culprit whose cases know the target's own nodes."""
    nodes = [case.node for case in reversed(culprit.cases)]
    part = culprit.part and nodes and target_part(culprit.part, nodes, model, feeds, declarations)
    if not part:
        return _with_target_families(culprit)
    cases = tuple(replace(case, target_part=part) for case in culprit.cases)
    return replace(culprit, cases=cases, case=cases[0])


def _with_target_families(culprit: Culprit) -> Culprit:
    """The culprit whose cases know which operations a target of another form has in that place, and what they hold."""
    part = culprit.part
    if part is None or not isinstance(part.target, AlignedModel):
        return culprit
    families = part.target.families_before(part.value)
    made = {v.name for case in culprit.cases for v in case.node.outputs if v.name}
    holds = tuple(itertools.islice(part.target.held_before(part.value, made), _MOST_HELD))
    cases = tuple(replace(case, target_families=families, target_holds=holds) for case in culprit.cases)
    return replace(culprit, cases=cases, case=cases[0] if cases else None)


def _own_weights(culprit: Culprit, walk: Walkable) -> list[tuple[str, Any]]:
    """Weights of the target that go into what departs, where names do not tell which of the source's they are."""
    part = culprit.part
    if part is None or not isinstance(part.target, AlignedModel):
        return []
    if not part.target.exact:
        return list(part.target.constants_before(part.value))
    nodes = (place.node for place in walk.places if isinstance(place.node, ir.Node))
    known = {v.name for node in nodes for v in node.inputs if v is not None and v.const_value is not None}
    stored = part.target.constants()
    return [(name, stored[name]) for name in itertools.islice((n for n in stored if n not in known), _MOST_STORED)]


def _misread(culprit: Culprit, k: float) -> list[tuple[Place, Any]]:
    """What the source's own framework gives where it reads a node otherwise, if that is what the target gives."""
    if not culprit.cases:
        return []
    return list(itertools.islice(((p, h) for p, h in culprit.misread if fits(h, culprit.cases[0], k)), 3))


def _named(culprit: Culprit, case: NodeCase, walk: Walkable) -> Culprit:
    """The source's node that the chosen case stands for, where the culprit has several."""
    of = ({case.node.name, *origins(case.node)} & set(culprit.within)) - {""}
    itself = (place for place in walk.places if place.node is case.node)
    place = next(itself, None) or next((place for place in walk.places if place.name in of), None)
    return culprit if place is None else _at(culprit, place)


def _at(culprit: Culprit, place: Place) -> Culprit:
    """The culprit under the name of one of the nodes that it may be."""
    if culprit.value in place.makes or place.name not in culprit.within:
        return culprit
    others = tuple(name for name in (*culprit.within, culprit.node) if name != place.name)
    value = next(filter(None, place.makes), culprit.value)
    return replace(culprit, value=value, node=place.name, op=place.op, origin=place.origin, within=others)
