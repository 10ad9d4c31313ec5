"""Functions of torch itself that networks meet often and exporters rarely carry over whole."""

from __future__ import annotations

from typing import Any

import torch

from tests.torch.operators.case import AnyCase, Cannot, Case, NoGraph
from tests.torch.operators.draws import choices, edges, indices, normal, of, positive, unit, wholes, words

__all__ = ["CASES"]


def _ties(*shape: int) -> Any:
    return wholes(*shape, low=0, high=3).float()


def _two(n: int) -> tuple[Any, Any]:
    return edges(n, 4), edges(n, 4, seed=3)


def _int_two(n: int) -> tuple[Any, Any]:
    return wholes(n, 4, low=-30, high=30), wholes(n, 4, low=1, high=9, seed=1) * torch.where(choices(n, 4), 1, -1)


def _sorted(n: int) -> tuple[Any, Any]:
    return torch.tensor([-1.0, 0.0, 0.5, 0.5, 2.0]), edges(n, 4)


CASES: list[AnyCase] = [
    Case("torch.unique", of("n", 4, draw=_ties)),
    Case("torch.unique", of("n", 4, draw=_ties), {"return_inverse": True, "return_counts": True}, label="all"),
    Case("torch.unique", of("n", 2, draw=_ties), {"dim": 0}, label="rows"),
    Case("torch.unique_consecutive", lambda n: (torch.tensor([1, 1, 2, 2, 2, 0, 1])[:n],)),
    Case("torch.nonzero", of("n", 4, draw=choices)),
    Case("torch.nonzero", of("n", 4, draw=choices), {"as_tuple": True}, label="as a tuple"),
    Case("torch.argwhere", of("n", 4, draw=edges)),
    Case("torch.masked_select", lambda n: (normal(n, 4), choices(n, 4))),
    Case(
        "torch.masked_select",
        lambda n: (normal(n, 4), choices(n, 4)),
        call=lambda x, m: torch.masked_select(x, m).sum(),
        label="summed",
    ),
    Case("torch.masked_scatter", lambda n: (normal(n, 4), choices(n, 4), normal(n, 4, seed=1))),
    Case(
        "torch.index_put",
        lambda n: (normal(n, 4), indices(7, below=3), normal(7, 4)),
        call=lambda x, i, v: torch.index_put(x, (i,), v, accumulate=True),
    ),
    Case(
        "torch.index_add",
        lambda n: (normal(n, 4), indices(6, below=4), normal(n, 6)),
        call=lambda x, i, v: torch.index_add(x, 1, i, v, alpha=0.5),
    ),
    Case(
        "torch.index_copy",
        lambda n: (normal(n, 4), torch.tensor([3, 1]), normal(n, 2)),
        call=lambda x, i, v: torch.index_copy(x, 1, i, v),
    ),
    Case(
        "torch.index_fill",
        lambda n: (normal(n, 4), torch.tensor([3, 1])),
        call=lambda x, i: torch.index_fill(x, 1, i, 2.5),
    ),
    Case(
        "torch.scatter",
        lambda n: (normal(n, 4), indices(n, 2, below=4), normal(n, 2)),
        call=lambda x, i, s: torch.scatter(x, 1, i, s),
    ),
    Case(
        "torch.scatter_add",
        lambda n: (normal(n, 4), indices(n, 7, below=4), normal(n, 7)),
        call=lambda x, i, s: torch.scatter_add(x, 1, i, s),
    ),
    Case(
        "torch.scatter_reduce",
        lambda n: (normal(n, 4), indices(n, 7, below=4), normal(n, 7)),
        call=lambda x, i, s: torch.scatter_reduce(x, 1, i, s, "mean"),
    ),
    *(
        Case(
            "torch.segment_reduce",
            lambda n: (normal(7, n), torch.tensor([2, 0, 4, 1])),
            call=lambda x, k, how=how: torch.segment_reduce(x, how, lengths=k, axis=0),
            label=how,
        )
        for how in ("sum", "mean", "max", "min", "prod")
    ),
    Case("torch.bucketize", _sorted, call=lambda s, x: torch.bucketize(x, s)),
    Case(
        "torch.bucketize", _sorted, call=lambda s, x: torch.bucketize(x, s, right=True, out_int32=True), label="right"
    ),
    Case("torch.searchsorted", _sorted),
    Case("torch.searchsorted", _sorted, {"right": True}, label="right"),
    Case("torch.searchsorted", lambda n: (normal(n, 5).sort(1)[0], normal(n, 4, seed=1)), label="rows"),
    Case("torch.histc", of("n", 4), {"bins": 5, "min": -2.0, "max": 2.0}),
    Case("torch.bincount", lambda n: (indices(n * 3, below=5),), {"minlength": 6}),
    Case("torch.bincount", lambda n: (indices(n * 3, below=5), normal(n * 3)), label="weights"),
    *(Case(f"torch.{name}", _two) for name in words("floor_divide remainder fmod true_divide hypot logaddexp")),
    *(
        Case(f"torch.{name}", _int_two, label="wholes")
        for name in words("floor_divide remainder fmod true_divide gcd lcm")
    ),
    *(
        Case(f"torch.{name}", lambda n: (wholes(n, 4), wholes(n, 4, low=0, high=9, seed=1)))
        for name in ("bitwise_left_shift", "bitwise_right_shift")
    ),
    Case("torch.round", of("n", 4, draw=edges)),
    Case("torch.round", of("n", 4, draw=edges), {"decimals": -1}, label="decimals"),
    Case("torch.take", lambda n: (normal(n, 4), indices(5, below=12))),
    Case(
        "torch.take_along_dim",
        lambda n: (normal(n, 4), indices(n, 2, below=4)),
        {"dim": 1},
        fixed="torch.export fixes a dim along which it may broadcast",
    ),
    Case("torch.cumprod", of("n", 4), {"dim": 1}),
    Case("torch.cummax", of("n", 4, draw=_ties), {"dim": 1}),
    Case("torch.cummin", of("n", 4), {"dim": 0}),
    Case("torch.logcumsumexp", of("n", 4), {"dim": 1}),
    Case("torch.median", of("n", 4), {"dim": 1}),
    Case("torch.median", of("n", 4), label="all"),
    Case("torch.nanmedian", of("n", 4, draw=edges, without="inf")),
    Case("torch.quantile", of("n", 4), {"q": 0.3, "dim": 1}),
    Case(
        "torch.quantile",
        of("n", 4),
        call=lambda x: torch.quantile(x, torch.tensor([0.1, 0.9]), 1, interpolation="nearest"),
        label="several",
    ),
    Case("torch.kthvalue", of("n", 4), {"k": 2}),
    Case("torch.mode", of("n", 4, draw=_ties)),
    Case("torch.cdist", lambda n: (normal(n, 4), normal(6, 4))),
    Case("torch.cdist", lambda n: (normal(n, 4), normal(6, 4)), {"p": 1.0}, label="1"),
    Case("torch.cdist", lambda n: (normal(n, 30, 4), normal(n, 30, 4, seed=1)), label="by products"),
    Case(
        "torch.einsum",
        lambda n: (normal(n, 3, 4), normal(n, 4, 5)),
        call=lambda a, b: torch.einsum("bij,bjk->bik", a, b),
    ),
    Case("torch.einsum", lambda n: (normal(n, 3, 3),), call=lambda a: torch.einsum("...ii->...i", a), label="diagonal"),
    Case(
        "torch.einsum",
        lambda n: (normal(n, 3), normal(4, 3), normal(4, 5)),
        call=lambda a, b, c: torch.einsum("bi,ji,jk->bk", a, b, c),
        label="three",
        fixed="the order of three products is chosen by sizes read as numbers",
    ),
    Case("torch.tensordot", lambda n: (normal(n, 3, 4), normal(4, 3, 5)), {"dims": ([1, 2], [1, 0])}),
    Case("torch.diff", of("n", 4), {"n": 2}),
    Case("torch.trapezoid", lambda n: (normal(n, 4), normal(n, 4, seed=1))),
    Case("torch.roll", of("n", 4), {"shifts": (1, -2), "dims": (0, 1)}),
    Case("torch.rot90", of("n", 4)),
    Case("torch.tril", of("n", 4, 4), {"diagonal": -1}),
    Case("torch.triu", of("n", 4, 4), {"diagonal": 1}),
    Case("torch.triu", of("n", 4, 4, draw=choices), label="booleans"),
    Case("torch.repeat_interleave", of("n", 4), {"repeats": 3, "dim": 1}),
    Case("torch.repeat_interleave", lambda n: (normal(4, n), torch.tensor([2, 0, 3, 1])), {"dim": 0}, label="counts"),
    Case("torch.meshgrid", lambda n: (normal(n), normal(4)), {"indexing": "ij"}),
    Case("torch.block_diag", lambda n: (normal(n, 2), normal(3, 3))),
    Case("torch.cartesian_prod", lambda n: (normal(n), normal(4))),
    Cannot(
        "torch.combinations",
        of("n"),
        "torch.export does not take the mask by which it chooses pairs",
    ),
    Case("torch.isin", lambda n: (wholes(n, 4), wholes(5, seed=1))),
    Case("torch.lerp", lambda n: (normal(n, 4), normal(n, 4, seed=1), normal(n, 4, seed=2))),
    Case("torch.lerp", lambda n: (normal(n, 4), normal(n, 4, seed=1)), {"weight": 0.3}, label="number"),
    Case("torch.addcmul", lambda n: (normal(n, 4), normal(n, 4, seed=1), normal(4)), {"value": 0.5}),
    Case("torch.addcdiv", lambda n: (normal(n, 4), normal(n, 4, seed=1), positive(4)), {"value": 0.5}),
    Case("torch.nan_to_num", of("n", 4, draw=edges)),
    Case("torch.nan_to_num", of("n", 4, draw=edges), {"nan": 1.0, "posinf": 5.0, "neginf": -5.0}, label="others"),
    Case("torch.nansum", of("n", 4, draw=edges, without="inf"), {"dim": 1}),
    Case("torch.nanmean", of("n", 4, draw=edges, without="inf"), {"dim": 1}),
    Case("torch.std", of("n", 4), {"dim": 1}),
    Case("torch.var", of("n", 4), {"dim": 0, "correction": 0}),
    Case("torch.norm", of("n", 4)),
    Case("torch.norm", of("n", 4), {"p": 1, "dim": 1}, label="1"),
    Case("torch.renorm", of("n", 4), {"p": 2.0, "dim": 0, "maxnorm": 1.0}),
    Case("torch.logit", of("n", 4, draw=unit)),
    Case("torch.sinc", of("n", 4, draw=edges)),
    Case("torch.where", lambda n: (choices(n, 4), normal(n, 4)), call=lambda c, x: torch.where(c, x, 0.0)),
    Case("torch.clamp", of("n", 4, draw=edges), {"min": -1, "max": 1}),
    NoGraph("torch.allclose", "gives a Python bool: a branch of the program, not a tensor"),
    NoGraph("torch.equal", "gives a Python bool: a branch of the program, not a tensor"),
    Case("torch.topk", of("n", 4), {"k": 3, "dim": 1}),
    Case("torch.sort", of("n", 4, draw=edges, without="nan"), {"dim": 0}),
    Case("torch.sort", of("n", 4, draw=_ties), {"stable": True, "dim": 1}, label="stable"),
    Case("torch.argsort", of("n", 4), {"descending": True}),
    Case("torch.msort", of("n", 4)),
]
