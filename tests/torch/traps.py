"""Modules that a careless capture would freeze: branches, loops, sizes, state, chance, aliases."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

__all__ = ["TRAPS", "Trap"]


def batches() -> list[tuple[torch.Tensor, ...]]:
    """Rows for both sides of every branch below, in several numbers."""
    generator = torch.Generator().manual_seed(7)
    return [
        (torch.randn(rows, 4, generator=generator) * 0.5 + shift,) for rows, shift in ((3, 2.0), (5, -2.0), (2, 0.1))
    ]


@dataclass(frozen=True)
class Trap:
    """A module, and what has to become of it."""

    make: Callable[[], nn.Module]
    refused: str = ""
    """a part of the error's place and reason; empty when it has to convert, and right"""
    inputs: Callable[[], list[tuple[torch.Tensor, ...]]] = batches
    dynamic: str | None = "x.0=batch"


class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 4)


class Branch(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0:
            return x * 2
        return x + 1


class BranchOfWeights(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:  # noqa: SIM108
            y = self.linear(x)
        else:
            y = self.linear(-x).relu()
        return y - x


class NestedBranch(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = 1.0
        if x.sum() > 0:
            scale = 2.5
            if x.max() > 1.5:
                scale = 3.5
        return x * scale


class ElifChain(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 1:
            y = x * 2
        elif x.mean() < -1:
            y = x * 3
        else:
            y = x - 1
        return y


class Ternary(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) if x.max() > 1 else x


class AndOr(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0 and not x.max() > 100:
            x = x * 2
        if x.min() < -3 or x.sum() > 3:
            x = x + 1
        return x


class BoolOfTensor(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if bool((x > 0).all()) else -x


class BranchOnSize(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 3:
            return x * 2
        return x + 1


class WhileLoop(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while x.abs().sum() < 100:
            x = x * 2 + 0.5
        return x


class CountedLoop(Linear):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        y = x
        for i in range(int(n)):
            y = self.linear(y) + i
        return y


class LoopWithBranch(Linear):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        for _ in range(int(n)):
            if x.mean() > 0:  # noqa: SIM108
                x = x - 1
            else:
                x = x + 0.75
        return x


class LoopOverRows(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([row * 2 for row in x])


class Item(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item()


class SizeAsInt(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * int(x.shape[0])


class SizeAsFloat(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / float(x.shape[0])


class Length(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + len(x)


class SizeThroughNumpy(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        import numpy as np

        return x * float(np.sqrt(x.shape[0]))


class SizeAsTensor(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor(x.shape[0])


class FixedReshape(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(3, 4) + 1


class Counter(Linear):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


class GrowingList(Linear):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(1)
        return x * len(self.seen)


class CachedTensor(Linear):
    def __init__(self) -> None:
        super().__init__()
        self.first: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.first is None:
            self.first = x.mean()
        return x - self.first


class ChangingBuffer(Linear):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        return x * self.steps


class PythonChance(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * random.random()


class Clock(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (time.time_ns() % 1000)


class WritesIntoInput(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1


class WritesIntoView(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[:, 0].add_(1)
        return y


class LeftInTraining(Linear):
    def __init__(self) -> None:
        super().__init__()
        self.drop, self.norm = nn.Dropout(0.5), nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.drop(x))


class TakesThroughNumpy(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.detach().numpy() * 2)


class TakesAsList(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tensor(x.tolist()) * 2


class SortedByPython(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[sorted(range(3), key=lambda i: float(x[i].sum()))]


class ChosenRows(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x[:, 0] > 0]


class BranchWithBreak(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = x * 2
            if x.abs().max() > 8:
                break
        return x


class BranchThatSetsState(Linear):
    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0:
            self.last = x.mean()
        return x + 1


def counted() -> list[tuple[torch.Tensor, ...]]:
    return [(rows, torch.tensor(n)) for (rows,), n in zip(batches(), (3, 0, 6), strict=True)]


_HANGS = "max() > 8: what happens here hangs on the data"
_KEEPS = "forward changes"
TRAPS: dict[str, Trap] = {
    "branch": Trap(Branch),
    "branch_of_weights": Trap(BranchOfWeights),
    "nested_branch": Trap(NestedBranch),
    "elif_chain": Trap(ElifChain),
    "ternary": Trap(Ternary),
    "and_or": Trap(AndOr),
    "bool_of_tensor": Trap(BoolOfTensor),
    "branch_on_size": Trap(BranchOnSize),
    "while_loop": Trap(WhileLoop),
    "counted_loop": Trap(CountedLoop, inputs=counted),
    "loop_with_branch": Trap(LoopWithBranch, refused="a branch inside of a loop", inputs=counted),
    "loop_over_rows": Trap(LoopOverRows, refused="in forward: return torch.stack([row * 2 for row in x]): a dim"),
    "item": Trap(Item),
    "size_as_int": Trap(SizeAsInt),
    "size_as_float": Trap(SizeAsFloat),
    "length": Trap(Length),
    "size_through_numpy": Trap(SizeThroughNumpy, refused="traps.py"),
    "size_as_tensor": Trap(SizeAsTensor),
    "fixed_reshape": Trap(FixedReshape, refused="in forward: return x.reshape(3, 4) + 1: a dim that should stay open"),
    "counter": Trap(Counter, refused=_KEEPS),
    "growing_list": Trap(GrowingList, refused=_KEEPS),
    "cached_tensor": Trap(CachedTensor, refused=_KEEPS),
    "changing_buffer": Trap(ChangingBuffer, refused=_KEEPS),
    "python_chance": Trap(PythonChance, refused="gives another result each time"),
    "clock": Trap(Clock, refused="gives another result each time"),
    "writes_into_input": Trap(WritesIntoInput),
    "writes_into_view": Trap(WritesIntoView),
    "left_in_training": Trap(LeftInTraining),
    "takes_through_numpy": Trap(TakesThroughNumpy),
    "takes_as_list": Trap(TakesAsList, refused="traps.py"),
    "sorted_by_python": Trap(SortedByPython, refused="traps.py"),
    "chosen_rows": Trap(ChosenRows),
    "branch_with_break": Trap(BranchWithBreak, refused=_HANGS),
    "branch_that_sets_state": Trap(BranchThatSetsState, refused="what happens here hangs on the data"),
}
