"""Examples with so few rows that a step leaves one or none: the dim stays open all the same.

PyTorch takes a size of one or none for a fixed one, also where it comes about on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.cells import grid
from tests.families.eager import Case, Inputs, check

Tensor = torch.Tensor

_STEPS: dict[str, Callable[[Tensor], Tensor]] = {
    "from the second": lambda x: x[1:] * 2,
    "from the third": lambda x: x[2:] + 1,
    "up to the last": lambda x: x[:-1].relu(),
    "every other": lambda x: x[::2] * 2,
    "every third": lambda x: x[::3] * 2,
    "differences": lambda x: x[1:] - x[:-1],
    "diff": lambda x: torch.diff(x, dim=0),
    "narrowed": lambda x: x.narrow(0, 1, x.shape[0] - 1) * 2,
    "without the first, flat": lambda x: x[1:].flatten() * 2,
    "joined with the rest": lambda x: torch.cat([x[1:], x], 0),
    "multiplied by the rest": lambda x: x @ x[1:].T,
    "halved": lambda x: x[: x.shape[0] // 2] + 1,
    "padded by less": lambda x: nn.functional.pad(x[1:], (0, 0, 1, 0)),
    "rows and a pool": lambda x: nn.functional.max_pool1d(x.T[None], 2, 1),
    "mean of the rest": lambda x: x - x[1:].sum(0, keepdim=True),
    "zeros beside": lambda x: torch.cat([torch.zeros_like(x).flatten(), x[1:].flatten()]),
}


class _Step(nn.Module):
    def __init__(self, step: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x)


def _rows(example: int) -> Callable[[], list[Inputs]]:
    def inputs() -> list[Inputs]:
        generator = torch.Generator().manual_seed(3)
        return [(torch.randn(count, 4, generator=generator),) for count in (example, 4, 7, 9)]

    return inputs


_CELLS: dict[str, Any] = {
    f"{name}-{example}-{to}": Case(lambda step=step: _Step(step).eval(), _rows(example), "x.0=n", to=to)
    for name, step in _STEPS.items()
    for example in (2, 3, 4)
    for to in ("onnx", "tensorflow")
}


@grid(_CELLS, quick=6)
def test_few_rows_stand_for_any_number(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)
