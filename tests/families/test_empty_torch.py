"""Results that hold nothing: masks without a hit, and what is computed of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from tests.cells import grid
from tests.families.eager import Case, Inputs, check, module_of

Tensor = torch.Tensor


def inputs() -> list[Inputs]:
    """Some rows begin with a positive number; none does; all do."""
    generator = torch.Generator().manual_seed(1)
    mixed = torch.randn(5, 6, generator=generator)
    mixed[:, 0] = torch.tensor([1.0, -1, 2, -2, 3])
    return [(mixed,), (-mixed.abs() - 0.5,), (mixed.abs() + 0.5,), (-mixed[:1].abs() - 0.5,)]


def chosen(x: Tensor) -> Tensor:
    return x[x[:, 0] > 0]


def elements(self: Any, x: Tensor) -> Tensor:
    return x[x > 0]


def rows(self: Any, x: Tensor) -> Tensor:
    return chosen(x)


def masked(self: Any, x: Tensor) -> Tensor:
    return torch.masked_select(x, x > 0)


def places(self: Any, x: Tensor) -> Tensor:
    return torch.nonzero(x > 0)


def places_apart(self: Any, x: Tensor) -> Any:
    return torch.where(x > 0)


def written(self: Any, x: Tensor) -> Tensor:
    y = x.clone()
    y[x > 0] = 5.0
    return y


def written_back(self: Any, x: Tensor) -> Tensor:
    y, mask = x.clone(), x > 0
    y[mask] = x[mask] * 2
    return y


def added_back(self: Any, x: Tensor) -> Tensor:
    index = torch.nonzero(x[:, 0] > 0).squeeze(1)
    return torch.zeros(9, 6, dtype=x.dtype).index_add(0, index, x[index])


def average(self: Any, x: Tensor) -> Tensor:
    return chosen(x).mean(0)


def average_of_all(self: Any, x: Tensor) -> Tensor:
    return x[x > 0].mean()


def spread(self: Any, x: Tensor) -> Tensor:
    return chosen(x).var(0, correction=0)


def total(self: Any, x: Tensor) -> Tensor:
    return x[x > 0].sum()


def product(self: Any, x: Tensor) -> Tensor:
    return x[x > 0].prod()


def largest_of_rows(self: Any, x: Tensor) -> Tensor:
    return chosen(x).amax(1)


def length_of_rows(self: Any, x: Tensor) -> Tensor:
    return chosen(x).norm(dim=1)


def any_at_all(self: Any, x: Tensor) -> Any:
    return (x > 0)[x[:, 0] > 0].any(), (x > 0)[x[:, 0] > 0].all()


def joined(self: Any, x: Tensor) -> Tensor:
    return torch.cat([chosen(x), x])


def stacked(self: Any, x: Tensor) -> Tensor:
    return torch.stack([chosen(x), chosen(x) + 1], 1)


def multiplied(self: Any, x: Tensor) -> Tensor:
    return chosen(x) @ torch.ones(6, 3, dtype=x.dtype)


def multiplied_by_itself(self: Any, x: Tensor) -> Tensor:
    return chosen(x).t() @ chosen(x)


def linear(self: Any, x: Tensor) -> Tensor:
    return functional.linear(chosen(x), torch.ones(3, 6, dtype=x.dtype), torch.ones(3, dtype=x.dtype))


def convolved_1d(self: Any, x: Tensor) -> Tensor:
    return functional.conv1d(chosen(x)[:, None], torch.ones(2, 1, 3, dtype=x.dtype))


def convolved_2d(self: Any, x: Tensor) -> Tensor:
    return functional.conv2d(
        chosen(x).reshape(-1, 1, 2, 3), torch.ones(4, 1, 2, 2, dtype=x.dtype), torch.ones(4, dtype=x.dtype), padding=1
    )


def convolved_depthwise(self: Any, x: Tensor) -> Tensor:
    return functional.conv2d(chosen(x).reshape(-1, 2, 1, 3), torch.ones(2, 1, 1, 2, dtype=x.dtype), groups=2)


def convolved_back(self: Any, x: Tensor) -> Tensor:
    return functional.conv_transpose2d(chosen(x).reshape(-1, 1, 2, 3), torch.ones(1, 3, 2, 2, dtype=x.dtype), stride=2)


def pooled_max(self: Any, x: Tensor) -> Tensor:
    return functional.max_pool2d(chosen(x).reshape(-1, 1, 2, 3), 2, 1)


def pooled_average(self: Any, x: Tensor) -> Tensor:
    return functional.avg_pool2d(chosen(x).reshape(-1, 1, 2, 3), 2, 1)


def resized(self: Any, x: Tensor) -> Tensor:
    return functional.interpolate(chosen(x).reshape(-1, 1, 2, 3), scale_factor=2.0, mode="nearest")


def normalized(self: Any, x: Tensor) -> Tensor:
    return functional.layer_norm(chosen(x), (6,))


def batch_normalized(self: Any, x: Tensor) -> Tensor:
    return functional.batch_norm(chosen(x), torch.zeros(6, dtype=x.dtype), torch.ones(6, dtype=x.dtype))


def shares(self: Any, x: Tensor) -> Tensor:
    return chosen(x).softmax(1)


def shares_along_rows(self: Any, x: Tensor) -> Tensor:
    return chosen(x).softmax(0)


def in_order(self: Any, x: Tensor) -> Tensor:
    return x[x > 0].sort().values


def running(self: Any, x: Tensor) -> Tensor:
    return x[x > 0].cumsum(0)


def distinct(self: Any, x: Tensor) -> Tensor:
    return torch.unique(x[x > 0])


def transposed(self: Any, x: Tensor) -> Tensor:
    return chosen(x).t().flip(0)


def reshaped(self: Any, x: Tensor) -> Tensor:
    return chosen(x).reshape(-1, 2, 3)


def counted(self: Any, x: Tensor) -> Tensor:
    return x + x[x > 0].numel()


def attended(self: Any, x: Tensor) -> Tensor:
    q = chosen(x).reshape(-1, 1, 3, 2)
    return functional.scaled_dot_product_attention(q, q, q)


def gathered(self: Any, x: Tensor) -> Tensor:
    return torch.arange(12.0).reshape(6, 2)[(x > 0).nonzero()[:, 1]]


_ONE = (
    elements, rows, masked, places, written, written_back, added_back, average, average_of_all, spread, total, product,
    largest_of_rows, length_of_rows, joined, stacked, multiplied, multiplied_by_itself, linear, convolved_1d,
    convolved_2d, convolved_depthwise, convolved_back, pooled_max, pooled_average, resized, normalized,
    batch_normalized, shares, shares_along_rows, in_order, running, distinct, transposed, reshaped, counted, attended,
    gathered,
)  # fmt: skip
_TWO = (places_apart, any_at_all)


@grid(
    {
        f"{forward.__name__}-{to}": Case(
            module_of(forward),
            inputs,
            "x.0=batch",
            to=to,
            names=("output_0", "output_1") if forward in _TWO else ("output",),
        )
        for forward in (*_ONE, *_TWO)
        for to in ("onnx", "tensorflow")
    },
    quick=4,
)
def test_empty_results(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)
