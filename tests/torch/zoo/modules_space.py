"""Convolutions, pools, resizing, padding."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.torch.operators.draws import normal
from tests.torch.zoo.making import function, images, layers, waves
from tests.torch.zoo.member import Member

__all__ = ["MEMBERS"]


class Unpooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool, self.back = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, places = self.pool(x)
        return self.back(y, places), places


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle = nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(4, 4, 2, stride=2), nn.Conv2d(7, 2, 1)

    def forward(self, x: Tensor) -> Any:
        low = self.middle(self.down(x).relu()).relu()
        return self.out(torch.cat([self.up(low), x], 1))


class Separable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depth, self.point = nn.Conv2d(4, 8, 3, padding=1, groups=4), nn.Conv2d(8, 5, 1)
        self.norm = nn.BatchNorm2d(5)

    def forward(self, x: Tensor) -> Any:
        return F.hardswish(self.norm(self.point(F.relu6(self.depth(x)))))


class ByWeights(nn.Module):
    """The kernel is an input."""

    def forward(self, x: Tensor, kernel: Tensor) -> Tensor:
        return F.conv2d(x, kernel, padding="same")


class Sampled(nn.Module):
    """A spatial transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.where = nn.Linear(4, 6)
        nn.init.normal_(self.where.weight, std=0.1)

    def forward(self, x: Tensor) -> Tensor:
        theta = self.where(x.mean((2, 3))).view(-1, 2, 3)
        grid = F.affine_grid(theta, [x.shape[0], 4, 6, 7], align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)


def _sized(n: int) -> Any:
    """Height and width stay open, too."""
    return normal(n, 4, n + 6, n + 9)


def _volumes(n: int) -> Any:
    return normal(n, 2, 5, 6, 4)


def _resized(mode: str, **options: Any) -> Any:
    return lambda x: F.interpolate(x, mode=mode, **options)


MEMBERS: list[Member] = [
    layers("Conv1d, strided", lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1), inputs=waves),
    layers(
        "Conv1d, causal by padding",
        lambda: nn.ConstantPad1d((4, 0), 0.0),
        lambda: nn.Conv1d(4, 4, 3, dilation=2),
        inputs=waves,
    ),
    layers("Conv2d, all sizes open", lambda: nn.Conv2d(4, 3, 3, padding=1), inputs=_sized, quick=True),
    layers(
        "Conv2d, padding same, even kernel, dilated",
        lambda: nn.Conv2d(4, 3, (4, 3), padding="same", dilation=(1, 2)),
        inputs=images,
    ),
    layers("Conv2d, padding valid", lambda: nn.Conv2d(4, 3, 3, padding="valid", bias=False), inputs=images),
    layers("Conv2d, padding reflect", lambda: nn.Conv2d(4, 3, 3, padding=2, padding_mode="reflect"), inputs=images),
    layers(
        "Conv2d, padding replicate", lambda: nn.Conv2d(4, 3, 3, padding=(1, 2), padding_mode="replicate"), inputs=images
    ),
    layers("Conv2d, padding circular", lambda: nn.Conv2d(4, 3, 3, padding=1, padding_mode="circular"), inputs=images),
    layers(
        "Conv2d, strided, grouped, dilated",
        lambda: nn.Conv2d(4, 6, 3, stride=(2, 1), padding=2, dilation=2, groups=2),
        inputs=images,
    ),
    Member("Conv2d, separable", Separable, images, quick=True),
    layers("Conv3d", lambda: nn.Conv3d(2, 3, 3, padding=(1, 0, 1)), inputs=_volumes),
    layers("ConvTranspose1d", lambda: nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1), inputs=waves),
    layers(
        "ConvTranspose2d, output padding",
        lambda: nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1),
        inputs=images,
    ),
    layers(
        "ConvTranspose2d, grouped, dilated", lambda: nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2), inputs=images
    ),
    layers("ConvTranspose3d", lambda: nn.ConvTranspose3d(2, 3, 2, stride=2), inputs=_volumes),
    Member("convolution with a kernel from outside", ByWeights, lambda n: (images(n), normal(3, 4, 3, 3, seed=1))),
    Member("U-Net", UNet, lambda n: normal(n, 3, 8, 8)),
    layers("MaxPool1d", lambda: nn.MaxPool1d(3, stride=2, padding=1), inputs=lambda n: normal(n, 4, 10)),
    layers("MaxPool1d, length open", lambda: nn.MaxPool1d(3, stride=2, padding=1), inputs=waves),
    layers("MaxPool2d, ceil", lambda: nn.MaxPool2d(3, stride=2, ceil_mode=True), inputs=images, quick=True),
    layers(
        "MaxPool2d, dilated, padded", lambda: nn.MaxPool2d((3, 2), stride=1, padding=1, dilation=(2, 1)), inputs=images
    ),
    layers("MaxPool3d", lambda: nn.MaxPool3d(2), inputs=_volumes),
    Member("MaxPool2d and MaxUnpool2d", Unpooled, lambda n: normal(n, 4, 6, 6)),
    layers("AvgPool1d", lambda: nn.AvgPool1d(3, stride=2, padding=1, count_include_pad=False), inputs=waves),
    layers(
        "AvgPool2d, ceil, padding counted", lambda: nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True), inputs=images
    ),
    layers(
        "AvgPool2d, ceil, padding not counted",
        lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
        inputs=images,
    ),
    layers("AvgPool2d, own divisor", lambda: nn.AvgPool2d(2, divisor_override=3), inputs=images),
    layers("AvgPool3d", lambda: nn.AvgPool3d(2, ceil_mode=True), inputs=_volumes),
    layers("LPPool2d", lambda: nn.LPPool2d(2, 2), inputs=images),
    layers("AdaptiveAvgPool2d to one", lambda: nn.AdaptiveAvgPool2d(1), nn.Flatten, inputs=_sized),
    layers("AdaptiveAvgPool2d, uneven", lambda: nn.AdaptiveAvgPool2d((3, 4)), inputs=images),
    layers("AdaptiveMaxPool2d", lambda: nn.AdaptiveMaxPool2d((4, 3)), inputs=images),
    layers("AdaptiveAvgPool1d", lambda: nn.AdaptiveAvgPool1d(4), inputs=lambda n: normal(n, 4, 10)),
    layers("Upsample, nearest", lambda: nn.Upsample(scale_factor=2), inputs=_sized),
    function("Upsample, nearest-exact to a size", _resized("nearest-exact", size=(5, 13)), images),
    function("Upsample, bilinear", _resized("bilinear", scale_factor=1.5, align_corners=False), images),
    function("Upsample, bilinear, corners aligned", _resized("bilinear", size=(11, 5), align_corners=True), images),
    function("Upsample, bicubic", _resized("bicubic", scale_factor=2.0), images),
    function("Upsample, antialiased", _resized("bilinear", size=(4, 5), antialias=True), images),
    function("Upsample, area", _resized("area", size=(4, 3)), images),
    function(
        "Upsample, linear and trilinear",
        lambda x, y: (
            F.interpolate(x, scale_factor=2.0, mode="linear"),
            F.interpolate(y, size=(6, 5, 7), mode="trilinear"),
        ),
        lambda n: (waves(n), _volumes(n)),
    ),
    function(
        "Upsample to another's size",
        lambda x, like: F.interpolate(x, size=like.shape[2:], mode="bilinear") + like,
        lambda n: (images(n), normal(n, 4, n + 9, n + 12)),
    ),
    Member("spatial transformer", Sampled, images),
    layers(
        "ReflectionPad2d and ZeroPad2d",
        lambda: nn.ReflectionPad2d((1, 2, 0, 3)),
        lambda: nn.ZeroPad2d((-1, 1, 1, -1)),
        inputs=images,
    ),
    layers(
        "ReplicationPad1d and CircularPad1d",
        lambda: nn.ReplicationPad1d(2),
        lambda: nn.CircularPad1d((1, 3)),
        inputs=waves,
    ),
    layers(
        "Unfold and Fold",
        lambda: nn.Unfold(3, padding=1, stride=2),
        lambda: nn.Fold((8, 9), 3, padding=1, stride=2),
        inputs=images,
    ),
]
