"""Parts of grouped convolutions in TensorFlow, whose kernels for them depend on the CPU: with oneDNN and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import sys
import numpy as np, onnx, trueport

rng = np.random.default_rng(0)
weights = {"v": rng.normal(size=(8, 2, 3, 3)), "w": rng.normal(size=(8, 4, 3, 3)), "b": rng.normal(size=8),
           "s": rng.random(8) + 0.5}

def model(weights):
    made = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["" : 21]>
        a (float[N,4,8,8] x) => (float[N,8,P,Q] y) { c = Conv<group = 2, pads = [1, 1, 1, 1]>(x, v, b)
        n = BatchNormalization(c, s, b, b, s) r = Relu(n) y = Conv<group = 2>(r, w, b) }''')
    stored = [onnx.numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items()]
    made.graph.initializer.extend(stored)
    return made

other = dict(weights, w=weights["w"] * 1.1)
trueport.convert(model(other), to="tensorflow", verify=False).save(sys.argv[1])
found = trueport.locate(model(weights), sys.argv[1], samples=2, everything=True)
assert found.culprit.value == "y", found
assert all(step.own_ratio is not None for step in found.steps), found.steps
"""


@pytest.mark.parametrize("onednn", ["0", "1"])
def test_grouped_convolutions_are_located_in(onednn: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": onednn}
    script = [sys.executable, "-c", _SCRIPT, str(tmp_path / "target")]
    run = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
