"""torch.nn.functional: convolutions, pools, resizing, sampling, folding."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tests.torch.operators.case import TARGETS, AnyCase, Case
from tests.torch.operators.draws import normal, of

__all__ = ["CASES"]

_F = "torch.nn.functional."
_SPACE = {1: (9,), 2: (7, 8), 3: (5, 6, 5)}


def _image(rank: int, channels: int = 4) -> Any:
    return of("n", channels, *_SPACE[rank])


def _conv(rank: int, label: str, groups: int = 1, **options: Any) -> Case:
    return Case(
        f"{_F}conv{rank}d",
        lambda n: (normal(n, 4, *_SPACE[rank]), normal(6, 4 // groups, *([3] * rank), seed=1), normal(6, seed=2)),
        {"groups": groups, **options},
        label=label,
    )


def _transposed(rank: int, label: str, groups: int = 1, **options: Any) -> Case:
    return Case(
        f"{_F}conv_transpose{rank}d",
        lambda n: (normal(n, 4, *_SPACE[rank]), normal(4, 6 // groups, *([3] * rank), seed=1), normal(6, seed=2)),
        {"groups": groups, **options},
        label=label,
    )


def _pool(name: str, rank: int, label: str = "", **options: Any) -> Case:
    return Case(f"{_F}{name}", _image(rank), options, label=label)


def _unpool(rank: int) -> Case:
    pool, unpool = getattr(F, f"max_pool{rank}d"), getattr(F, f"max_unpool{rank}d")
    return Case(
        f"{_F}max_unpool{rank}d",
        of("n", 4, *([6] * rank)),
        call=lambda x: unpool(*pool(x, 2, return_indices=True), 2),
    )


def _grid(n: int) -> tuple[Any, Any]:
    """Places inside, at the edges, between pixels and far outside."""
    grid = 1.4 * normal(n, 5, 4, 2, seed=3)
    grid.view(-1)[:6] = torch.tensor([-1.0, 1.0, 0.0, 0.0, 1.0, -1.0])
    return normal(n, 3, 6, 7), grid


def _grid3(n: int) -> tuple[Any, Any]:
    grid = 1.4 * normal(n, 3, 4, 2, 3, seed=3)
    return normal(n, 2, 4, 5, 6), grid


def _resize(mode: str, rank: int, label: str, **options: Any) -> Case:
    return Case(f"{_F}interpolate", _image(rank, 2), {"mode": mode, **options}, label=f"{mode} {rank}d {label}")


_SIZES = {1: (13,), 2: (11, 5), 3: (7, 4, 8)}

CASES: list[AnyCase] = [
    *(_conv(rank, "") for rank in (1, 2, 3)),
    *(_conv(rank, "all", groups=2, stride=2, padding=1, dilation=2) for rank in (1, 2)),
    *(_conv(rank, "same", padding="same") for rank in (1, 2)),
    _conv(2, "valid", padding="valid", stride=(2, 1)),
    *(_transposed(rank, "") for rank in (1, 2, 3)),
    *(_transposed(rank, "all", groups=2, stride=3, padding=1, output_padding=2, dilation=2) for rank in (1, 2)),
    Case(
        _F + "conv_tbc",
        lambda n: (normal(9, n, 4), normal(3, 4, 6), normal(6)),
        {"pad": 1},
        fixed="torch.export reads its sizes as numbers",
        cannot=dict.fromkeys(TARGETS, "no translation is written; it is conv1d with the axes in another order"),
    ),
    *(
        _pool(f"avg_pool{rank}d", rank, label, kernel_size=3, **options)
        for rank in (1, 2, 3)
        for label, options in {
            "": {},
            "ceil": {"stride": 2, "padding": 1, "ceil_mode": True},
            "without the padding": {"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False},
        }.items()
    ),
    _pool("avg_pool2d", 2, "divisor", kernel_size=(3, 2), divisor_override=5),
    *(
        _pool(f"max_pool{rank}d", rank, label, kernel_size=3, **options)
        for rank in (1, 2, 3)
        for label, options in {
            "": {},
            "ceil": {"stride": 2, "padding": 1, "ceil_mode": True},
            "dilation": {"stride": 1, "dilation": 2},
        }.items()
    ),
    *(_pool(f"max_pool{rank}d_with_indices", rank, kernel_size=3, stride=2, padding=1) for rank in (1, 2, 3)),
    *(_pool(f"lp_pool{rank}d", rank, norm_type=2.0, kernel_size=3, stride=2) for rank in (1, 2, 3)),
    _pool("lp_pool2d", 2, "3", norm_type=3.0, kernel_size=2, ceil_mode=True),
    *(_pool(f"adaptive_avg_pool{rank}d", rank, "one", output_size=1) for rank in (1, 2, 3)),
    *(
        Case(f"{_F}adaptive_avg_pool{rank}d", of("n", 3, *([6] * rank)), {"output_size": 3}, label="even")
        for rank in (1, 2, 3)
    ),
    *(_pool(f"adaptive_avg_pool{rank}d", rank, "uneven", output_size=4) for rank in (1, 2, 3)),
    *(
        Case(f"{_F}adaptive_max_pool{rank}d", of("n", 3, *([6] * rank)), {"output_size": 3}, label="even")
        for rank in (1, 2, 3)
    ),
    *(_pool(f"adaptive_max_pool{rank}d", rank, "uneven", output_size=4) for rank in (1, 2, 3)),
    *(
        Case(f"{_F}adaptive_max_pool{rank}d_with_indices", of("n", 3, *([6] * rank)), {"output_size": 3})
        for rank in (1, 2, 3)
    ),
    *(_unpool(rank) for rank in (1, 2, 3)),
    *(
        Case(
            f"{_F}fractional_max_pool{rank}d{with_}",
            _image(rank),
            {"kernel_size": 2, "output_size": 3},
            cannot=dict.fromkeys(TARGETS, "windows are drawn at random, also outside of training"),
            random=True,
            fixed="torch.export reads its sizes as numbers",
        )
        for rank in (2, 3)
        for with_ in ("", "_with_indices")
    ),
    *(
        _resize(mode, rank, "scale", scale_factor=1.7)
        for rank, mode in (
            (1, "nearest"),
            (2, "nearest"),
            (3, "nearest"),
            (1, "linear"),
            (2, "bilinear"),
            (2, "bicubic"),
            (3, "trilinear"),
            (2, "area"),
            (2, "nearest-exact"),
        )
    ),
    *(
        _resize(mode, rank, "size", size=_SIZES[rank])
        for rank, mode in (
            (1, "nearest"),
            (2, "nearest"),
            (3, "nearest"),
            (1, "linear"),
            (2, "bilinear"),
            (2, "bicubic"),
            (3, "trilinear"),
            (2, "area"),
            (2, "nearest-exact"),
            (3, "nearest-exact"),
        )
    ),
    *(
        _resize(mode, rank, "corners", size=_SIZES[rank], align_corners=True)
        for rank, mode in ((1, "linear"), (2, "bilinear"), (2, "bicubic"), (3, "trilinear"))
    ),
    *(_resize(mode, 2, "antialias", size=(4, 3), antialias=True) for mode in ("bilinear", "bicubic")),
    _resize("bilinear", 2, "scale used", scale_factor=(0.6, 2.3), recompute_scale_factor=True),
    Case(
        _F + "interpolate",
        lambda n: (normal(2, 2, n + 4, 6),),
        {"scale_factor": 2, "mode": "bilinear"},
        label="open height",
    ),
    Case(
        _F + "interpolate",
        lambda n: (normal(2, 2, n + 4, 6),),
        {"size": (5, 9), "mode": "nearest"},
        label="open height, size",
    ),
    Case(_F + "upsample", _image(2), {"scale_factor": 2}),
    Case(_F + "upsample_nearest", _image(2), {"scale_factor": 3}),
    Case(_F + "upsample_bilinear", _image(2), {"size": (9, 5)}),
    *(
        Case(
            _F + "grid_sample",
            _grid,
            {"mode": mode, "padding_mode": padding, "align_corners": corners},
            label=f"{mode} {padding} {corners}",
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    ),
    *(
        Case(
            _F + "grid_sample",
            _grid3,
            {"mode": mode, "padding_mode": padding, "align_corners": corners},
            label=f"3d {mode} {padding} {corners}",
        )
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    ),
    Case(
        _F + "affine_grid",
        lambda n: (normal(n, 2, 3),),
        call=lambda x: F.affine_grid(x, [x.shape[0], 2, 4, 5], align_corners=False),
    ),
    Case(
        _F + "affine_grid",
        lambda n: (normal(n, 3, 4),),
        call=lambda x: F.affine_grid(x, [x.shape[0], 2, 4, 5, 3], align_corners=True),
        label="3d",
    ),
    Case(_F + "fold", of("n", 12, 20), {"output_size": (5, 6), "kernel_size": (2, 2)}),
    Case(
        _F + "fold",
        of("n", 12, 9),
        {"output_size": (5, 6), "kernel_size": (3, 2), "stride": 2, "padding": 1, "dilation": (1, 2)},
        label="all",
    ),
    Case(_F + "unfold", of("n", 3, 5, 6), {"kernel_size": (2, 3)}),
    Case(
        _F + "unfold",
        of("n", 3, 7, 6),
        {"kernel_size": (3, 2), "stride": 2, "padding": 1, "dilation": (1, 2)},
        label="all",
    ),
]
