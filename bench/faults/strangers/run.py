"""``python -m bench strangers``: draw trials, run what is not in the file yet, print the summary."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import sys
from pathlib import Path

from bench.faults.strangers.cells import Choice, Ticket, draw_tickets
from bench.faults.strangers.kind import half_of
from bench.faults.strangers.kinds import KINDS
from bench.faults.strangers.nets import NETS
from bench.faults.strangers.summary import summarize, tell_failure
from bench.faults.strangers.trials import Record, anonymous
from bench.faults.strangers.workers import run_trials
from bench.models import CACHE

__all__ = ["run_strangers"]


def run_strangers(
    count: int, seed: int, choice: Choice, jobs: int = 1, resume: Path | None = None, details: bool = False
) -> str:
    """Run the trials and return the summary; of the report half only percentages, unless ``details`` are asked for."""
    open_half = choice.half != "report" or details
    file = resume or CACHE / "strangers" / f"{choice.half or 'all'}-{seed}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    known = _read(file) if resume is not None else {}
    if resume is None:
        file.unlink(missing_ok=True)
    tickets = draw_tickets(count, seed, choice)
    names = {ticket.key: _name(ticket, open_half) for ticket in tickets}
    halves = collections.Counter(map(half_of, KINDS))
    print(
        f"{len(KINDS)} kinds ({halves['tune']} to tune with, {halves['report']} to report), {len(NETS)} models, {file}"
    )
    left = [ticket for ticket in tickets if names[ticket.key] not in known]
    for number, record in enumerate(run_trials(left, choice, jobs), 1):
        shown = record if open_half else anonymous(record)
        known[shown.key] = shown
        with file.open("a") as lines:
            lines.write(json.dumps(dataclasses.asdict(shown)) + "\n")
        print(f"strangers {number}/{len(left)}", file=sys.stderr, flush=True)
        if open_half and (line := tell_failure(record)):
            print(line, flush=True)
    return summarize([known[name] for name in names.values() if name in known], open_half)


def _name(ticket: Ticket, open_half: bool) -> str:
    return ticket.key if open_half else hashlib.sha256(ticket.key.encode()).hexdigest()[:16]


def _read(file: Path) -> dict[str, Record]:
    """Return the records of an earlier run by their keys."""
    if not file.exists():
        return {}
    records = (Record(**json.loads(line)) for line in file.read_text().splitlines() if line.strip())
    return {record.key: record for record in records}
