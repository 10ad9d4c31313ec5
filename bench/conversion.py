"""Seconds and peak memory of a conversion beside the peers', each in a fresh process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench.models import BenchModel
from bench.peers import OURS, OURS_VERIFIED, PEERS, Converted, convert
from bench.table import median, ratio, render

__all__ = ["line", "measure", "report"]

TOOLS = (OURS, OURS_VERIFIED, *PEERS)


@dataclass
class Conversion:
    """The quickest of each tool's runs."""

    model: str
    runs: dict[str, list[Converted]] = field(default_factory=dict)

    def failure(self, tool: str) -> str:
        return next((run.failure for run in self.runs[tool] if run.failure), "")

    def late(self, tool: str) -> bool:
        """Whether the tool was ended at the time limit: its time is at least that."""
        return any(run.outcome.late for run in self.runs[tool])

    def process(self, tool: str) -> float | None:
        return None if self.failure(tool) else min(run.outcome.seconds for run in self.runs[tool])

    def function(self, tool: str) -> float | None:
        return None if self.failure(tool) else min(run.seconds for run in self.runs[tool])

    def peak(self, tool: str) -> float | None:
        return None if self.failure(tool) else min(run.outcome.peak_bytes for run in self.runs[tool])


def measure(model: BenchModel, cache: Path, *, rounds: int, limit: float) -> Conversion:
    """All tools in turn, round by round; what they made is kept for the latencies."""
    found = Conversion(model.name, {tool.name: [] for tool in TOOLS})
    source = model.file(cache)
    for _ in range(rounds):
        for tool in TOOLS:
            if not found.failure(tool.name):
                folder = cache / "saved" / tool.name / model.name
                found.runs[tool.name].append(convert(tool, source, folder, limit))
    return found


def report(results: Iterable[Conversion]) -> str:
    """Ours as a multiple of each peer's."""
    results = list(results)
    columns = ["model", "process, s", "function, s", "verified, s", "peak, MB"]
    columns += [f"{what} / {peer.name}" for peer in PEERS for what in ("process", "function", "peak")]
    rows = [_row(result) for result in results]
    rows.append(["median", "", "", "", "", *(_median(results, peer.name, what) for peer in PEERS for what in KINDS)])
    notes = [
        f"{r.model}, {tool.name}: fails: {why}" for r in results for tool in TOOLS if (why := r.failure(tool.name))
    ]
    return render("Conversion: ours as a multiple of the peer's (below 1 is better)", columns, rows, notes)


def line(result: Conversion) -> str:
    """What is known of one model, while the others are still being measured."""
    return " | ".join(_row(result))


KINDS = ("process", "function", "peak")


def _row(result: Conversion) -> list[str]:
    ours = OURS.name
    own = [result.process(ours), result.function(ours), result.process(OURS_VERIFIED.name)]
    peak = result.peak(ours)
    cells = ["fails" if value is None else f"{value:.1f}" for value in own]
    cells.append("fails" if peak is None else f"{peak / 1e6:.0f}")
    for peer in PEERS:
        for what in KINDS:
            cells.append(_against(result, peer.name, what))
    return [result.model, *cells]


def _against(result: Conversion, peer: str, what: str) -> str:
    """Ours as a multiple of the peer's; of a peer that was ended, no more than a bound is known."""
    ours = getattr(result, what)(OURS.name)
    if result.late(peer) and what != "peak" and ours:
        return f"< {ours / max(run.outcome.seconds for run in result.runs[peer]):.2f}"
    return "fails" if result.failure(peer) else ratio(ours, getattr(result, what)(peer))


def _median(results: list[Conversion], peer: str, what: str) -> str:
    pairs = [(getattr(r, what)(OURS.name), getattr(r, what)(peer)) for r in results]
    return median([ours / other for ours, other in pairs if ours and other])
