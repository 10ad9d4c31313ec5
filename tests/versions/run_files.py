"""Run ONNX files in the ONNX Runtime of this environment; needs onnxruntime and NumPy, and nothing else.

    python run_files.py FOLDER RESULTS

FOLDER has one folder per model: ``model.onnx`` and ``feeds.npz``. RESULTS gets one ``.npz`` per model that ran, and
``errors.json`` with the message of each that did not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort


def main(models: Path, results: Path) -> None:
    ort.set_default_logger_severity(4)
    errors = {}
    for folder in sorted(models.iterdir()):
        try:
            np.savez(results / f"{folder.name}.npz", **_outputs(folder))
        except Exception as error:  # ONNX Runtime has types of its own; the table shows what they say
            errors[folder.name] = " ".join(str(error).split())
    (results / "errors.json").write_text(json.dumps(errors), "utf-8")
    print(ort.__version__)


def _outputs(folder: Path) -> dict[str, Any]:
    session = ort.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    with np.load(folder / "feeds.npz") as given:
        feeds = {name: _fed(given[name]) for name in given.files}
    made = session.run(None, feeds)
    # By position: a name of ONNX may hold what a file's name can't.
    return {str(index): _kept(np.asarray(array)) for index, array in enumerate(made)}


def _fed(array: np.ndarray) -> np.ndarray:
    return array.astype(object) if array.dtype.kind == "U" else array


def _kept(array: np.ndarray) -> np.ndarray:
    return array.astype(str) if array.dtype == object else array


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
