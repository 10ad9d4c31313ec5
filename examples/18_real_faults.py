"""Wrong padding, epsilon, interpolation, axis: located, explained, and reproduced in one node."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx.helper as oh
from networks import make, weight
from onnx import TensorProto

import trueport

rng = np.random.default_rng(0)
RIGHT = {"pads": [1, 1, 1, 1], "epsilon": 1e-5, "mode": "half_pixel", "axis": 1}


def network(**wrong: object) -> object:
    """A small segmenter; ``wrong`` says what a careless converter made of one attribute."""
    a = RIGHT | wrong
    norm = ["gamma", "beta", "mean", "variance"]
    graph = oh.make_graph(
        [
            oh.make_node("Conv", ["x", "w"], ["c"], "conv", pads=a["pads"]),
            oh.make_node("BatchNormalization", ["c", *norm], ["b"], "norm", epsilon=a["epsilon"]),
            oh.make_node(
                "Resize", ["b", "", "twice"], ["z"], "grow", mode="linear", coordinate_transformation_mode=a["mode"]
            ),
            oh.make_node("Softmax", ["z"], ["y"], "classes", axis=a["axis"]),
        ],
        "segmenter",
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4, 16, 16])],
        WEIGHTS,
    )
    return make(graph)


WEIGHTS = [
    weight("w", rng.normal(size=(4, 3, 3, 3)).astype(np.float32)),
    *(weight(name, rng.normal(size=4).astype(np.float32)) for name in ("gamma", "beta", "mean")),
    weight("variance", rng.uniform(1e-4, 1e-2, size=4).astype(np.float32)),
    weight("twice", np.array([1, 1, 2, 2], np.float32)),
]
faults = {
    "conv": {"pads": [2, 2, 0, 0]},
    "norm": {"epsilon": 1e-3},
    "grow": {"mode": "asymmetric"},
    "classes": {"axis": 2},
}
folder = Path(tempfile.mkdtemp())
for node, wrong in faults.items():
    target = folder / f"saved_{node}"
    trueport.convert(network(**wrong), to="tensorflow", verify=False).save(target)
    assert trueport.verify(network(), target).verdict.value == "departs"
    found = trueport.locate(network(), target, reproduce=folder / node)
    culprit = found.culprit
    print(f"{wrong}: {culprit.op} {culprit.node!r}, own error {culprit.own.ratio:.1e} × rounding")
    print(f"  {culprit.causes[0].what}")
    assert culprit.node == node
    assert culprit.causes[0].kind == "attribute"
    shown = subprocess.run([sys.executable, "show.py"], cwd=folder / node, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
print("each reproducer is one node, its inputs, and a script:", sorted(p.name for p in (folder / "conv").iterdir()))
