"""Tensors for the cases: drawn from a seed, with the numbers that tell translations apart in front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

__all__ = ["choices", "edges", "indices", "normal", "of", "positive", "unit", "wholes", "words"]

_NAN, _INF = float("nan"), float("inf")
_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, _NAN, _INF, -_INF, 1.5, -0.5, 30.0)
"""Zeros of both signs, ties of rounding, what is no number; as many as the smallest sample has elements."""


def _generator(shape: Sequence[int], seed: int) -> torch.Generator:
    made = torch.Generator()
    made.manual_seed(hash((tuple(shape), seed)) & 0xFFFF)
    return made


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
    """Ordinary numbers."""
    return torch.randn(shape, generator=_generator(shape, seed), dtype=torch.float64).to(dtype)


def positive(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
    """Numbers above a tenth."""
    return normal(*shape, seed=seed, dtype=dtype).abs() + 0.1


def unit(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
    """Numbers between 0 and 1, both ends among them."""
    made = torch.rand(shape, generator=_generator(shape, seed)).to(dtype)
    made.view(-1)[:3] = torch.tensor([0.0, 1.0, 0.5])[: made.numel()]
    return made


def edges(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32, without: str = "") -> Any:
    """Ordinary numbers after those at which functions break; ``without`` leaves out kinds: nan, inf."""
    known = [e for e in _EDGES if not ("nan" in without and e != e) and not ("inf" in without and abs(e) == _INF)]
    made = 2 * normal(*shape, seed=seed, dtype=torch.float64)
    flat = made.view(-1)
    flat[: len(known)] = torch.tensor(known, dtype=torch.float64)[: flat.numel()]
    turned = torch.randperm(flat.numel(), generator=_generator(shape, seed + 1)) if seed else torch.arange(flat.numel())
    return flat[turned].view(shape).to(dtype)


def wholes(*shape: int, low: int = -7, high: int = 7, seed: int = 0, dtype: torch.dtype = torch.int64) -> Any:
    """Whole numbers, both ends and zero among them where they fit."""
    made = torch.randint(low, high + 1, shape, generator=_generator(shape, seed))
    ends = torch.tensor([low, high, *([0] if low <= 0 <= high else [])])
    made.view(-1)[: len(ends)] = ends[: made.numel()]
    return made.to(dtype)


def indices(*shape: int, below: int, seed: int = 0) -> Any:
    """Positions in an axis of a size."""
    return wholes(*shape, low=0, high=below - 1, seed=seed)


def choices(*shape: int, seed: int = 0) -> Any:
    """Booleans."""
    return normal(*shape, seed=seed) > 0


def of(*shape: Any, draw: Callable[..., Any] = normal, **options: Any) -> Callable[[int], tuple[Any, ...]]:
    """The inputs of a function of one tensor, "n" standing for the open dim."""
    return lambda n: (draw(*(n if dim == "n" else dim for dim in shape), **options),)


def words(text: str) -> list[str]:
    """A list of names, as they are written in running text."""
    return text.split()
