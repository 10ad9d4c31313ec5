"""Percentages of a run: in all, per target form and, where details may be shown, per kind."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Callable, Sequence

from bench.faults.strangers.forms import FORMS
from bench.faults.strangers.trials import EQUIVALENT, SCORED, UNAVAILABLE, Record
from bench.table import render

__all__ = ["summarize", "tell_failure"]

_COLUMNS = ["trials", "detected", "node", "cause", "verify and locate agree", "errors"]


def summarize(records: Sequence[Record], details: bool) -> str:
    """Return the tables; without ``details`` nothing tells which kinds of faults are missed."""
    scored = [record for record in records if record.outcome == SCORED]
    counts = collections.Counter(record.outcome for record in records)
    hidden = sum(not record.by_default for record in scored)
    cpu = [record.seconds for record in scored]
    head = (
        f"{len(records)} trials: {counts[SCORED]} scored ({hidden} of them change nothing on the default inputs), "
        f"{counts[EQUIVALENT]} equivalent, {counts[UNAVAILABLE]} without a fault or a target of the form; "
        f"{sum(cpu):.0f} s of CPU, median {statistics.median(cpu) if cpu else 0:.1f} s a trial"
    )
    forms = [name for name in FORMS if any(record.form == name for record in scored)]
    rows = [_row("all", scored), *(_row(name, [r for r in scored if r.form == name]) for name in forms)]
    parts = [head, "", render("Faults by another injector", ["form", *_COLUMNS], rows)]
    if details:
        kinds = sorted({record.kind for record in scored})
        rows = [_row(kind, [r for r in scored if r.kind == kind]) for kind in kinds]
        parts.append(render("By kind of fault", ["kind", *_COLUMNS], rows))
    return "\n".join(parts)


def tell_failure(record: Record) -> str:
    """Return a line about a trial in which something was missed; '' if nothing was."""
    if record.outcome != SCORED:
        return f"{record.key}: {record.outcome}: {record.error}" if record.error else ""
    missed = [name for name in ("detected", "located", "cause", "agrees") if not getattr(record, name)]
    if not missed:
        return ""
    place = f"{record.key} in {record.model}, node {record.node}, {record.form}: {record.what}"
    named = f"{record.culprit or 'no node'} ({record.op}): {record.said} {record.error}"
    return f"{place}\n    not {', '.join(missed)}: {named}"


def _row(name: str, records: Sequence[Record]) -> list[str]:
    def share(of: Callable[[Record], bool]) -> str:
        return f"{sum(map(of, records)) / len(records):.1%}" if records else "–"

    parts: list[Callable[[Record], bool]] = [
        lambda r: r.detected,
        lambda r: r.located,
        lambda r: r.cause,
        lambda r: r.agrees,
    ]
    return [name, str(len(records)), *map(share, parts), str(sum(bool(record.error) for record in records))]
