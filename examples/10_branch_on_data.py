"""`if x.mean() > 0: x * 2 else x + 1`: both branches survive, or the conversion is refused at that line."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import trueport


class Branch(nn.Module):
    """One branch or the other, as the data says."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0:
            return x * 2
        return x + 1


class Search(nn.Module):
    """A loop with a way out in the middle: that is not rewritten, and never frozen."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            x = x * 2
            if x.max() > 100:
                break
        return x


module, up, down = Branch().eval(), np.full((2, 3), 0.5, np.float32), np.full((2, 3), -0.5, np.float32)
for to in ("onnx", "tensorflow"):
    result = trueport.convert(module, to=to, example_inputs=(torch.from_numpy(up),), data=[{"x": up}, {"x": down}])
    print(result.report)
    assert result.report.verdict is not None and result.report.verdict.value == "faithful"

model = trueport.convert(module, to="tensorflow", example_inputs=(torch.from_numpy(up),)).model
assert np.array_equal(model(up)["output"], up * 2)
assert np.array_equal(model(down)["output"], down + 1)

try:
    trueport.convert(Search().eval(), to="onnx", example_inputs=(torch.from_numpy(up),))
except trueport.ConversionError as refusal:
    print(f"refused: {refusal}")
    assert "10_branch_on_data.py" in refusal.where and refusal.remedy
else:
    raise AssertionError("a frozen loop was converted")
