"""torch.nn.functional: products, attention, tables, distances and losses."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tests.torch.operators.case import TARGETS, AnyCase, Cannot, Case, Untried
from tests.torch.operators.draws import choices, edges, indices, normal, of, positive, unit

__all__ = ["CASES"]

_F = "torch.nn.functional."


def _two(n: int) -> tuple[Any, Any]:
    return normal(n, 4), normal(n, 4, seed=1)


def _three(n: int) -> tuple[Any, Any, Any]:
    return normal(n, 4), normal(n, 4, seed=1), normal(n, 4, seed=2)


def _attended(heads: int = 2, kept: int = 2) -> Any:
    return lambda n: (normal(n, heads, 5, 4), normal(n, kept, 6, 4, seed=1), normal(n, kept, 6, 3, seed=2))


def _attention(label: str, inputs: Any, **options: Any) -> Case:
    return Case(_F + "scaled_dot_product_attention", inputs, options, label=label)


def _signs(n: int) -> Any:
    return torch.where(choices(n, seed=5), 1.0, -1.0)


def _mha(n: int) -> tuple[Any, ...]:
    return (normal(5, n, 8), normal(24, 8, seed=1), normal(24, seed=2), normal(8, 8, seed=3), normal(8, seed=4))


def _attend(x: Any, w: Any, b: Any, out: Any, bias: Any) -> Any:
    return F.multi_head_attention_forward(x, x, x, 8, 2, w, b, None, None, False, 0.0, out, bias, training=False)


CASES: list[AnyCase] = [
    Case(_F + "linear", lambda n: (normal(n, 4), normal(5, 4), normal(5))),
    Case(_F + "linear", lambda n: (normal(n, 3, 4), normal(5, 4)), label="no bias"),
    Case(
        _F + "linear",
        lambda n: (normal(n, 4, dtype=torch.bfloat16), normal(5, 4, dtype=torch.bfloat16)),
        label="bfloat16",
    ),
    Case(_F + "bilinear", lambda n: (normal(n, 4), normal(n, 3), normal(5, 4, 3), normal(5))),
    Untried(
        _F + "grouped_mm",
        "takes bfloat16 alone, for which PyTorch's own kernel ends the process on some CPUs (an illegal instruction)",
    ),
    Case(
        _F + "scaled_mm",
        lambda n: (normal(16, 16), normal(16, 16, seed=1)),
        call=lambda a, b: F.scaled_mm(
            a.to(torch.float8_e4m3fn),
            b.to(torch.float8_e4m3fn).t().contiguous().t(),
            torch.ones(()),
            F.ScalingType.TensorWise,
            torch.ones(()),
            F.ScalingType.TensorWise,
            output_dtype=torch.float32,
        ),
        fixed="its sizes are multiples of 16",
        cannot=dict.fromkeys(TARGETS, "ONNX has no product of float8 matrices with scales"),
    ),
    Untried(_F + "scaled_grouped_mm", "PyTorch has no kernel of it for CPUs"),
    _attention("", _attended()),
    _attention("causal", lambda n: _three4(n), is_causal=True),
    _attention("grouped", _attended(4, 2), enable_gqa=True),
    _attention("scale", _attended(), scale=0.3),
    _attention("float16", lambda n: tuple(t.to(torch.float16) for t in _attended()(n))),
    _attention("bool mask", lambda n: (*_attended()(n), choices(n, 1, 5, 6, seed=3) | (torch.arange(6) == 0))),
    _attention("added mask", lambda n: (*_attended()(n), normal(5, 6, seed=3))),
    _attention(
        "mask with -inf",
        lambda n: (*_attended()(n), torch.zeros(5, 6).masked_fill(torch.ones(5, 6).triu(1) > 0, -float("inf"))),
    ),
    _attention(
        "rows masked whole", lambda n: (*_attended()(n), (torch.arange(5) > 0)[:, None].expand(5, 6).contiguous())
    ),
    _attention("three axes", lambda n: (normal(n, 5, 4), normal(n, 6, 4, seed=1), normal(n, 6, 4, seed=2))),
    Case(_F + "multi_head_attention_forward", _mha, call=_attend),
    Case(_F + "embedding", lambda n: (indices(n, 3, below=6), normal(6, 4))),
    Case(_F + "embedding", lambda n: (indices(n, 3, below=6), normal(6, 4)), {"padding_idx": 2}, label="padding"),
    *(
        Case(
            _F + "embedding_bag",
            lambda n: (indices(10, below=6), normal(6, 4), torch.arange(n) * 2),
            {"mode": mode},
            label=mode,
        )
        for mode in ("sum", "mean", "max")
    ),
    Case(
        _F + "embedding_bag",
        lambda n: (indices(n, 3, below=6), normal(6, 4)),
        {"mode": "sum"},
        label="two axes",
    ),
    Case(_F + "cosine_similarity", _two),
    Case(_F + "cosine_similarity", lambda n: (torch.zeros(n, 4), normal(n, 4)), {"dim": 0}, label="zeros"),
    Case(_F + "pairwise_distance", _two),
    Case(_F + "pairwise_distance", _two, {"p": 1.0, "keepdim": True}, label="1"),
    Case(_F + "pdist", of("n", 4)),
    *(Case(_F + name, _two) for name in ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss")),
    Case(_F + "huber_loss", _two, {"delta": 0.3, "reduction": "none"}, label="each"),
    Case(_F + "smooth_l1_loss", _two, {"beta": 0.3, "reduction": "sum"}, label="sum"),
    Case(_F + "mse_loss", _two, {"reduction": "none"}, label="each"),
    Case(_F + "binary_cross_entropy", lambda n: (unit(n, 4), unit(n, 4, seed=1))),
    Case(_F + "binary_cross_entropy_with_logits", lambda n: (normal(n, 4), unit(n, 4))),
    Case(
        _F + "binary_cross_entropy_with_logits",
        lambda n: (normal(n, 4), unit(n, 4), positive(4)),
        call=lambda x, y, w: F.binary_cross_entropy_with_logits(x, y, pos_weight=w, reduction="none"),
        label="weights",
    ),
    Case(_F + "cosine_embedding_loss", lambda n: (normal(n, 4), normal(n, 4, seed=1), _signs(n))),
    Case(_F + "cross_entropy", lambda n: (normal(n, 4), indices(n, below=4))),
    Case(
        _F + "cross_entropy",
        lambda n: (normal(n, 4), indices(n, below=4)),
        {"label_smoothing": 0.1, "ignore_index": 1},
        label="smoothed",
    ),
    Case(_F + "cross_entropy", lambda n: (normal(n, 4, 5), indices(n, 5, below=4), positive(4)), label="weights"),
    Case(_F + "cross_entropy", lambda n: (normal(n, 4), torch.softmax(normal(n, 4, seed=1), 1)), label="probabilities"),
    Cannot(
        _F + "ctc_loss",
        lambda n: (
            torch.log_softmax(normal(8, n, 5), 2),
            indices(n, 3, below=4) + 1,
            torch.full((n,), 8),
            torch.full((n,), 3),
        ),
        "the shape of what it computes on the way hangs on the data: torch.export does not take it",
    ),
    Cannot(
        _F + "gaussian_nll_loss",
        lambda n: (normal(n, 4), normal(n, 4, seed=1), positive(n, 4)),
        "it looks at the data in Python (is a variance negative?): torch.export does not take it",
    ),
    Case(_F + "hinge_embedding_loss", lambda n: (normal(n), _signs(n))),
    Case(_F + "kl_div", lambda n: (normal(n, 4), unit(n, 4)), {"reduction": "batchmean"}),
    Case(_F + "kl_div", _two, {"log_target": True, "reduction": "sum"}, label="logs"),
    Case(_F + "linear_cross_entropy", lambda n: (normal(n, 4), normal(5, 4), indices(n, below=5))),
    Case(_F + "margin_ranking_loss", lambda n: (normal(n), normal(n, seed=1), _signs(n))),
    Case(_F + "multi_margin_loss", lambda n: (normal(n, 4), indices(n, below=4))),
    Case(
        _F + "multilabel_margin_loss",
        lambda n: (normal(n, 4), torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2]])[torch.arange(n) % 2]),
    ),
    Case(_F + "multilabel_soft_margin_loss", lambda n: (normal(n, 4), choices(n, 4, seed=1).float())),
    Case(_F + "nll_loss", lambda n: (normal(n, 4), indices(n, below=4))),
    Case(
        _F + "nll_loss",
        lambda n: (normal(n, 4, 5), indices(n, 5, below=4), positive(4)),
        {"ignore_index": 2},
        label="weights",
    ),
    Case(_F + "poisson_nll_loss", lambda n: (normal(n, 4), positive(n, 4))),
    Case(
        _F + "poisson_nll_loss",
        lambda n: (positive(n, 4), positive(n, 4) * 2),
        {"log_input": False, "full": True},
        label="full",
    ),
    Case(_F + "soft_margin_loss", lambda n: (normal(n), _signs(n))),
    Case(_F + "triplet_margin_loss", _three),
    Case(_F + "triplet_margin_loss", _three, {"swap": True, "p": 1.0, "reduction": "none"}, label="swap"),
    Case(_F + "triplet_margin_with_distance_loss", _three),
    Case(_F + "softmax", of("n", 4, draw=edges), {"dim": -1}, label="rows with NaN and infinities"),
]


def _three4(n: int) -> tuple[Any, Any, Any]:
    return normal(n, 2, 5, 4), normal(n, 2, 6, 4, seed=1), normal(n, 2, 6, 4, seed=2)
