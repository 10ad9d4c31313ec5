"""Sizes of dynamic dims in a module's own code: carried as control flow or refused at their line, never specialised."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.cells import grid
from tests.families.eager import Case, Inputs, check, module_of

Tensor = torch.Tensor


def rows(*sizes: int) -> Callable[[], list[Inputs]]:
    def inputs() -> list[Inputs]:
        generator = torch.Generator().manual_seed(5)
        return [(torch.randn(n, 4, generator=generator),) for n in sizes]

    return inputs


def if_one(self: Any, x: Tensor) -> Tensor:
    if x.shape[0] == 1:
        return x * 2
    return x + 1


def if_more_than_four(self: Any, x: Tensor) -> Tensor:
    return x * 2 if x.size(0) > 4 else x + 1


def if_not_three(self: Any, x: Tensor) -> Tensor:
    if x.shape[0] != 3:
        x = x * 2
    return x + 1


def chain(self: Any, x: Tensor) -> Tensor:
    n = x.shape[0]
    if n == 1:
        y = x * 2
    elif n < 4:
        y = x * 3
    else:
        y = x + 1
    return y


def if_length(self: Any, x: Tensor) -> Tensor:
    if len(x) > 3:
        x = x * 2
    return x


def if_even(self: Any, x: Tensor) -> Tensor:
    if x.shape[0] % 2 == 0:
        x = x * 2
    return x + 1


def if_shape(self: Any, x: Tensor) -> Tensor:
    if x.shape == torch.Size([2, 4]):
        return x * 2
    return x + 1


def if_not_shape(self: Any, x: Tensor) -> Tensor:
    if x.shape != (3, 4):
        return x * 2
    return x + 1


def if_elements(self: Any, x: Tensor) -> Tensor:
    return x * 2 if x.numel() > 10 else x * 3


def if_two_conditions(self: Any, x: Tensor) -> Tensor:
    if x.shape[0] > 2 and x.shape[0] < 6:
        x = x * 2
    return x


def if_rest(self: Any, x: Tensor) -> Tensor:
    rest = (-x.shape[0]) % 4
    if rest:
        x = functional.pad(x, (0, 0, 0, rest))
    return x.reshape(-1, 4, 4).sum(1)


def at_most_four(self: Any, x: Tensor) -> Tensor:
    return x[: min(x.shape[0], 4)] * 2


def cut_to_four(self: Any, x: Tensor) -> Tensor:
    if x.shape[0] > 4:
        x = x[:4]
    return x * 2


def padded_to_six(self: Any, x: Tensor) -> Tensor:
    return functional.pad(x, (0, 0, 0, max(0, 6 - x.shape[0])))


def loop_over_size(self: Any, x: Tensor) -> Tensor:
    y = torch.zeros(4)
    for i in range(x.shape[0]):
        y = y + x[i] * i
    return y


def while_below_size(self: Any, x: Tensor) -> Tensor:
    i = 0
    while i < x.shape[0]:
        x = x + i
        i += 1
    return x


def expanded(self: Any, x: Tensor) -> Tensor:
    return x[:1].expand(x.shape[0], -1) + torch.ones(1, 4).expand(x.shape[0], 4)


def asserted(self: Any, x: Tensor) -> Tensor:
    assert x.shape[1] == 4, "four columns"
    return x * 2


def squeezed(self: Any, x: Tensor) -> Tensor:
    return x.squeeze(0) + 1


def squeezed_whole(self: Any, x: Tensor) -> Tensor:
    return x.squeeze() + 1


def tried(self: Any, x: Tensor) -> Tensor:
    try:
        return x.reshape(2, -1)  # four columns: it never fails
    except RuntimeError:
        return x.reshape(1, -1)


def tried_in_vain(self: Any, x: Tensor) -> Tensor:
    try:
        return x.reshape(8, -1)
    except RuntimeError:
        return x.reshape(1, -1)


def listed(self: Any, x: Tensor) -> Tensor:
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * i)
    return torch.stack(out)


def unbound(self: Any, x: Tensor) -> Any:
    return sum(x.unbind(0))


def split_in_three(self: Any, x: Tensor) -> Tensor:
    first, second, third = x.tensor_split(3)
    return torch.cat([third * 3, first, second + 1])


def second_of_four_parts(self: Any, x: Tensor) -> Tensor:
    return x.tensor_split(4, dim=-2)[1] * 2


def difference_of_halves(self: Any, x: Tensor) -> Tensor:
    first, second = x.chunk(2)
    return first.sum(0) - second.sum(0)


def halves(self: Any, x: Tensor) -> Any:
    return x.chunk(2, dim=-2)


def thirds(self: Any, x: Tensor) -> Any:
    return x.chunk(3)


def split_at_indices(self: Any, x: Tensor) -> Any:
    return x.tensor_split([1, 3])[1] * 2


def looked_up(self: Any, x: Tensor) -> Tensor:
    return x * {2: 5.0, 3: 7.0}.get(x.shape[0], 1.0)


def named_by_size(self: Any, x: Tensor) -> dict[str, Tensor]:
    return {f"n{x.shape[0]}": x * 2}


def special_size(self: Any, x: Tensor) -> Tensor:
    return x * 2 if x.shape[0] == 17 else x + 1


_CARRIED = (
    if_one,
    if_more_than_four,
    if_not_three,
    chain,
    if_length,
    if_even,
    if_shape,
    if_not_shape,
    if_elements,
    if_two_conditions,
    if_rest,
    at_most_four,
    cut_to_four,
    padded_to_six,
    loop_over_size,
    while_below_size,
    expanded,
    asserted,
    special_size,
    split_in_three,
    second_of_four_parts,
    split_at_indices,
    tried,
)
_REFUSED: dict[Callable[..., Any], str] = {
    squeezed: "squeeze(0)",
    squeezed_whole: "squeeze()",
    tried_in_vain: "x.reshape(8, -1)",
    listed: "range(x.shape[0])",
    unbound: "x.unbind(0)",
    halves: "the outputs are output_0, on the example output_0, output_1",
    thirds: "x.chunk(3)",
    looked_up: "looked_up: return x *",
    named_by_size: "the outputs are n1, on the example n2",
}


@grid(
    {
        **{
            f"{forward.__name__}-{to}": Case(
                module_of(forward), rows(2, 1, 3, 5, 7, 17), "x.0=batch", to=to, exact=True
            )
            for forward in _CARRIED
            for to in ("onnx", "tensorflow")
        },
        **{
            f"{forward.__name__}-refused": Case(module_of(forward), rows(2), "x.0=batch", refused=words)
            for forward, words in _REFUSED.items()
        },
        **{
            f"{forward.__name__}-in its range-{to}": Case(
                module_of(forward), rows(*sizes), f"x.0=batch({sizes[0]}..64)", to=to, names=names
            )
            for forward, sizes, names in (
                (difference_of_halves, (2, 3, 4, 5, 17), ("output",)),
                (halves, (2, 3, 4, 5, 17), ("output_0", "output_1")),
                (thirds, (5, 6, 7, 8, 9, 17), ("output_0", "output_1", "output_2")),
            )
            for to in ("onnx", "tensorflow")
        },
        "thirds-four among its sizes": Case(module_of(thirds), rows(6), "x.0=batch(4..64)", refused="x.chunk(3)"),
        "squeezed-in its range": Case(module_of(squeezed), rows(2, 3, 7), "x.0=batch(2..64)", exact=True),
        "squeezed-static": Case(module_of(squeezed), rows(1), exact=True),
    },
    quick=5,
)
def test_sizes_in_code(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)


_POOLS: dict[str, tuple[type[nn.Module], tuple[int, ...]]] = {
    f"{kind} {rank}d": (getattr(nn, f"Adaptive{kind}Pool{rank}d"), (2, 3, *(7, 9, 5)[:rank]))
    for kind in ("Avg", "Max")
    for rank in (1, 2, 3)
}
_WANTED: dict[str, Callable[[int], Any]] = {
    "1": lambda rank: 1,
    "3": lambda rank: 3,
    "10": lambda rank: 10,
    "kept": lambda rank: (None, *(3,) * (rank - 1)) if rank > 1 else 5,
    "all kept": lambda rank: (None,) * rank,
}


def pool(kind: type[nn.Module], size: Any, **options: Any) -> nn.Module:
    return kind(size, **options).eval()


def pictures(shape: Sequence[int], special: bool = True) -> Callable[[], list[Inputs]]:
    def inputs() -> list[Inputs]:
        generator = torch.Generator().manual_seed(2)
        made = [torch.randn(*shape[:2], *(n + more for n in shape[2:]), generator=generator) for more in (0, 1, 4, -3)]
        if special:
            made[2].view(-1)[[0, 5, 11]] = torch.tensor([torch.inf, -torch.inf, torch.nan])
        return [(x,) for x in made]

    return inputs


def pool_cells() -> dict[str, Case]:
    cells = {}
    for name, (kind, shape) in _POOLS.items():
        rank = len(shape) - 2
        dynamic = ",".join(f"input.{axis}=d{axis}" for axis in range(2, len(shape)))
        for words, wanted in _WANTED.items():
            for to in ("onnx", "tensorflow"):
                if words == "all kept" and rank == 1:
                    continue
                make = functools.partial(pool, kind, wanted(rank))
                cells[f"{name}-{words}-{to}"] = Case(make, pictures(shape), dynamic, to=to)
        if name.startswith("Max"):
            for to in ("onnx", "tensorflow"):
                cells[f"{name}-indices-{to}"] = Case(
                    functools.partial(pool, kind, _WANTED["kept"](rank), return_indices=True),
                    pictures(shape, special=False),
                    dynamic,
                    to=to,
                    names=("output_0", "output_1"),
                )
    return cells


@grid(pool_cells(), quick=3)
def test_adaptive_pools(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)
