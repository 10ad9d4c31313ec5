"""One fault per trial: does it change outputs, is it detected, is its node named, is its cause?"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.faults.strangers.cells import Cell, Choice, Ticket, draw_cell, inject_cell
from bench.faults.strangers.effect import measure_effect
from bench.faults.strangers.forms import FORMS
from bench.faults.strangers.kind import Injected
from bench.faults.strangers.nets import load_net
from trueport.fidelity import Verdict

__all__ = ["EQUIVALENT", "SCORED", "UNAVAILABLE", "Record", "anonymous", "run_trial"]

SCORED, EQUIVALENT, UNAVAILABLE = "scored", "equivalent", "unavailable"
"""Outcomes; unavailable: no node takes the fault, or the target form cannot be made."""


@dataclasses.dataclass
class Record:
    """What one trial led to."""

    key: str
    kind: str
    outcome: str = UNAVAILABLE
    model: str = ""
    node: int = -1
    op: str = ""
    form: str = ""
    seed: int = 0
    what: str = ""
    """the change that was made"""
    by_default: bool = False
    """outputs change on the default inputs already"""
    detected: bool = False
    located: bool = False
    cause: bool = False
    agrees: bool = False
    """verify says not faithful if and only if locate names a node"""
    culprit: str = ""
    said: str = ""
    """what locate says about the cause"""
    error: str = ""
    stage: str = "draw"
    """what was under way last"""
    seconds: float = 0.0
    """of CPU, for verify and locate"""


def anonymous(record: Record) -> Record:
    """Return the record without anything that tells which fault it was, for the half that nobody tunes on."""
    digest = hashlib.sha256(record.key.encode()).hexdigest()[:16]
    hidden = {"kind": "", "model": "", "node": -1, "op": "", "seed": 0, "what": "", "culprit": "", "said": ""}
    return dataclasses.replace(record, key=digest, error=record.error and "error", **hidden)  # type: ignore[arg-type]


def run_trial(ticket: Ticket, choice: Choice, tell: Callable[[Record], None] = lambda _: None) -> Record:
    """Draw the trial and run it; ``tell`` is called with the record as it stands before each stage."""
    warnings.simplefilter("ignore")
    record = Record(ticket.key, ticket.kind)
    cell = draw_cell(ticket, choice)
    injected = inject_cell(cell) if cell is not None else None
    if cell is None or injected is None:
        return record
    record.model, record.node, record.form, record.seed = cell.model, cell.node, cell.form, cell.seed
    record.what = injected.change.what
    _enter(record, "effect", tell)
    with tempfile.TemporaryDirectory() as folder:
        target = _make_target(record, cell, injected, Path(folder))
        if target is not None:
            record.outcome = SCORED
            _compare(record, load_net(cell.model), target, injected, tell)
    record.stage = "done"
    return record


def _enter(record: Record, stage: str, tell: Callable[[Record], None]) -> None:
    record.stage = stage
    tell(record)


def _make_target(record: Record, cell: Cell, injected: Injected, folder: Path) -> Any:
    """Return the target, None if the fault changes nothing or the form cannot be made; the outcome tells which."""
    effect = measure_effect(cell.model, injected.model)
    record.by_default = effect.by_default
    if not effect.changes:
        record.outcome = EQUIVALENT
        return None
    try:
        target = FORMS[cell.form](injected.model, folder, np.random.default_rng(cell.seed))
    except Exception as error:  # of the converter or the optimizer: not what is measured here
        record.error = f"{cell.form}: {type(error).__name__}: {str(error)[:200]}"
        return None
    # An optimizer may remove the fault, as a cast to a narrower type and back.
    if isinstance(target, onnx.ModelProto) and not measure_effect(cell.model, target).changes:
        record.outcome = EQUIVALENT
        return None
    return target


def _compare(
    record: Record, source: onnx.ModelProto, target: Any, injected: Injected, tell: Callable[[Record], None]
) -> None:
    from trueport.comparison import locate, verify

    start, errors, verdicts = time.process_time(), [], []
    _enter(record, "verify", tell)
    try:
        verdicts.append(verify(source, target).verdict)
        record.detected = verdicts[0] is not Verdict.FAITHFUL
    except Exception as error:  # any error counts as not detected
        errors.append(f"verify: {type(error).__name__}: {str(error)[:300]}")
    _enter(record, "locate", tell)
    try:
        found = locate(source, target)
        _score(record, found, injected)
        verdicts.append(_verdict(found))
    except Exception as error:  # any error counts as not located
        errors.append(f"locate: {type(error).__name__}: {str(error)[:300]}")
    record.error = "; ".join(errors)
    record.agrees = not errors and len(set(verdicts)) == 1
    record.seconds = time.process_time() - start


def _verdict(found: Any) -> Verdict:
    """Return what locate says of the models; a difference at no single node is one as well."""
    if found.departs or found.culprit is not None:
        return Verdict.DEPARTS
    return Verdict.PRECISION_CHANGE if found.precision_change else Verdict.FAITHFUL


def _score(record: Record, found: Any, injected: Injected) -> None:
    culprit = found.culprit
    if culprit is None:
        return
    record.culprit, record.op = str(culprit.value), str(culprit.op)
    record.located = culprit.value in injected.values
    first = next(iter(culprit.causes), None)
    if first is not None:
        record.said = f"{first.kind}: {first}"
        record.cause = any(re.search(facet, record.said, re.IGNORECASE) for facet in injected.change.facets)
