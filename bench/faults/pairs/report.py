"""``python -m bench faithful_pairs``: how many faithful pairs raise an alarm, and which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.faults.pairs.catalogue import choose
from bench.faults.pairs.pair import Pair
from bench.faults.pairs.runner import NOT_JUDGED, Item, Result, results_file, run_items

__all__ = ["run_pairs"]


def run_pairs(count: int | None, seed: int, kinds: str, resume: Path | None, cache: Path) -> str:
    """Compare the chosen pairs, and return the report."""
    pairs = choose(count, seed, kinds)
    path = results_file("faithful_pairs", resume, cache)
    results = run_items([Item("pairs", pair.name, pair.kind, seed) for pair in pairs], path)
    return f"{_report(pairs, results)}\nresults: {path}"


def _report(pairs: Sequence[Pair], results: Sequence[Result]) -> str:
    alarms = [r for p, r in zip(pairs, results, strict=True) if r.outcome not in (*p.accepted, *NOT_JUDGED)]
    missing = [r for r in results if r.outcome in NOT_JUDGED]
    judged = len(results) - len(missing)
    lines = [f"{judged} faithful pairs, {len(alarms)} false alarms; {len(missing)} not judged"]
    lines += ["| kind | pairs | alarms | not judged | seconds each |", "|---|---:|---:|---:|---:|"]
    for kind in dict.fromkeys(r.kind for r in results):
        of_kind = [r for r in results if r.kind == kind]
        counts = [sum(r.kind == kind for r in group) for group in (results, alarms, missing)]
        lines.append(
            f"| {kind} | {' | '.join(map(str, counts))} | {sum(r.seconds for r in of_kind) / len(of_kind):.1f} |"
        )
    lines += [f"\nalarm: {r.name}\n{r.text}" for r in alarms]
    lines += [f"\nnot judged: {r.name}: {r.outcome}\n{r.text}" for r in missing]
    return "\n".join(lines)
