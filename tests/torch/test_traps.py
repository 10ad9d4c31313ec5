"""What hangs on data, sizes, state or chance is carried over whole, or refused at its line; never half of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import trueport
from tests.torch.traps import TRAPS, Trap


def refused(name: str, trap: Trap, to: str) -> None:
    with pytest.raises(trueport.TrueportError) as caught:
        trueport.convert(trap.make(), to=to, example_inputs=trap.inputs()[0], dynamic_shapes=trap.dynamic)
    assert trap.refused in str(caught.value), str(caught.value)
    assert caught.value.remedy


def agrees(trap: Trap, to: str) -> None:
    """On all inputs, those of the other branch and of other sizes among them; judged by the float64 truth."""
    module = trap.make()
    example, *_ = inputs = trap.inputs()
    names = ["x", "n"][: len(example)]
    data: list[dict[str, Any]] = [
        dict(zip(names, (tensor.numpy() for tensor in given), strict=True)) for given in inputs
    ]
    result = trueport.convert(module, to=to, example_inputs=example, dynamic_shapes=trap.dynamic, data=data)
    found = result.report.comparison
    assert found is not None and str(found.verdict) == "Verdict.FAITHFUL", str(found)
    assert found.samples == len(inputs) and found.rejected == 0


@pytest.mark.parametrize("name", TRAPS)
def test_to_onnx(name: str) -> None:
    trap = TRAPS[name]
    refused(name, trap, "onnx") if trap.refused else agrees(trap, "onnx")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, trap in TRAPS.items() if not trap.refused])
def test_to_tensorflow(name: str) -> None:
    agrees(TRAPS[name], "tensorflow")


def test_both_sides_differ() -> None:
    """The inputs do reach both sides of the branches: no single one of them explains all results."""
    module = TRAPS["branch"].make()
    results = [(module(x) - x * 2).abs().max().item() < 1e-6 for (x,) in TRAPS["branch"].inputs()]
    assert any(results) and not all(results)


def test_module_is_left_as_it_was() -> None:
    module = TRAPS["left_in_training"].make().train()
    code = type(module).forward
    state = {name: value.clone() for name, value in module.state_dict().items()}
    trueport.convert(module, to="onnx", example_inputs=(torch.randn(3, 4),), verify=False)
    assert module.training and type(module).forward is code
    assert all(np.array_equal(value, state[name]) for name, value in module.state_dict().items())
