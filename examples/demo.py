"""A small network as an ONNX file and as a SavedModel: both run, and compared."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from networks import digit_classifier, save

import trueport


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="trueport-demo-"))
    source = save(digit_classifier(), str(folder / "digits.onnx"))
    report = trueport.convert_file(source, folder / "digits_saved_model")
    print(report)
    print()

    images = np.random.default_rng(0).normal(size=(5, 1, 28, 28)).astype(np.float32)
    by_onnx = trueport.load(source).run({"image": images})["probabilities"]
    by_tensorflow = trueport.load(folder / "digits_saved_model").run({"image": images})["probabilities"]
    print(f"{'image':>5}  {'ONNX Runtime':>22}  {'TensorFlow':>22}  largest difference")
    for row, (a, b) in enumerate(zip(by_onnx, by_tensorflow, strict=True)):
        first, second = (f"class {p.argmax()} at {p.max():.7f}" for p in (a, b))
        print(f"{row:>5}  {first:>22}  {second:>22}  {np.abs(a - b).max():.2e}")
    print(f"\nboth models are in {folder}")


if __name__ == "__main__":
    main()
