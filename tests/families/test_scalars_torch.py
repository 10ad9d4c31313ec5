"""Tensors without axes where an axis is given, 0 or -1: PyTorch takes them for vectors of one element."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.cells import grid
from tests.families.eager import Case, Inputs, check

Tensor = torch.Tensor

_ONE_RESULT: dict[str, Callable[[Tensor, int], Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in (
            *("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "cumsum", "cumprod", "softmax", "log_softmax"),
            *("logsumexp", "logcumsumexp", "any", "all", "argsort", "unsqueeze", "squeeze", "count_nonzero"),
            *("nansum", "nanmean"),
        )
    },
    "norm": lambda x, axis: torch.linalg.vector_norm(x, dim=axis),
    "flipped": lambda x, axis: x.flip([axis]),
    "std": lambda x, axis: x.std(axis, correction=0),
    "var": lambda x, axis: x.var(axis, correction=0),
    "kept sum": lambda x, axis: x.sum(axis, keepdim=True),
    "kept max": lambda x, axis: x.amax(axis, keepdim=True),
    "selected": lambda x, axis: x.index_select(axis, torch.tensor([0])),
    "gathered": lambda x, axis: x.gather(axis, torch.tensor(0)),
    "softmin": lambda x, axis: nn.functional.softmin(x, axis),
    "flattened": lambda x, axis: torch.flatten(x, axis),
    "renormed": lambda x, axis: nn.functional.normalize(x, dim=axis),
}
_TWO_RESULTS: dict[str, Callable[[Tensor, int], Any]] = {
    "max": lambda x, axis: tuple(x.max(axis)),
    "min": lambda x, axis: tuple(x.min(axis)),
    "sort": lambda x, axis: tuple(x.sort(axis)),
    "topk": lambda x, axis: tuple(x.topk(1, axis)),
    "cummax": lambda x, axis: tuple(x.cummax(axis)),
    "median": lambda x, axis: tuple(x.median(axis)),
    "kthvalue": lambda x, axis: tuple(x.kthvalue(1, axis)),
    "mode": lambda x, axis: tuple(x.mode(axis)),
}


class _OfAScalar(nn.Module):
    def __init__(self, step: Callable[[Tensor, int], Any], axis: int) -> None:
        super().__init__()
        self.step, self.axis = step, axis

    def forward(self, x: Tensor) -> Any:
        return self.step(x.sum(), self.axis)


def _inputs() -> list[Inputs]:
    return [(torch.linspace(-1, 2, count) * 1.5,) for count in (2, 3, 5)]


def _case(step: Callable[[Tensor, int], Any], axis: int, to: str, names: tuple[str, ...]) -> Case:
    return Case(lambda: _OfAScalar(step, axis).eval(), _inputs, "x.0=n", to=to, names=names)


_CELLS = {
    f"{name}-{axis}-{to}": _case(step, axis, to, names)
    for steps, names in ((_ONE_RESULT, ("output",)), (_TWO_RESULTS, ("output_0", "output_1")))
    for name, step in steps.items()
    for axis in (0, -1)
    for to in ("onnx", "tensorflow")
}


@grid(_CELLS, quick=6)
def test_axis_of_a_scalar(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)
