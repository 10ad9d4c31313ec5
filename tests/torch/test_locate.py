"""A fault in a converted module is found at its node, with the module's own line and the cause."""

from __future__ import annotations

from pathlib import Path

import onnx
import torch
from torch import nn

import trueport


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm, self.out = nn.Conv2d(3, 4, 3, padding=1), nn.LayerNorm(8), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.conv(x))
        y = self.norm(y).mean((1, 2))
        return self.out(y).softmax(-1)


def test_an_epsilon_is_found_at_its_line(tmp_path: Path) -> None:
    module, x = Net().eval(), torch.randn(2, 3, 8, 8)
    good, bad = tmp_path / "good.onnx", tmp_path / "bad.onnx"
    trueport.convert_file(module, good, example_inputs=(x,), dynamic_shapes="x.0=batch", verify=False)
    proto = onnx.load(good)
    (norm,) = [node for node in proto.graph.node if node.op_type == "LayerNormalization"]
    next(attribute for attribute in norm.attribute if attribute.name == "epsilon").f = 1e-2
    onnx.save(proto, bad)
    data = [{"x": x.numpy()}]
    assert trueport.verify(module, good, data=data).verdict.value == "faithful"
    assert trueport.verify(module, bad, data=data).verdict.value == "departs"
    found = trueport.locate(module, bad, data=data)
    assert found.culprit is not None
    assert found.culprit.node == "layer_norm"
    line = Path(__file__).read_text(encoding="utf-8").splitlines().index("        y = self.norm(y).mean((1, 2))") + 1
    assert found.culprit.origin == (f"test_locate.py:{line} in forward",)
    assert "epsilon = 0.01" in str(found.culprit.causes[0])
