"""TFLite files from ONNX and from PyTorch, compared as they are on disk; what TFLite lacks is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import helper as oh
from torch import nn

import trueport


def test_from_pytorch_with_an_open_batch(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()
    report = trueport.convert_file(
        module,
        tmp_path / "net.tflite",
        example_inputs={"input": torch.randn(1, 3, 8, 8)},
        dynamic_shapes="input.0=batch",
    )
    assert report.verdict is not None and report.verdict.value == "faithful"
    loaded = trueport.load(tmp_path / "net.tflite")
    for rows in (1, 3):
        assert loaded.run({"input": np.ones((rows, 3, 8, 8), np.float32)})["output"].shape == (rows, 5)


def test_from_onnx(tmp_path: Path) -> None:
    x, y = (oh.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 4]) for name in "xy")
    graph = oh.make_graph([oh.make_node("Softmax", ["x"], ["y"])], "g", [x], [y])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 13)])
    result = trueport.convert(model, to="tflite")
    assert result.report.verdict is not None and result.report.verdict.value == "faithful"
    assert result.model[4:8] == b"TFL3"


def test_what_tflite_lacks_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    class Determinant(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.det(x)

    with pytest.raises(trueport.ConversionError, match="TFLite has no MatrixDeterminant"):
        trueport.convert_file(Determinant(), tmp_path / "det.tflite", example_inputs=(torch.randn(2, 3, 3),))
    assert not list(tmp_path.iterdir())
