"""As ``tests/verifying/test_no_alarm``, for PyTorch's operators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import trueport
from tests.torch.zoo.making import Of, first
from trueport.fidelity import Verdict

torch.manual_seed(5)
IMAGE = torch.randn(4, 16, 40, 40)
ROWS = torch.randn(400, 256)
STEPS = torch.randn(32, 20, 16)
PLACES = torch.arange(40).repeat(100)


def stirred(module: nn.Module) -> nn.Module:
    """With numbers in place of the zeros and ones that it begins with."""
    for name, held in (*module.named_parameters(), *module.named_buffers()):
        if held.dim() == 1 and held.is_floating_point():
            held.data = torch.rand_like(held) + 0.1 if "var" in name else torch.randn_like(held)
    return module.eval()


def spectrum(x: Tensor) -> Tensor:
    return torch.view_as_real(torch.fft.rfft(x))


CASES: dict[str, tuple[Callable[[], nn.Module], Tensor]] = {
    "batch": (lambda: nn.BatchNorm2d(16), IMAGE),
    "instance": (lambda: nn.InstanceNorm2d(16, affine=True), IMAGE),
    "group": (lambda: nn.GroupNorm(4, 16), IMAGE),
    "layer": (lambda: nn.LayerNorm(256), ROWS),
    "layer, off centre": (lambda: nn.LayerNorm(256), ROWS + 10),
    "dense": (lambda: nn.Linear(256, 128), ROWS),
    "convolution": (lambda: nn.Conv2d(16, 8, 3), IMAGE),
    "LSTM": (lambda: first(nn.LSTM(16, 32, batch_first=True)), STEPS),
    "GRU": (lambda: first(nn.GRU(16, 32, batch_first=True)), STEPS),
    "bilinear": (lambda: nn.Upsample(size=(97, 83), mode="bilinear"), IMAGE),
    "bicubic": (lambda: nn.Upsample(size=(97, 83), mode="bicubic"), IMAGE),
    "log softmax": (lambda: nn.LogSoftmax(-1), 10 * ROWS),
    "gelu": (nn.GELU, 3 * ROWS),
    "gelu by tanh": (lambda: nn.GELU("tanh"), 3 * ROWS),
    "silu": (nn.SiLU, 3 * ROWS),
    "mish": (nn.Mish, 3 * ROWS),
    "elu": (nn.ELU, 3 * ROWS),
    "selu": (nn.SELU, 3 * ROWS),
    "celu": (lambda: nn.CELU(0.7), 3 * ROWS),
    "hard swish": (nn.Hardswish, 5 * ROWS),
    "softplus": (nn.Softplus, 9 * ROWS),
    "sigmoid": (nn.Sigmoid, 20 * ROWS),
    "log sigmoid": (nn.LogSigmoid, 9 * ROWS),
    "expm1": (lambda: Of(lambda x: torch.expm1(x)), ROWS),
    "sum of exponentials": (lambda: Of(lambda x: x.logsumexp(1)), torch.randn(4000, 4) - 1.5),
    "variance": (lambda: Of(lambda x: x.var(1)), ROWS + 5),
    "spectrum": (lambda: Of(spectrum), torch.randn(40, 256)),
    "determinant": (lambda: Of(lambda x: torch.linalg.det(x)), torch.randn(400, 4, 4)),
    "scattered": (lambda: Of(lambda x: torch.zeros(40, 25).index_add(0, PLACES, x)), torch.randn(4000, 25)),
    "attention": (lambda: Of(lambda x: functional.scaled_dot_product_attention(x, x, x)), torch.randn(2, 4, 50, 16)),
}


@pytest.mark.parametrize("target", ["model.onnx", "saved"])
@pytest.mark.parametrize("name", CASES)
def test_many_numbers_of_an_operator(name: str, target: str, tmp_path: Path) -> None:
    make, x = CASES[name]
    module: Any = stirred(make())
    trueport.convert_file(module, tmp_path / target, example_inputs=x, verify=False)
    port = "x" if isinstance(module, Of) or name in ("LSTM", "GRU") else "input"
    found = trueport.verify(module, tmp_path / target, example_inputs=x, data=[{port: x.numpy()}])
    assert found.verdict == Verdict.FAITHFUL, str(found)
    assert found.oracle.startswith("float64")
