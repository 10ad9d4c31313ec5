"""Run SavedModels with the TensorFlow of this environment, as someone does who has TensorFlow alone.

    python load_saved.py FILES SAVED RESULTS

FILES has one folder per model with ``feeds.npz``, SAVED one SavedModel of the same name. RESULTS gets one ``.npz`` per
model that ran, and ``errors.json`` with the message of each that did not. Needs TensorFlow and NumPy, and nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


def main(files: Path, saved: Path, results: Path) -> None:
    errors = {}
    for folder in sorted(files.iterdir()):
        try:
            np.savez(results / f"{folder.name}.npz", **_outputs(folder, saved / folder.name))
        except Exception as error:  # whatever TensorFlow raises, the table shows what it says
            errors[folder.name] = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    (results / "errors.json").write_text(json.dumps(errors), "utf-8")
    print(tf.__version__)


def _outputs(folder: Path, saved: Path) -> dict[str, Any]:
    called = tf.saved_model.load(str(saved)).signatures["serving_default"]
    with np.load(folder / "feeds.npz") as given:
        feeds = {name: tf.constant(given[name]) for name in given.files}
    return {name: _kept(value.numpy()) for name, value in called(**feeds).items()}


def _kept(array: Any) -> Any:
    array = np.asarray(array)
    return np.char.decode(array.astype(bytes), "utf-8") if array.dtype == object else array


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
