"""``python -m bench hidden``: how many hidden faults `verify` detects with inputs of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.faults.hidden.catalogue import HALVES, find_fault, select_half
from bench.faults.pairs.runner import NOT_JUDGED, Item, Result, results_file, run_items

__all__ = ["run_hidden"]


def run_hidden(half: str | None, details: bool, resume: Path | None, cache: Path, count: int | None = None) -> str:
    """Compare the faults of one half, or of both if None; only ``details`` names those of the report half."""
    path = results_file("hidden", resume, cache)
    parts = []
    for chosen in HALVES if half is None else (half,):
        named = details or chosen == "tune"
        items = [Item("hidden", fault.name, fault.family) for fault in select_half(chosen)[:count]]
        parts.append(_report(chosen, run_items(items, path, shown=named), named))
    return "\n".join([*parts, f"results: {path}"])


def _report(half: str, results: Sequence[Result], named: bool) -> str:
    missing = [r for r in results if r.outcome in NOT_JUDGED]
    detected = [r for r in results if r not in missing and r.outcome != "faithful"]
    total = sum(r.seconds for r in results)
    line = f"{half}: {len(detected)} of {len(results)} hidden faults detected, {len(missing)} not judged, {total:.0f} s"
    if not named:
        return line
    rows = [f"{r.outcome:12} {r.seconds:6.1f} s  {r.kind}/{r.name}: {find_fault(r.name).what}" for r in results]
    return "\n".join([line, *rows, *(f"\nnot judged: {r.name}\n{r.text}" for r in missing)])
