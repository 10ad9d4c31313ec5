"""Latency of the converted SavedModel beside the source in ONNX Runtime, the peers' SavedModels and Keras."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.child import run
from bench.models import BenchModel
from bench.peers import OURS, PEERS, Tool, convert, reason_file
from bench.race import LOADS
from bench.table import median, ratio, render

__all__ = ["line", "measure", "report"]

WRONG = 1e-2
"""A relative distance to ONNX Runtime's outputs from which on a form does not compute the model."""
FORMS = ("onnxruntime", *(peer.name for peer in PEERS), "keras")


@dataclass
class Latency:
    """One model's race."""

    model: str
    seconds: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def ours(self) -> float | None:
        return self.seconds.get(OURS.name)

    def best_other(self) -> float | None:
        """The fastest TensorFlow form that is not ours."""
        others = [s for form, s in self.seconds.items() if form not in ("onnxruntime", OURS.name)]
        return min(others, default=None)


def measure(model: BenchModel, cache: Path, *, rounds: int, threads: int, clock: str, fresh: bool) -> Latency:
    """Convert where there is no result yet (ours always), and let the forms race."""
    source = model.file(cache)
    found = Latency(model.name)
    forms = {"onnxruntime": source}
    for tool in (OURS, *PEERS):
        folder = cache / "saved" / tool.name / model.name
        failure = _saved(tool, source, folder, fresh=fresh or tool is OURS)
        found.failures |= {tool.name: failure} if failure else {}
        forms |= {} if failure else {tool.name: folder}
    if model.architecture is not None:
        forms["keras"] = _keras(model, cache, fresh)
    for load in range(LOADS):
        _race(found, forms if load % 2 else dict(reversed(forms.items())), rounds, threads, clock)
    return found


def _race(found: Latency, forms: Mapping[str, Path], rounds: int, threads: int, clock: str) -> None:
    """All forms in one fresh process; a form's least seconds of all processes count."""
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch) / "result.json"
        named = [f"{name}={path}" for name, path in forms.items()]
        settings = [found.model, str(rounds), str(threads), clock, str(result)]
        outcome = run([sys.executable, "-m", "bench.race", *settings, *named], limit=900)
        if outcome.failure:
            found.failures["race"] = outcome.failure
            return
        data = json.loads(result.read_text())
    found.failures |= data["failures"]
    for form, distance in data["distances"].items():
        if distance <= WRONG:
            found.seconds[form] = min(data["seconds"][form], found.seconds.get(form, math.inf))
        else:
            found.failures[form] = f"other numbers: {distance:.2g} away"


def _saved(tool: Tool, source: Path, folder: Path, *, fresh: bool) -> str:
    """Have a SavedModel in the folder; why there is none."""
    reason = reason_file(folder)
    if fresh or not (folder.exists() or reason.exists()):
        return convert(tool, source, folder).failure
    return reason.read_text() if reason.exists() else ""


def _keras(model: BenchModel, cache: Path, fresh: bool) -> Path:
    folder = cache / "saved" / "keras" / model.name
    if fresh or not folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        outcome = run([sys.executable, "-m", "bench.keras_net", model.name, str(folder)], limit=300)
        if outcome.failure:
            raise RuntimeError(f"{model.name} in Keras: {outcome.failure}")
    return folder


def report(results: Iterable[Latency], threads: int, clock: str) -> str:
    """Ours as a multiple of each other form."""
    results = list(results)
    rows = [_row(result) for result in results]
    pairs = {form: [r.ours / r.seconds[form] for r in results if r.ours and form in r.seconds] for form in FORMS}
    best = [r.ours / other for r in results if r.ours and (other := r.best_other())]
    rows.append(["median", "", *(median(pairs[form]) for form in FORMS), median(best)])
    notes = [f"{r.model}, {form}: {why}" for r in results for form, why in r.failures.items()]
    columns = ["model", "ours, ms", *(f"/ {form}" for form in FORMS), "/ best other TensorFlow"]
    title = f"Latency, {threads} threads, {clock} clock: ours as a multiple of the other (below 1 is faster)"
    return render(title, columns, rows, notes)


def line(result: Latency) -> str:
    """What is known of one model, while the others are still being measured."""
    return " | ".join(_row(result))


def _row(result: Latency) -> list[str]:
    ours = result.ours
    return [
        result.model,
        "fails" if ours is None else f"{ours * 1000:.2f}",
        *("fails" if form in result.failures else ratio(ours, result.seconds.get(form)) for form in FORMS),
        ratio(ours, result.best_other()),
    ]
