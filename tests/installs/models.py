"""One small model in every form, and the commands that each install is asked to run on them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import tensorflow as tf
import torch

import trueport

__all__ = ["COMMANDS", "write_models"]

_GRAPH = """
<ir_version: 8, opset_import: ["": 17]>
dense (float[n,3] x) => (float[n,2] y) <float[3,2] w = {0.5, -1.0, 2.0, 0.25, -4.0, 3.0}> {
  h = MatMul(x, w)
  y = Relu(h)
}
"""
_WEIGHTS = np.array([[0.5, -1.0], [2.0, 0.25], [-4.0, 3.0]], np.float32)


class _Dense(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.from_numpy(_WEIGHTS.copy()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ self.w)


def write_models(folder: Path) -> None:
    """Write x.npy, model.onnx, model.keras, model.pt2, model.tflite, saved/ by Keras and converted/ by Trueport."""
    np.save(folder / "x.npy", np.array([[1, 2, 3], [3, 2, 1]], np.float32))
    onnx.save(onnx.parser.parse_model(_GRAPH), folder / "model.onnx")
    trueport.convert_file(folder / "model.onnx", folder / "converted", verify=False)
    layer = tf.keras.layers.Dense(2, activation="relu", use_bias=False, name="y")
    model = tf.keras.Sequential([tf.keras.Input((3,), name="x"), layer])
    layer.set_weights([_WEIGHTS])
    model.save(folder / "model.keras")
    model.export(folder / "saved", verbose=False)
    trueport.convert_file(folder / "model.onnx", folder / "model.tflite", verify=False)
    shutil.rmtree(folder / "saved" / "assets", ignore_errors=True)
    torch.export.save(torch.export.export(_Dense(), (torch.ones(2, 3),)), folder / "model.pt2")


_CONVERSIONS: Mapping[str, str] = {
    "model.onnx": "tf tf.tflite",
    "model.keras": "keras.onnx",
    "saved": "saved.onnx",
    "model.pt2": "torch.onnx torch torch.tflite",
}
_PAIRS = (
    "model.onnx converted",
    "model.onnx model.onnx",
    "model.onnx model.tflite",
    "model.keras model.onnx",
    "model.keras saved",
    "model.pt2 model.onnx",
    "model.pt2 model.pt2",
    "model.tflite model.tflite",
)

COMMANDS: tuple[str, ...] = (
    "--version",
    "--help",
    "-h",
    "convert -h",
    "ops Relu",
    *(f"info {model}" for model in ("model.onnx", "converted", "saved", "model.keras", "model.tflite")),
    *(f"check {source}" for source in _CONVERSIONS),
    "check model.pt2 --to tensorflow",
    *(
        f"convert {source} -o made/{target}{verify}"
        for source, targets in _CONVERSIONS.items()
        for target in targets.split()
        for verify in ("", " --no-verify --overwrite")
    ),
    *(f"verify {pair}" for pair in _PAIRS),
    "verify model.onnx converted --isolate",
    *(f"locate {pair}" for pair in _PAIRS[:4]),
    "locate model.onnx converted --reproduce made/part",
    *(f"run {model} -i x=x.npy" for model in ("model.onnx", "converted", "saved", "model.tflite")),
    "diff model.onnx model.onnx",
    "diff saved saved",
)
"""All run in the folder of the models, in this order."""
