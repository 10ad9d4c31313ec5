"""A loop whose trip count is data, a custom autograd function, a quantized module: PyTorch to ONNX and TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

import trueport


class Newton(nn.Module):
    """As many steps toward the square root as the caller asks for."""

    def forward(self, x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        root = x
        for _ in range(int(steps)):
            root = 0.5 * (root + x / root)
        return root


class Clipped(torch.autograd.Function):
    """Rounds on the way forward; its gradient is its author's business."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x.round().clamp(-2, 2)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


class Straight(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Clipped.apply(x) * 0.5


class Quantized(nn.Module):
    """Weights and activations in eight bits, with scales that must arrive bit for bit."""

    scale, weight_scale = 0.0311, 0.0077

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.fake_quantize_per_tensor_affine(x, self.scale, 3, -128, 127)
        weight = torch.fake_quantize_per_tensor_affine(self.weight, self.weight_scale, 0, -128, 127)
        return nn.functional.linear(x, weight)


torch.manual_seed(0)
values = torch.rand(5, 8) * 4 + 0.1
calls = {
    "loop": (Newton(), (values, torch.tensor(3)), [{"x": values.numpy(), "steps": np.array(n)} for n in (0, 1, 12)]),
    "autograd": (Straight(), (values - 2,), [{"x": (values - 2).numpy()}]),
    "quantized": (Quantized(), (values - 2,), [{"x": (values - 2).numpy()}]),
}
for name, (module, example, data) in calls.items():
    for to in ("onnx", "tensorflow"):
        result = trueport.convert(module.eval(), to=to, example_inputs=example, data=data)
        print(f"{name} to {to}: {result.report.comparison}")
        assert result.report.verdict is not None and result.report.verdict.value == "faithful"

graph = trueport.convert(calls["quantized"][0], to="onnx", example_inputs=(values,), verify=False).model.graph
scales = {float(node.inputs[1].const_value.numpy()) for node in graph if node.op_type == "QuantizeLinear"}
print(f"scales in the ONNX model: {sorted(scales)}")
assert scales == {float(np.float32(Quantized.scale)), float(np.float32(Quantized.weight_scale))}
