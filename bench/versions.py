"""SavedModels made by an earlier version of Trueport beside those of this one, with oneDNN on and off."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from bench.child import run
from bench.models import BenchModel
from bench.race import LOADS
from bench.table import median, render

__all__ = ["ROOT", "checked_out", "line", "measure", "report"]

ONEDNN = {"oneDNN on": "1", "oneDNN off": "0"}
ROOT = Path(__file__).parents[1]


@dataclass
class Versions:
    """One model: the same graph as before, or the ratio of latencies, now over before, per setting."""

    model: str
    same_graph: bool = False
    ratios: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def measure(model: BenchModel, cache: Path, *, base: str, rounds: int, threads: int) -> Versions:
    """Convert with both versions; race them where their graphs differ."""
    found = Versions(model.name)
    trees = {"before": checked_out(base, cache), "now": ROOT}
    source = model.file(cache)
    forms = {name: _converted(source, tree, cache / "versions" / name / model.name) for name, tree in trees.items()}
    found.same_graph = len({frozenset(_operations(folder).items()) for folder in forms.values()}) == 1
    if not found.same_graph:
        for setting, value in ONEDNN.items():
            _race(found, setting, value, {"onnxruntime": source, **forms}, rounds, threads)
    return found


def checked_out(base: str, cache: Path) -> Path:
    """Return the tree of an earlier commit."""
    folder = cache / "versions" / f"tree-{base}"
    if not folder.exists():
        archive = subprocess.run(["git", "archive", base, "trueport"], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as tree:
            tree.extractall(folder, filter="data")
    return folder


def _converted(source: Path, tree: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "trueport", "convert", source, "-o", folder, "--no-verify", "--overwrite", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(list(map(str, command)), cwd=tree, env=environment, check=True, capture_output=True)
    return folder


def _operations(folder: Path) -> Counter[str]:
    """Count the operations of a SavedModel's functions."""
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    functions = model.meta_graphs[0].graph_def.library.function
    return Counter(node.op for function in functions for node in function.node_def)


def _race(found: Versions, setting: str, value: str, forms: dict[str, Path], rounds: int, threads: int) -> None:
    """All forms in fresh processes; a form's least seconds of all processes count."""
    least = dict.fromkeys(forms, math.inf)
    for load in range(LOADS):
        order = dict(reversed(forms.items())) if load % 2 else forms
        with tempfile.TemporaryDirectory() as scratch:
            result = Path(scratch) / "result.json"
            named = [f"{name}={path}" for name, path in order.items()]
            command = [sys.executable, "-m", "bench.race", found.model, str(rounds), str(threads), "wall", str(result)]
            outcome = run(["env", f"TF_ENABLE_ONEDNN_OPTS={value}", *command, *named], limit=900)
            if outcome.failure:
                found.failures.append(f"{setting}: {outcome.failure}")
                return
            data = json.loads(result.read_text())
        found.failures += [f"{setting}, {form}: {why}" for form, why in data["failures"].items()]
        least |= {form: min(least[form], seconds) for form, seconds in data["seconds"].items()}
    if math.isfinite(least["before"]) and math.isfinite(least["now"]):
        found.ratios[setting] = least["now"] / least["before"]


def report(results: Iterable[Versions], base: str) -> str:
    """Return the table: this version's latency as a multiple of the earlier one's."""
    results = list(results)
    rows = [_row(result) for result in results]
    found = {setting: [r.ratios[setting] for r in results if setting in r.ratios] for setting in ONEDNN}
    rows.append(["median", "", *(median(found[setting]) for setting in ONEDNN)])
    notes = [f"{result.model}: {why}" for result in results for why in dict.fromkeys(result.failures)]
    title = f"Latency of this version's SavedModels as a multiple of those of {base} (below 1 is faster)"
    return render(title, ["model", "graph", *ONEDNN], rows, notes)


def line(result: Versions) -> str:
    """Return what is known of one model, while the others are still being measured."""
    return " | ".join(_row(result))


def _row(result: Versions) -> list[str]:
    ratios = [f"{result.ratios[setting]:.3f}" if setting in result.ratios else "" for setting in ONEDNN]
    return [result.model, "the same" if result.same_graph else "differs", *ratios]
