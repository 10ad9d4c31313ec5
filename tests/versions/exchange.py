"""SavedModels written under one set of versions, loaded by plain TensorFlow under another.

    python -m tests.versions.exchange files FILES            # ONNX files, what they are fed, what ONNX Runtime gives
    python -m tests.versions.exchange write FILES SAVED      # a SavedModel of each

The first runs in the pinned set, the second in each. :func:`exchanged` loads the SavedModels in an environment and
compares: floats within the bounds that the file's operators declare, integers, booleans and strings equal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.versions.environments import ROOT
from tests.versions.sets import EXCHANGED

__all__ = ["exchanged", "write_files", "write_saved"]


def write_files(folder: Path) -> None:
    """Write ONNX files of the models, inputs, and what ONNX Runtime computes of them."""
    import onnx_ir as ir
    import onnxruntime

    import trueport
    from tests.versions.run_files import _outputs
    from tests.versions.runtime_models import MODELS
    from trueport.backends.tensorflow.registry import registry
    from trueport.verifying.judge.budget import allowed_ulps

    onnxruntime.set_default_logger_severity(4)
    for name in EXCHANGED:
        source, place = MODELS[name], folder / name
        place.mkdir(parents=True)
        converted = trueport.convert(source.make(), to="onnx", verify=False, **source.options)
        converted.save(place / "model.onnx")
        names = [port.name for port in converted.report.inputs]
        np.savez(place / "feeds.npz", **dict(zip(names, source.inputs(), strict=True)))
        np.savez(place / "want.npz", **_outputs(place))
        model = ir.load(place / "model.onnx")
        facts = {
            "outputs": [value.name for value in model.graph.outputs],
            "allowed_ulps": allowed_ulps(model, registry()),
        }
        (place / "facts.json").write_text(json.dumps(facts), "utf-8")


def write_saved(files: Path, saved: Path) -> None:
    """Write a SavedModel of each ONNX file."""
    import trueport

    saved.mkdir(parents=True, exist_ok=True)
    for folder in sorted(files.iterdir()):
        trueport.convert_file(folder / "model.onnx", saved / folder.name, verify=False)


def exchanged(python: Path, files: Path, saved: Path) -> dict[str, str]:
    """Load SavedModels with an environment's TensorFlow; return by model how it differs, empty if it agrees."""
    with tempfile.TemporaryDirectory() as results:
        script = Path(__file__).with_name("load_saved.py")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        words = [python, script, files, saved, results]
        subprocess.run(words, env=environment, cwd=results, check=True, capture_output=True, text=True)
        errors = json.loads(Path(results, "errors.json").read_text("utf-8"))
        return {
            folder.name: errors.get(folder.name) or _difference(folder, Path(results, f"{folder.name}.npz"))
            for folder in sorted(files.iterdir())
        }


def _difference(folder: Path, results: Path) -> str:
    from trueport.fidelity import Verdict
    from trueport.verifying.judge.summed_bounds import compare_outputs

    facts = json.loads((folder / "facts.json").read_text("utf-8"))
    with np.load(folder / "want.npz") as wanted, np.load(results) as given:
        if set(given.files) != set(facts["outputs"]):
            return f"outputs {sorted(given.files)}, expected {sorted(facts['outputs'])}"
        for index, name in enumerate(facts["outputs"]):
            found = compare_outputs(name, wanted[str(index)], given[name], facts["allowed_ulps"])
            if found.verdict != Verdict.FAITHFUL:
                why = found.why or f"{found.needed_ulps:.3g} ulp, allowed {found.allowed_ulps:.3g}"
                return f"{name} differs: {why}"
    return ""


def run(python: Path, *words: str | Path) -> None:
    """Run a command of this module in an environment, with the package of this folder; raises if it fails."""
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [python, "-m", "tests.versions.exchange", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr[-2000:]}")


if __name__ == "__main__":
    {"files": write_files, "write": write_saved}[sys.argv[1]](*map(Path, sys.argv[2:]))
