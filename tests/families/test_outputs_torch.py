"""The names of outputs: stable, whatever stands beside them; numbers of Python's are outputs, too."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import trueport
from tests.cells import grid
from tests.families.eager import Case, Inputs, check, module_of

Tensor = torch.Tensor


def inputs() -> list[Inputs]:
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(n, 4, generator=generator),) for n in (2, 5, 1)]


@dataclasses.dataclass
class Found:
    scores: Tensor
    count: int
    nothing: None = None


class Pair(NamedTuple):
    low: Tensor
    high: Tensor


def alone(self: Any, x: Tensor) -> Any:
    return x * 2


def number_after(self: Any, x: Tensor) -> Any:
    return x * 2, 3


def number_before(self: Any, x: Tensor) -> Any:
    return 3, x * 2


def numbers_by_key(self: Any, x: Tensor) -> Any:
    return {"a": 1, "b": x * 2, "c": None, "e": 0.1, "f": True}


def nested(self: Any, x: Tensor) -> Any:
    return [None, x * 2, (x + 1, [x - 1])]


def size(self: Any, x: Tensor) -> Any:
    return x.shape[0], x * 2


def sizes(self: Any, x: Tensor) -> Any:
    return x.shape


def computed_number(self: Any, x: Tensor) -> Any:
    return {"n": x.shape[0] * 2 + 1, "m": x.sum().item(), "y": x * 2}


def only_a_number(self: Any, x: Tensor) -> Any:
    return x.shape[0] + 1


def same_twice(self: Any, x: Tensor) -> Any:
    y = x * 2
    return y, y, x, (x,)


def keys_like_inputs(self: Any, x: Tensor) -> Any:
    return {"x": x * 2, 1: x + 1, "x_out": x - 1}


def deep(self: Any, x: Tensor) -> Any:
    return {"k": {"q": [x, x * 2], "r": x}}


def a_dataclass(self: Any, x: Tensor) -> Any:
    return Found(x * 2, 3)


def dataclasses_in_a_list(self: Any, x: Tensor) -> Any:
    return [Found(x * 2, 3), Found(x * 3, 4)]


def a_named_tuple(self: Any, x: Tensor) -> Any:
    return Pair(x.amin(1), x.amax(1))


def values_and_indices(self: Any, x: Tensor) -> Any:
    return x.max(1)


def a_weight(self: Any, x: Tensor) -> Any:
    return x * 2, torch.arange(3)


_NAMES = {
    alone: ("output",),
    number_after: ("output_0", "output_1"),
    number_before: ("output_0", "output_1"),
    numbers_by_key: ("a", "b", "e", "f"),
    nested: ("output_1", "output_2_0", "output_2_1_0"),
    size: ("output_0", "output_1"),
    sizes: ("output_0", "output_1"),
    computed_number: ("n", "m", "y"),
    only_a_number: ("output",),
    same_twice: ("output_0", "output_1", "output_2", "output_3_0"),
    keys_like_inputs: ("x_out", "output_1", "x_out_1"),
    deep: ("k_q_0", "k_q_1", "k_r"),
    a_dataclass: ("scores", "count"),
    dataclasses_in_a_list: ("output_0_scores", "output_0_count", "output_1_scores", "output_1_count"),
    a_named_tuple: ("low", "high"),
    values_and_indices: ("output_0", "output_1"),
    a_weight: ("output_0", "output_1"),
}


@grid(
    {
        f"{forward.__name__}-{dynamic or 'static'}-{to}": Case(
            module_of(forward), lambda n=None if dynamic else 1: inputs()[:n], dynamic, to=to, names=names
        )
        for forward, names in _NAMES.items()
        for dynamic in (None, "x.0=batch")
        for to in ("onnx", "tensorflow")
    },
    quick=4,
)
def test_names_of_outputs(cell: Case, tmp_path: Path) -> None:
    check(cell, tmp_path)


def test_what_is_left_out_is_reported() -> None:
    def forward(self: Any, x: Tensor) -> Any:
        return {"y": x * 2, "label": "cat"}

    losses = trueport.convert(module_of(forward)(), to="onnx", example_inputs=inputs()[0]).report.losses
    assert [loss.where for loss in losses] == ["output 'label'"]


def test_nothing_to_give_back_is_refused() -> None:
    def forward(self: Any, x: Tensor) -> Any:
        return {"label": None}

    with pytest.raises(trueport.ConversionError, match="there is nothing to convert"):
        trueport.convert(module_of(forward)(), to="onnx", example_inputs=inputs()[0])
