"""Layers of torch.nn that mix, normalize, bend and look up."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.torch.operators.draws import indices, normal
from tests.torch.zoo.making import function, images, layers, rows
from tests.torch.zoo.member import Member

__all__ = ["MEMBERS"]


class Bilinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Bilinear(6, 3, 5)

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.mix(x, y)


class RMSNorm(nn.Module):
    """As language models write it by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(6) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class GatedUnit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.gate, self.down = nn.Linear(6, 12), nn.Linear(6, 12), nn.Linear(12, 6)

    def forward(self, x: Tensor) -> Any:
        return x + self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class SqueezeExcite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(4, 2, 1), nn.Conv2d(2, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        share = self.excite(self.squeeze(x.mean((2, 3), keepdim=True)).relu()).sigmoid()
        return x * share


class WeightNormed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(6, 4))

    def forward(self, x: Tensor) -> Any:
        return self.layer(x)


class SpectralNormed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.utils.parametrizations.spectral_norm(nn.Conv2d(4, 3, 3))

    def forward(self, x: Tensor) -> Any:
        return self.layer(x)


class Bag(nn.Module):
    def __init__(self, mode: str, weighted: bool = False) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 5, mode=mode)
        self.weighted = weighted

    def forward(self, x: Tensor, weights: Tensor) -> Any:
        return self.bag(x, per_sample_weights=weights) if self.weighted else self.bag(x) + weights.mean()


class RaggedBag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 5, mode="sum", include_last_offset=False)

    def forward(self, x: Tensor, offsets: Tensor) -> Any:
        return self.bag(x, offsets)


def trained_norm(norm: Any) -> Any:
    """A normalization whose statistics are not those it was born with."""

    def make() -> nn.Module:
        made: nn.Module = norm()
        made.train()
        for _ in range(3):
            made(torch.randn(8, 4, 5, 5) * 2 + 1 if isinstance(made, nn.BatchNorm2d) else torch.randn(8, 4, 5) * 2 + 1)
        return made

    return make


def _words(n: int) -> Any:
    return indices(n, n + 2, below=9)


def _bagged(n: int) -> tuple[Any, ...]:
    return indices(n, 4, below=9), normal(n, 4)


MEMBERS: list[Member] = [
    layers("Linear", lambda: nn.Linear(6, 4), quick=True),
    layers(
        "Linear without bias, on three axes", lambda: nn.Linear(6, 4, bias=False), inputs=lambda n: normal(n, n + 2, 6)
    ),
    layers("perceptron", lambda: nn.Linear(6, 8), nn.GELU, nn.Dropout, lambda: nn.Linear(8, 3), lambda: nn.Softmax(-1)),
    Member("Bilinear", Bilinear, lambda n: (normal(n, 6), normal(n, 3, seed=1))),
    Member("gated unit", GatedUnit, rows),
    Member("squeeze and excite", SqueezeExcite, images),
    layers("BatchNorm1d", trained_norm(lambda: nn.BatchNorm1d(4)), inputs=lambda n: normal(n, 4, 5)),
    layers("BatchNorm2d", trained_norm(lambda: nn.BatchNorm2d(4)), inputs=images, quick=True),
    layers(
        "BatchNorm2d without its own statistics",
        lambda: nn.BatchNorm2d(4, track_running_stats=False),
        inputs=images,
    ),
    layers("BatchNorm2d without weights", trained_norm(lambda: nn.BatchNorm2d(4, affine=False)), inputs=images),
    layers("LayerNorm", lambda: nn.LayerNorm(6), inputs=lambda n: normal(n, n + 2, 6), quick=True),
    layers(
        "LayerNorm over two axes, without bias",
        lambda: nn.LayerNorm((4, 6), bias=False),
        inputs=lambda n: normal(n, 4, 6),
    ),
    layers("GroupNorm", lambda: nn.GroupNorm(2, 4), inputs=images),
    layers("InstanceNorm2d", lambda: nn.InstanceNorm2d(4, affine=True), inputs=images),
    layers(
        "InstanceNorm1d with statistics",
        trained_norm(lambda: nn.InstanceNorm1d(4, track_running_stats=True)),
        inputs=lambda n: normal(n, 4, 5),
    ),
    layers("nn.RMSNorm", lambda: nn.RMSNorm(6), inputs=lambda n: normal(n, n + 2, 6)),
    Member("RMSNorm by hand", RMSNorm, rows),
    layers("LocalResponseNorm", lambda: nn.LocalResponseNorm(3), inputs=images),
    Member("weight norm", WeightNormed, rows),
    Member("spectral norm", SpectralNormed, images),
    function(
        "normalize and cosine",
        lambda x, y: nn.functional.cosine_similarity(nn.functional.normalize(x), y),
        lambda n: (normal(n, 6), normal(n, 6, seed=1)),
    ),
    layers(
        "activations, smooth", nn.SiLU, nn.Mish, nn.Softplus, lambda: nn.GELU("tanh"), nn.Tanh, nn.ELU, nn.SELU, nn.CELU
    ),
    layers(
        "activations, with corners",
        nn.Hardswish,
        nn.Hardtanh,
        nn.LeakyReLU,
        nn.ReLU6,
        lambda: nn.Threshold(0.1, 2.0),
        nn.Hardsigmoid,
        nn.Softshrink,
        quick=True,
    ),
    layers("PReLU by channel", lambda: nn.PReLU(4), inputs=images),
    layers("GLU", nn.GLU),
    layers("LogSoftmax and Softmin", lambda: nn.LogSoftmax(1), lambda: nn.Softmin(1)),
    layers("Softmax2d", nn.Softmax2d, inputs=images),
    layers(
        "Embedding with padding",
        lambda: nn.Embedding(9, 6, padding_idx=0),
        lambda: nn.Linear(6, 2),
        inputs=_words,
        quick=True,
    ),
    layers(
        "Embedding with a largest norm",
        lambda: nn.Embedding(9, 6, scale_grad_by_freq=True),
        nn.Flatten,
        inputs=lambda n: indices(n, 3, below=9),
    ),
    Member("EmbeddingBag, mean", lambda: Bag("mean"), _bagged),
    Member("EmbeddingBag, largest", lambda: Bag("max"), _bagged),
    Member("EmbeddingBag, weighted sum", lambda: Bag("sum", weighted=True), _bagged),
    Member("EmbeddingBag with offsets", RaggedBag, lambda n: (indices(2 * n + 3, below=9), torch.arange(n) * 2)),
    layers("Flatten and Unflatten", nn.Flatten, lambda: nn.Unflatten(1, (8, 36)), inputs=images),
    layers(
        "PixelShuffle and back",
        lambda: nn.PixelShuffle(2),
        lambda: nn.Conv2d(1, 2, 3, padding=1),
        lambda: nn.PixelUnshuffle(2),
        inputs=lambda n: normal(n, 4, 4, 5),
    ),
    layers("ChannelShuffle", lambda: nn.ChannelShuffle(2), inputs=images),
    function(
        "pairwise distances",
        lambda x, y: (torch.cdist(x, y), nn.functional.pairwise_distance(x, x.flip(0))),
        lambda n: (normal(n, 6), normal(n + 2, 6, seed=1)),
    ),
]
