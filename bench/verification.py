"""What verification costs beside the conversion and beside the runs that it makes, now and in an earlier version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.models import BenchModel
from bench.table import median, render
from bench.versions import ROOT, checked_out

__all__ = ["line", "measure", "report"]

_LIMIT = 1800
"""Seconds that one process may take."""


@dataclass
class Verifications:
    """One model: CPU seconds by what they were spent on, the least of all rounds, by version."""

    model: str
    costs: dict[str, dict[str, float]] = field(default_factory=dict)
    failure: str = ""

    def cells(self) -> list[str]:
        """Return the row of the table."""
        if self.failure:
            return [self.model, f"fails: {self.failure}", *[""] * 4]
        before, now = self.costs["before"], self.costs["now"]
        pairs = [f"{_over_conversion(one):.2f}" for one in (before, now)]
        pairs += [f"{_over_runs(one):.1f}" for one in (before, now)]
        return [self.model, *pairs, f"{now['verify'] / before['verify']:.2f}"]


def _over_conversion(costs: Mapping[str, float]) -> float:
    """Return what verification adds to a conversion, as a multiple of it."""
    return (costs["verified"] - costs["convert"]) / costs["convert"]


def _over_runs(costs: Mapping[str, float]) -> float:
    """Return the cost of ``verify`` as a multiple of the runs of source and target in it."""
    return costs["verify"] / max(costs["runs"], 1e-9)


def measure(model: BenchModel, cache: Path, *, base: str, rounds: int) -> Verifications:
    """Measure both versions in turn, in fresh processes."""
    found, trees = Verifications(model.name), {"before": checked_out(base, cache), "now": ROOT}
    source = model.file(cache)
    for number in range(rounds):
        for name in sorted(trees, reverse=bool(number % 2)):
            try:
                costs = _run(source, trees[name])
            except (subprocess.SubprocessError, ValueError) as error:
                found.failure = f"{name}: {type(error).__name__}"
                return found
            known = found.costs.setdefault(name, costs)
            found.costs[name] = {what: min(spent, known[what]) for what, spent in costs.items()}
    return found


def _run(source: Path, tree: Path) -> dict[str, float]:
    # One thread per library: CPU seconds of waiting threads would count as work.
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("verification_run.py")), str(source)],
        env={**os.environ, **quiet, **single, "PYTHONPATH": str(tree)},
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=True,
    )
    costs: dict[str, float] = json.loads(child.stdout.splitlines()[-1])
    return costs


def report(results: Iterable[Verifications], base: str, rounds: int) -> str:
    """Return the table of both ratios, before and now, and of the cost of ``verify`` itself."""
    results = list(results)
    rows = [result.cells() for result in results]
    counted = [result for result in results if not result.failure]
    columns: list[Sequence[float]] = [
        [ratio(result.costs[name]) for result in counted]
        for ratio in (_over_conversion, _over_runs)
        for name in ("before", "now")
    ]
    columns.append([result.costs["now"]["verify"] / result.costs["before"]["verify"] for result in counted])
    rows.append(["median", *map(median, columns)])
    notes = [
        "over conversion: what the default verification adds, as a multiple of converting without it (goal: 1)",
        "over runs: `verify` as a multiple of the float32 runs of source and target that it makes",
        f"least CPU seconds of {rounds} fresh processes each; imports and first uses come before",
    ]
    titles = ["model", "over conversion, before", "now", "over runs, before", "now", "verify, now over before"]
    return render(f"Cost of verification beside {base}", titles, rows, notes)


def line(result: Verifications) -> str:
    """Return what is known of one model, while the others are still being measured."""
    return " | ".join(result.cells())
