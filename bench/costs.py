"""CPU seconds of ``trueport convert`` and ``trueport check`` beside those of an earlier version, in one run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.child import Outcome, run
from bench.models import BenchModel
from bench.table import median, render
from bench.versions import ROOT, checked_out

__all__ = ["line", "measure", "report"]

COMMANDS = ("convert", "check")
_LIMIT = 300.0
"""CPU seconds that one command may take."""


@dataclass
class Costs:
    """One model: the runs of both versions, by command."""

    model: str
    runs: dict[str, dict[str, list[Outcome]]] = field(default_factory=dict)

    def failure(self, command: str) -> str:
        """Return why a version fails, '' if none does."""
        found = (f"{name}: {one.failure}" for name, done in self.runs[command].items() for one in done if one.failure)
        return next(found, "")

    def ratio(self, command: str) -> float | None:
        """Return this version's least CPU seconds over the earlier one's; None where one of them fails."""
        if self.failure(command):
            return None
        before, now = (min(one.cpu for one in self.runs[command][name]) for name in ("before", "now"))
        return now / before


def measure(model: BenchModel, cache: Path, *, base: str, rounds: int) -> Costs:
    """Run every command by both versions in turn, in fresh processes."""
    found, trees = Costs(model.name), {"before": checked_out(base, cache), "now": ROOT}
    source = model.file(cache)
    for command in COMMANDS:
        found.runs[command] = {name: [] for name in trees}
        for number in range(rounds):
            for name in sorted(trees, reverse=bool(number % 2)):
                outcome = _run(command, source, trees[name], cache / "costs" / name)
                found.runs[command][name].append(outcome)
    return found


def _run(command: str, source: Path, tree: Path, folder: Path) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    further = {
        "convert": ["-o", str(folder / source.stem), "--no-verify", "--overwrite", "-q"],
        "check": ["--to", "tensorflow", "-q"],
    }[command]
    trueport = ["env", f"PYTHONPATH={tree}", sys.executable, "-m", "trueport", command, str(source), *further]
    # Exit code 1 of check: something would be lost.
    return run(["sh", "-c", '"$@" || test $? -eq 1', "sh", *trueport], limit=_LIMIT, folder=tree)


def report(results: Iterable[Costs], base: str, rounds: int) -> str:
    """Return the table of ratios, this version over the earlier one."""
    results = list(results)
    rows = [_row(result) for result in results]
    ratios: list[Sequence[float]] = [[r for one in results if (r := one.ratio(command))] for command in COMMANDS]
    rows.append(["median", *map(median, ratios)])
    notes = [
        f"{one.model}, {command}: {why}" for one in results for command in COMMANDS if (why := one.failure(command))
    ]
    notes.append(f"least of {rounds} fresh processes each, imports included; the two versions take turns")
    return render(
        f"CPU seconds as a multiple of those of {base} (below 1 is faster)", ["model", *COMMANDS], rows, notes
    )


def line(result: Costs) -> str:
    """Return what is known of one model, while the others are still being measured."""
    return " | ".join(_row(result))


def _row(result: Costs) -> list[str]:
    ratios = [result.ratio(command) for command in COMMANDS]
    return [result.model, *("fails" if ratio is None else f"{ratio:.3f}" for ratio in ratios)]
