"""Exported from an example of ten rows, run with five and with one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
import torch
from torch import nn

import trueport

torch.manual_seed(0)
module = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3)).eval()
ten = torch.randn(10, 6)
folder = Path(tempfile.mkdtemp())
for target in ("model.onnx", "saved_model"):
    report = trueport.convert_file(
        module, folder / target, example_inputs={"input": ten}, dynamic_shapes="input.0=batch"
    )
    print(report)
    assert report.inputs[0].shape == ("batch", 6) and report.outputs[0].shape == ("batch", 3)

serving = tf.saved_model.load(str(folder / "saved_model")).signatures["serving_default"]
onnx = trueport.load(folder / "model.onnx")
for rows in (10, 5, 1):
    x = np.random.default_rng(rows).standard_normal((rows, 6)).astype(np.float32)
    with torch.no_grad():
        wanted = module(torch.from_numpy(x)).numpy()
    served = next(iter(serving(input=tf.constant(x)).values())).numpy()
    ran = onnx.run({"input": x})["output"]
    print(f"{rows:>2} rows: TensorFlow off by {abs(served - wanted).max():.1e}, ONNX by {abs(ran - wanted).max():.1e}")
    assert served.shape == ran.shape == wanted.shape
    assert (
        trueport.verify(folder / "model.onnx", folder / "saved_model", data=[{"input": x}]).verdict.value == "faithful"
    )
