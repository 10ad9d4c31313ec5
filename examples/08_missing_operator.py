"""An operator that exporters lack or approximate: torch.special.entr and its relatives, exact at the edges too."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import trueport


class Special(nn.Module):
    """Entropy terms, and functions whose usual formulas break at zero, at infinity or below."""

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {
            "entr": torch.special.entr(x),
            "xlogy": torch.special.xlogy(x, x),
            "xlog1py": torch.special.xlog1py(x, x),
            "logit": torch.special.logit(x),
            "log_ndtr": torch.special.log_ndtr(x),
        }


edges = torch.tensor([[0.0, -0.0, 1.0, 0.5, -1.0, torch.inf, -torch.inf, torch.nan, 1e-30, 40.0, -40.0]])
module = Special().eval()
wanted = {name: value.numpy() for name, value in module(edges).items()}
for to in ("onnx", "tensorflow"):
    result = trueport.convert(
        module, to=to, example_inputs=(edges,), dynamic_shapes="x.0=batch", data=[{"x": edges.numpy()}]
    )
    print(result.report)
    assert result.report.verdict is not None and result.report.verdict.value == "faithful"

converted = trueport.convert(module, to="tensorflow", example_inputs=(edges,), verify=False).model
for name, value in converted(edges.numpy()).items():
    same = np.isnan(wanted[name]) == np.isnan(value.numpy())
    infinite = np.isinf(wanted[name]) == np.isinf(value.numpy())
    print(f"{name:>9}: NaN at the same places: {same.all()}, infinities too: {infinite.all()}")
    assert same.all() and infinite.all()
