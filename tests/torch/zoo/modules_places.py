"""Reading and writing at places: indexing, gathering, scattering, sorting, results whose size hangs on data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.torch.operators.draws import choices, indices, normal, wholes
from tests.torch.zoo.making import function, rows
from tests.torch.zoo.member import TARGETS, Member

__all__ = ["MEMBERS"]


class Written(nn.Module):
    """Rows of a copy are written at places, several times at some."""

    def __init__(self, accumulate: bool) -> None:
        super().__init__()
        self.accumulate = accumulate

    def forward(self, x: Tensor, places: Tensor, values: Tensor) -> Tensor:
        return x.clone().index_put_((places,), values, accumulate=self.accumulate)


class MessagePassing(nn.Module):
    """A graph network: messages along edges, added at their ends."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.own = nn.Linear(6, 4), nn.Linear(6, 4)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        sent = self.message(x)[edges[0]]
        got = torch.zeros(x.shape[0], 4).index_add(0, edges[1], sent)
        return (got + self.own(x)).relu()


class Suppressed(nn.Module):
    """Boxes above a score, the best ones first."""

    def forward(self, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        best, order = scores.topk(3)
        kept = boxes[order]
        overlap = torch.minimum(kept[:, None, 2:], kept[None, :, 2:]) - torch.maximum(
            kept[:, None, :2], kept[None, :, :2]
        )
        return overlap.clamp(min=0).prod(-1), best


def _pair(n: int) -> tuple[Any, ...]:
    return normal(n, 6), indices(n, 3, below=6, seed=1)


def _spread(n: int) -> tuple[Any, ...]:
    return normal(n, 6), indices(n, 4, below=6, seed=1), normal(n, 4, seed=2)


def _distinct(n: int) -> tuple[Any, ...]:
    places = torch.stack([torch.randperm(6, generator=torch.Generator().manual_seed(row))[:4] for row in range(n)])
    return normal(n, 6), places, normal(n, 4, seed=2)


def _put(n: int) -> tuple[Any, ...]:
    return normal(5, 6), indices(n + 2, below=5, seed=1), normal(n + 2, 6, seed=2)


def _with_mask(n: int) -> tuple[Any, ...]:
    return normal(n, 6), choices(n, 6, seed=3)


def _sliced(x: Tensor) -> Tensor:
    return torch.cat([x[:, ::2], x[:, 1:-1], x[:, -2:], x[..., None, 0]], 1)


MEMBERS: list[Member] = [
    function("gather", lambda x, places: x.gather(1, places), _pair, quick=True),
    function(
        "take along an axis",
        lambda x, places: torch.take_along_dim(x, places, 1),
        _pair,
        cannot=dict.fromkeys(
            TARGETS, "PyTorch's take_along_dim fixes the dims that it broadcasts; gather leaves them open"
        ),
    ),
    function(
        "index_select and take", lambda x: (x.index_select(1, torch.tensor([4, 0, 0])), x.take(torch.tensor([3, 1])))
    ),
    function(
        "index by tensors",
        lambda x, i, j: x[i, :, j],
        lambda n: (normal(5, n + 1, 6), indices(n, below=5), indices(n, below=6, seed=1)),
    ),
    function(
        "index by tensors that broadcast",
        lambda x, i, j: x[i[:, None], j[None, :]],
        lambda n: (normal(5, 6), indices(n, below=5), indices(n + 1, below=6, seed=1)),
    ),
    function("negative index", lambda x, i: x[i], lambda n: (normal(5, 6), wholes(n, low=-5, high=4))),
    function("slices and steps", _sliced),
    function("select by booleans", lambda x, mask: x[mask], _with_mask),
    function("masked_select", lambda x, mask: torch.masked_select(x, mask) * 2, _with_mask),
    function(
        "masked_fill and masked_scatter",
        lambda x, mask: (x.masked_fill(mask, -3.0), x.masked_scatter(mask, x.flip(0))),
        _with_mask,
    ),
    function("nonzero", lambda x: torch.nonzero(x > 0)),
    function("rows that are not empty", lambda x: x[(x > 0.5).any(1)].sum(0)),
    function("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), lambda n: wholes(n, 6)),
    function("unique_consecutive", lambda x: torch.unique_consecutive(x), lambda n: wholes(n + 9, low=0, high=2)),
    Member("index_put, adding", lambda: Written(True), _put),
    Member(
        "index_put, the last wins",
        lambda: Written(False),
        lambda n: (normal(5, 6), torch.arange(n), normal(n, 6, seed=2)),
    ),
    function("scatter", lambda x, places, values: x.scatter(1, places, values), _distinct),
    function("scatter_add", lambda x, places, values: x.scatter_add(1, places, values), _spread, quick=True),
    function(
        "scatter_reduce, all ways",
        lambda x, places, values: tuple(
            x.scatter_reduce(1, places, values, way) for way in ("sum", "prod", "amax", "amin")
        ),
        _spread,
    ),
    function(
        "scatter_reduce, mean without the old",
        lambda x, places, values: x.scatter_reduce(1, places, values, "mean", include_self=False),
        _spread,
    ),
    function(
        "index_copy and index_fill",
        lambda x: (x.index_copy(1, torch.tensor([5, 0]), x[:, 1:3]), x.index_fill(1, torch.tensor([2]), 7.0)),
    ),
    function(
        "select_scatter and slice_scatter",
        lambda x: (
            x.select_scatter(x[:, 0] * 2, 1, 3),
            x.slice_scatter(x[:, :2] + 1, 1, 2, 6, 2),
        ),
    ),
    Member("message passing", MessagePassing, lambda n: (normal(n + 2, 6), indices(2, 2 * n + 3, below=4))),
    function("one-hot", lambda x: torch.nn.functional.one_hot(x, 7), lambda n: indices(n, 4, below=7)),
    function(
        "bucketize and searchsorted",
        lambda x: (torch.bucketize(x, torch.linspace(-1, 1, 5)), torch.searchsorted(x.sort(1).values, x, right=True)),
    ),
    function(
        "sort, argsort, topk",
        lambda x: (*x.sort(dim=1, descending=True, stable=True), x.argsort(1), *x.topk(3, 1), *x.kthvalue(2, 1)),
    ),
    function("argmax, argmin, max with places", lambda x: (x.argmax(1), x.argmin(), *x.max(1), *x.median(1)), rows),
    function("cumulated", lambda x: (x.cumsum(1), x.cumprod(1), *x.cummax(1), x.logcumsumexp(1), x.diff(dim=1))),
    function("roll, flip, rot90", lambda x: (x.roll((1, -2), (0, 1)), x.flip(1), torch.rot90(x))),
    function("triangles and diagonals", lambda x: (x.tril(1), x.triu(-1), x.diagonal(1), torch.diag_embed(x))),
    function("repeat, tile, interleave", lambda x: (x.repeat(2, 1), x.tile(3), x.repeat_interleave(2, 1))),
    Member("best boxes and their overlaps", Suppressed, lambda n: (normal(n + 4, 4), normal(n + 4, seed=1))),
]
