"""Einstein sums of PyTorch with a batch of any size: of none, ONNX Runtime's own Einsum ends the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from tests.cells import grid
from tests.families.eager import Case, Inputs, check

_SHAPES = {"b": -1, "i": 3, "j": 4, "k": 5, "l": 2, "h": 2, "q": 3, "d": 4, "o": 1}
_EQUATIONS = (
    *("bij,bjk->bik", "bij,bkj->bik", "bij,jk->bik", "bij->bji", "bij->b", "bij->j", "bij,bij->b", "bi,bj->bij"),
    *("bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk", "bij,jkl->bikl", "bij,bkl->bijkl", "bij,ij->bi", "bi,ij,jk->bk"),
    *("bij,bjk,bkl->bil", "ij,bjk->bik", "bij,bik", "bii->bi", "bii->b", "bi,bi", "...ij,...jk->...ik", "b...->..."),
    *("bij, bjk -> bik", "boj,bij->bij", "b,bi->bi", "bij,b->ij", "bi,bi->", "i,bj->bij"),
)


class _Sum(nn.Module):
    def __init__(self, equation: str) -> None:
        super().__init__()
        self.equation = equation

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return torch.einsum(self.equation, *tensors)


def _inputs(equation: str) -> Callable[[], list[Inputs]]:
    terms = equation.replace(" ", "").partition("->")[0].replace("...", "b" if equation.startswith("...") else "ij")

    def inputs() -> list[Inputs]:
        generator = torch.Generator().manual_seed(2)
        return [
            tuple(
                torch.randn([batch if letter == "b" else _SHAPES[letter] for letter in term], generator=generator)
                for term in terms.split(",")
            )
            for batch in (2, 3, 7, 0)
        ]

    return inputs


def _dynamic(equation: str) -> str:
    terms = equation.replace(" ", "").partition("->")[0].replace("...", "b" if equation.startswith("...") else "ij")
    return ",".join(f"tensors_{place}.0=n" for place, term in enumerate(terms.split(",")) if term.startswith("b"))


@grid(
    {
        f"{equation}-{to}": Case(
            lambda equation=equation: _Sum(equation).eval(), _inputs(equation), _dynamic(equation), to=to
        )
        for equation in _EQUATIONS
        for to in ("onnx", "tensorflow")
    },
    quick=6,
)
def test_sums_of_any_batch(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)
