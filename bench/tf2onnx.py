"""Keras models to ONNX beside tf2onnx: what converts, what agrees, seconds, memory, nodes, latency.

Both get the same SavedModel; each conversion runs in a fresh process, and the files race in one. Seconds of conversion
are those that processors worked. *convert* is the call, from the SavedModel to the written file: for ours with the
checks by ONNX's checker and ONNX Runtime, without the comparison with TensorFlow, which tf2onnx does not make either;
modules of both are read before. *process* is all of it, with Python and imports.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench.child import run
from bench.keras_zoo import ZooModel
from bench.peers import OURS, TF2ONNX, Converted, Tool, convert
from bench.race import LOADS
from bench.table import median, ratio, render

__all__ = ["line", "measure", "report", "saved"]

TOOLS = (OURS, TF2ONNX)


@dataclass
class Comparison:
    """What each tool made of one model."""

    model: str
    converted: dict[str, Converted] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    distances: dict[str, float] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    latencies: dict[str, float] = field(default_factory=dict)


def measure(model: ZooModel, cache: Path, *, rounds: int, threads: int, limit: float) -> Comparison:
    """Convert with both, then let what they made race beside TensorFlow."""
    found = Comparison(model.name)
    source = saved(model, cache)
    forms = {}
    for tool in TOOLS:
        target = cache / "onnx" / tool.name / f"{model.name}.onnx"
        failure = _missing(tool)
        if not failure:
            found.converted[tool.name] = convert(tool, source, target, limit)
            failure = found.converted[tool.name].failure
        if failure:
            found.failures[tool.name] = failure
        else:
            forms[tool.name] = target
    _raced(found, model, source, forms, rounds, threads)
    return found


def saved(model: ZooModel, cache: Path) -> Path:
    """The SavedModel, written once."""
    folder = cache / "keras" / model.name
    if not folder.exists():
        outcome = run([sys.executable, "-m", "bench.keras_zoo", model.name, str(folder)], limit=300)
        if outcome.failure:
            raise RuntimeError(f"{model.name} in Keras: {outcome.failure}")
    return folder


def _missing(tool: Tool) -> str:
    """Why there is no such tool here; empty when there is one."""
    try:
        tool.interpreter()
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines() if error.stderr else []
        return f"not available: {said[-1] if said else error}"
    return ""


def _raced(found: Comparison, model: ZooModel, source: Path, forms: dict[str, Path], rounds: int, threads: int) -> None:
    """In some processes, one after the other; a form's least seconds of all of them count."""
    for load in range(LOADS):
        order = dict(forms if load % 2 else reversed(forms.items()))
        _race(found, model, order, [model.name, str(source), str(rounds), str(threads)])


def _race(found: Comparison, model: ZooModel, forms: dict[str, Path], settings: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch) / "result.json"
        named = [f"{name}={path}" for name, path in forms.items()]
        outcome = run([sys.executable, "-m", "bench.tf2onnx_race", *settings, str(result), *named], limit=300)
        if outcome.failure:
            found.failures |= dict.fromkeys(forms, f"in the race: {outcome.failure}")
            return
        data = json.loads(result.read_text())
    found.failures |= data["failures"]
    found.distances, found.nodes = data["distances"], data["nodes"]
    found.failures |= {
        form: f"other numbers: {away:.2g} away" for form, away in found.distances.items() if away > model.tolerance
    }
    for form, seconds in data["seconds"].items():
        if form not in found.failures:
            found.latencies[form] = min(seconds, found.latencies.get(form, math.inf))


Measure = Callable[[Comparison, str], float | None]


def _function(found: Comparison, tool: str) -> float | None:
    return None if tool in found.failures else found.converted[tool].cpu


def _process(found: Comparison, tool: str) -> float | None:
    return None if tool in found.failures else found.converted[tool].outcome.cpu


def _peak(found: Comparison, tool: str) -> float | None:
    return None if tool in found.failures else found.converted[tool].outcome.peak_bytes / 1e6


def _nodes(found: Comparison, tool: str) -> float | None:
    return None if tool in found.failures else found.nodes[tool]


def _latency(found: Comparison, form: str) -> float | None:
    return found.latencies[form] * 1000 if form in found.latencies else None


COLUMNS: tuple[tuple[str, Measure, str], ...] = (
    ("convert, s", _function, ".2f"),
    ("process, s", _process, ".1f"),
    ("peak, MB", _peak, ".0f"),
    ("nodes", _nodes, ".0f"),
    ("latency, ms", _latency, ".3f"),
)


def report(results: Iterable[Comparison], threads: int) -> str:
    """Ours, and as a multiple of tf2onnx's."""
    results = list(results)
    columns = ["model", "error", "tf2onnx's"]
    columns += [name for what, _, _ in COLUMNS for name in (what, "/ tf2onnx")]
    rows = [_row(found) for found in results]
    medians = [cell for _, of, _ in COLUMNS for cell in ("", _median(results, of, TF2ONNX.name))]
    counts = [f"{sum(tool.name not in r.failures for r in results)} of {len(results)}" for tool in TOOLS]
    rows.append(["agree; median", *counts, *medians, _median(results, _latency, "tensorflow")])
    notes = [f"{r.model}, {tool}: {why}" for r in results for tool, why in r.failures.items()]
    title = f"Keras to ONNX, {threads} threads: ours, and as a multiple of tf2onnx's (below 1 is better)"
    return render(title, [*columns, "/ TensorFlow"], rows, notes)


def line(found: Comparison) -> str:
    """What is known of one model, while the others are still being measured."""
    return " | ".join([*_row(found), *found.failures.values()])


def _row(found: Comparison) -> list[str]:
    cells = [found.model, *(_verdict(found, tool.name) for tool in TOOLS)]
    for _, of, form in COLUMNS:
        ours = of(found, OURS.name)
        cells += ["–" if ours is None else format(ours, form), ratio(ours, of(found, TF2ONNX.name))]
    return [*cells, ratio(_latency(found, OURS.name), _latency(found, "tensorflow"))]


def _verdict(found: Comparison, tool: str) -> str:
    """The distance to TensorFlow, or what came in its place."""
    if tool not in found.failures:
        return f"{found.distances[tool]:.0e}"
    return "wrong" if tool in found.distances else "fails"


def _median(results: list[Comparison], of: Measure, other: str) -> str:
    pairs = [(of(r, OURS.name), of(r, other)) for r in results]
    return median([ours / theirs for ours, theirs in pairs if ours and theirs])
