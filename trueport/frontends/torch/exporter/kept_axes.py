"""Adaptive max pooling that keeps a dynamic axis (``output_size=(None, 3)``): PyTorch's operator takes integers alone.

An axis that is kept takes no part in the pooling: it is pooled as part of the batch, by the operator of lower rank.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.eager_attention import attributes_replaced

__all__ = ["open_pools"]


@contextmanager
def open_pools() -> Iterator[None]:
    """Within it adaptive max pooling that is captured leaves open the axes that it keeps."""
    kernels = importlib.import_module("torch")._C._nn
    names = ("adaptive_max_pool2d", "adaptive_max_pool3d")
    with attributes_replaced(*((kernels, name, _opened(getattr(kernels, name))) for name in names)):
        yield


def _opened(pool: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(x: Any, output_size: Any) -> Any:
        sizes = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size]
        start = x.dim() - len(sizes)
        kept = [place for place, size in enumerate(sizes) if _is_same(size, x.shape[start + place])]
        return _pooled_rest(x, sizes, kept) if kept else pool(x, output_size)

    return pooled


def _is_same(wanted: Any, size: Any) -> bool:
    """True if both are one dynamic size; comparing them would fix it."""
    both = isinstance(wanted, torch.SymInt) and isinstance(size, torch.SymInt)
    return both and str(wanted.node.expr) == str(size.node.expr)


def _pooled_rest(x: Any, sizes: Sequence[Any], kept: Sequence[int]) -> tuple[Any, Any]:
    start = x.dim() - len(sizes)
    rest = [place for place in range(len(sizes)) if place not in kept]
    shape = [x.shape[start + place] for place in range(len(sizes))]
    axes = [
        torch.arange(size).reshape([-1 if a == place else 1 for a in range(len(sizes))])
        for place, size in enumerate(shape)
    ]
    if not rest:
        return x, _flat(axes, shape).expand(x.shape)
    order = [*range(start), *(start + place for place in kept), *(start + place for place in rest)]
    moved = x.permute(order)
    front = moved.shape[: start + len(kept)]
    rows = moved.reshape(1, -1, *(shape[place] for place in rest))
    pool = torch.nn.functional.adaptive_max_pool1d if len(rest) == 1 else torch.nn.functional.adaptive_max_pool2d
    values, taken = pool(rows, [sizes[place] for place in rest], return_indices=True)
    back = [order.index(axis) for axis in range(x.dim())]
    values, taken = (part.reshape(*front, *(sizes[place] for place in rest)).permute(back) for part in (values, taken))
    for index, place in enumerate(rest):
        below = math.prod(shape[later] for later in rest[index + 1 :])
        axes[place] = (taken // below) % shape[place]
    return values, _flat(axes, shape)


def _flat(axes: Sequence[Any], shape: Sequence[Any]) -> Any:
    """Positions in the flattened picture of positions along its axes."""
    found = axes[0]
    for place, size in zip(axes[1:], shape[1:], strict=True):
        found = found * size + place
    return found
