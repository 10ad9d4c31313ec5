"""The noise that rounding makes of an operator: it explains what PyTorch's own float32 kernels are off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from trueport.frontends.torch.source.call import make_call
from trueport.reference.noise import RoundingNoise
from trueport.reference.torch.wide import WideModule
from trueport.verifying.judge.output import DEFAULT_K, allowance

_SEEDS = range(6)
_RUNS = 8
"""Enough that no element's draws are all small by luck."""


class Of(nn.Module):
    def __init__(self, called: Callable[..., Any]) -> None:
        super().__init__()
        self.called = called

    def forward(self, x: Any) -> Any:
        return self.called(x)


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return make().eval()


def encoder(**options: Any) -> nn.Module:
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)


class Attention(nn.Module):
    def __init__(self, width: int, masked: bool = False) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mask = torch.ones(16, 16, dtype=torch.bool).triu(1) if masked else None

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x, need_weights=False, attn_mask=self.mask)[0]


def run_wide(module: nn.Module, x: Any, noisy: int = 0) -> list[np.ndarray]:
    call = make_call(module, (x,))
    wide = WideModule(module, call)
    noises = [None, *map(RoundingNoise, range(noisy))]
    return [wide.run({call.names[0]: x.numpy()}, noise)["output"] for noise in noises]


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "BatchNorm2d of its own": (lambda: nn.BatchNorm2d(4, track_running_stats=False), (3, 4, 8, 9)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), (3, 4, 8, 9)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, affine=True), (3, 4, 8, 9)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (3, 4, 8, 9)),
    "GroupNorm without weights": (lambda: nn.GroupNorm(2, 4, affine=False), (3, 4, 8, 9)),
    "LayerNorm": (lambda: nn.LayerNorm(6), (3, 5, 6)),
    "LayerNorm without weights": (lambda: nn.LayerNorm(6, elementwise_affine=False), (3, 5, 6)),
    "var_mean": (lambda: Of(lambda x: torch.stack(torch.var_mean(x, 1))), (5, 30)),
    "attention of heads": (lambda: Attention(4), (8, 16, 4)),
    "attention of heads, masked": (lambda: Attention(4, masked=True), (8, 16, 4)),
    "attention": (lambda: Of(lambda x: F.scaled_dot_product_attention(x, x.flip(2), x.roll(1, 2))), (4, 2, 16, 4)),
    "encoder layer": (encoder, (4, 6, 8)),
    "encoder layer, norm first": (lambda: encoder(norm_first=True, activation="gelu"), (4, 6, 8)),
}


@pytest.mark.parametrize("name", CASES)
def test_noise_explains_the_float32_kernels(name: str) -> None:
    """Each element, without what the kernel itself shows of its error; and it is not many times as wide, either."""
    make, shape = CASES[name]
    module, worst = seeded(make), 0.0
    for seed in _SEEDS:
        x = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
        truth, *noisy = run_wide(module, x, _RUNS)
        with torch.no_grad():
            found = module(x).numpy().astype(np.float64)
        _, allowed = allowance(truth.astype(np.float32), truth, noisy, DEFAULT_K)
        worst = max(worst, float(np.max(np.abs(found - truth) / allowed)) * DEFAULT_K)
    assert 0.05 < worst <= DEFAULT_K


@pytest.mark.parametrize("name", CASES)
def test_the_steps_are_what_the_operator_computes(name: str) -> None:
    make, shape = CASES[name]
    module = seeded(make)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    truth = run_wide(module, x)[0]
    with torch.no_grad():
        whole = module.double()(x.double()).numpy()
    np.testing.assert_allclose(truth, whole, rtol=0, atol=1e-13 * np.abs(whole).max())
