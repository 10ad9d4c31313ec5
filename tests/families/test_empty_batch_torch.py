"""A dynamic batch of PyTorch modules that is empty when the converted model runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import trueport
from tests.cells import grid
from tests.families.eager import Case, Inputs, check, module_of
from tests.torch.speed import one_registry

Tensor = torch.Tensor


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def _inputs() -> list[Inputs]:
    generator = torch.Generator().manual_seed(3)
    return [(torch.randn(count, 4, 6, generator=generator),) for count in (3, 0, 5, 7)]


def _weight(*shape: int) -> Any:
    return lambda: nn.Parameter(torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape))))


def left(self: Any, x: Tensor) -> Tensor:
    return self.w @ x


def right(self: Any, x: Tensor) -> Tensor:
    return x @ self.w


def transposed(self: Any, x: Tensor) -> Tensor:
    return x.transpose(1, 2) @ self.w


def transposed_on_the_right(self: Any, x: Tensor) -> Tensor:
    return self.w @ x.transpose(1, 2)


def heads(self: Any, x: Tensor) -> Tensor:
    return x.unsqueeze(1) @ self.w


def heads_on_the_left(self: Any, x: Tensor) -> Tensor:
    return self.w @ x.unsqueeze(1)


def two_batches(self: Any, x: Tensor) -> Tensor:
    return x.unsqueeze(1) @ x.transpose(1, 2).unsqueeze(0)


def mean_of_all(self: Any, x: Tensor) -> Tensor:
    return x.mean()


def mean_of_batch(self: Any, x: Tensor) -> Tensor:
    return x.mean((0, 2), keepdim=True)


def mean_of_rows(self: Any, x: Tensor) -> Tensor:
    return x.mean(-1)


def windows(self: Any, x: Tensor) -> Tensor:
    return functional.unfold(x.unsqueeze(1), (2, 3), padding=(1, 0), stride=(1, 2))


def windows_of_any_size(self: Any, x: Tensor) -> Tensor:
    return functional.unfold(x.unsqueeze(2).expand(-1, -1, x.shape[0] + 2, -1), 2, dilation=(1, 3))


def attended(self: Any, x: Tensor) -> Tensor:
    return self.part(x, x, x)[0]


def applied(self: Any, x: Tensor) -> Tensor:
    return self.part(x)


def first(self: Any, x: Tensor) -> Tensor:
    return self.part(x)[0]


_MODULES = {
    "matrix on the left": module_of(left, w=_weight(5, 4)),
    "batch of one on the left": module_of(left, w=_weight(1, 5, 4)),
    "row on the left": module_of(left, w=_weight(4)),
    "matrix on the right": module_of(right, w=_weight(6, 5)),
    "batch of one on the right": module_of(right, w=_weight(1, 6, 5)),
    "column on the right": module_of(right, w=_weight(6)),
    "transposed": module_of(transposed, w=_weight(4, 5)),
    "transposed, column": module_of(transposed, w=_weight(4)),
    "transposed on the right": module_of(transposed_on_the_right, w=_weight(5, 6)),
    "heads": module_of(heads, w=_weight(3, 6, 5)),
    "heads on the left": module_of(heads_on_the_left, w=_weight(3, 5, 4)),
    "two batches": module_of(two_batches),
    "mixer": module_of(lambda self, x: self.part(x.mT).mT, part=lambda: nn.Linear(4, 5)),
    "mean of all": module_of(mean_of_all),
    "mean of the batch": module_of(mean_of_batch),
    "mean of rows": module_of(mean_of_rows),
    "windows": module_of(windows),
    "windows of any size": module_of(windows_of_any_size),
    "attention": module_of(attended, part=lambda: nn.MultiheadAttention(6, 2, batch_first=True)),
    "encoder": module_of(applied, part=lambda: nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)),
    "group norm": module_of(applied, part=lambda: nn.GroupNorm(2, 4)),
    "recurrence": module_of(first, part=lambda: nn.GRU(6, 3, batch_first=True)),
    "product of running values": module_of(lambda self, x: x.cumprod(1)),
}


@grid(
    {
        f"{name}, {to}": Case(make, _inputs, "x.0=n", to=to)
        for name, make in _MODULES.items()
        for to in ("onnx", "tensorflow")
    },
    quick=4,
)
def test_empty_batches(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)


@pytest.mark.parametrize("order", [(1, 0, 2), (1, 2, 0), (0, 2, 1), (2, 0, 1)])
def test_check_notes_a_batch_that_becomes_part_of_matrices(order: tuple[int, int, int]) -> None:
    """ONNX Runtime would end the process: the note is there if and only if the first axis is moved into them."""
    sizes = (3, 4, 6)
    others = np.ones((sizes[order[0]], sizes[order[2]], 5), np.float32)
    if order[2] == 0 or order[0] == 0:  # the dynamic size is one of the other operand's as well
        make = module_of(lambda self, x: x.permute(order) @ (x.permute(order).transpose(1, 2)))
    else:
        make = module_of(lambda self, x: x.permute(order) @ self.w, w=lambda: nn.Parameter(torch.from_numpy(others)))
    options: Any = {"example_inputs": (torch.randn(sizes),), "dynamic_shapes": "x.0=n"}
    noted = {remark.rule for remark in trueport.check(make(), "onnx", **options).remarks}
    assert ("empty-batch-in-matrices" in noted) == (order[0] == 1)
