"""Seconds, work and peak memory of a conversion beside the peers', each in a fresh process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench.models import BenchModel
from bench.peers import OURS, OURS_VERIFIED, PEERS, Converted, convert
from bench.table import median, ratio, render

__all__ = ["line", "measure", "report"]

TOOLS = (OURS, *PEERS)
KINDS = ("process", "cpu", "call", "peak")


@dataclass
class Conversion:
    """The quickest of each tool's runs."""

    model: str
    runs: dict[str, list[Converted]] = field(default_factory=dict)

    def failure(self, tool: str) -> str:
        return next((run.failure for run in self.runs.get(tool, ()) if run.failure), "")

    def late(self, tool: str) -> bool:
        """Whether the tool was ended at the time limit: its time is at least that."""
        return any(run.outcome.late for run in self.runs[tool])

    def process(self, tool: str) -> float | None:
        """Seconds from start to end, imports included."""
        return self._least(tool, lambda run: run.outcome.seconds)

    def cpu(self, tool: str) -> float | None:
        """Seconds that processors worked for the process: others on the same machine hardly change it."""
        return self._least(tool, lambda run: run.outcome.cpu)

    def call(self, tool: str) -> float | None:
        """The same for the call alone, without imports."""
        return self._least(tool, lambda run: run.cpu)

    def peak(self, tool: str) -> float | None:
        """Bytes."""
        return self._least(tool, lambda run: run.outcome.peak_bytes)

    def _least(self, tool: str, measured: Callable[[Converted], float]) -> float | None:
        runs = self.runs.get(tool)
        return min(map(measured, runs)) if runs and not self.failure(tool) else None


def measure(model: BenchModel, cache: Path, *, rounds: int, limit: float, verified: bool) -> Conversion:
    """All tools in turn, round by round; what they made is kept for the latencies."""
    tools = (*TOOLS, OURS_VERIFIED) if verified else TOOLS
    found = Conversion(model.name, {tool.name: [] for tool in tools})
    source = model.file(cache)
    for _ in range(rounds):
        for tool in tools:
            if not found.failure(tool.name):
                folder = cache / "saved" / tool.name / model.name
                found.runs[tool.name].append(convert(tool, source, folder, limit))
    return found


def report(results: Iterable[Conversion]) -> str:
    """Ours as a multiple of each peer's."""
    results = list(results)
    columns = ["model", "process, s", "cpu, s", "call, s", "peak, MB", "verified, s"]
    columns += [f"{what} / {peer.name}" for peer in PEERS for what in KINDS]
    rows = [_row(result) for result in results]
    rows.append(
        ["median", "", "", "", "", "", *(_median(results, peer.name, what) for peer in PEERS for what in KINDS)]
    )
    notes = [f"{r.model}, {tool}: fails: {why}" for r in results for tool in r.runs if (why := r.failure(tool))]
    return render("Conversion: ours as a multiple of the peer's (below 1 is better)", columns, rows, notes)


def line(result: Conversion) -> str:
    """What is known of one model, while the others are still being measured."""
    return " | ".join(_row(result))


def _row(result: Conversion) -> list[str]:
    ours = OURS.name
    seconds = [_shown(getattr(result, what)(ours)) for what in ("process", "cpu", "call")]
    peak = result.peak(ours)
    verified = _shown(result.process(OURS_VERIFIED.name)) if OURS_VERIFIED.name in result.runs else "–"
    against = [_against(result, peer.name, what) for peer in PEERS for what in KINDS]
    return [result.model, *seconds, "fails" if peak is None else f"{peak / 1e6:.0f}", verified, *against]


def _shown(seconds: float | None) -> str:
    return "fails" if seconds is None else f"{seconds:.1f}"


def _against(result: Conversion, peer: str, what: str) -> str:
    """Ours as a multiple of the peer's; of a peer that was ended, no more than a bound is known."""
    ours = getattr(result, what)(OURS.name)
    if result.late(peer) and what in ("call", "peak"):
        return "–"
    if result.late(peer) and ours:
        ended = [run.outcome.seconds if what == "process" else run.outcome.cpu for run in result.runs[peer]]
        return f"< {ours / max(ended):.2f}"
    return "fails" if result.failure(peer) else ratio(ours, getattr(result, what)(peer))


def _median(results: list[Conversion], peer: str, what: str) -> str:
    pairs = [(getattr(r, what)(OURS.name), getattr(r, what)(peer)) for r in results]
    return median([ours / other for ours, other in pairs if ours and other])
