"""A user's operator of torch.library, and one of PyTorch's own, translated by the user's module."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
import torch

import trueport
from trueport.errors import Unsupported
from trueport.fidelity import Verdict

_FILE = """
from onnxscript import opset18 as op
from trueport import maps_torch

@maps_torch("trueport_test::bend")
def bend_in_onnx(x, scale):
    return op.Where(op.Greater(x, op.CastLike(0.0, x)), op.Mul(x, op.CastLike(scale, x)), x)
"""


@torch.library.custom_op("trueport_test::bend", mutates_args=())
def bend(x: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.where(x > 0, x * scale, x)


@bend.register_fake
def _(x: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.empty_like(x)


class Bent(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.trueport_test.bend(x, 2.5) + 1  # type: ignore[no-any-return]


EXAMPLE = {"example_inputs": torch.randn(3, 4), "dynamic_shapes": "x.0=batch"}


def test_is_refused_where_nobody_declares_it() -> None:
    with pytest.raises(Unsupported, match=r'@maps_torch\("trueport_test::bend"\)'):
        trueport.convert(Bent(), to="onnx", **EXAMPLE)


@pytest.mark.parametrize("target", ["onnx", "tensorflow"])
def test_converts_by_a_file_of_the_users(target: str, tmp_path: Path) -> None:
    place = tmp_path / "bending.py"
    place.write_text(_FILE, encoding="utf-8")
    made = trueport.convert(Bent(), to=target, ops=[str(place)], **EXAMPLE)
    assert made.report.verdict == Verdict.FAITHFUL
    assert made.report.users_operators == {"trueport_test::bend": "bending"}


def test_a_users_translation_comes_before_ours() -> None:
    module = types.ModuleType(__name__)
    seen: list[Any] = []

    @trueport.maps_torch("aten::special_ndtri")
    def wrong(x: Any) -> Any:
        from onnxscript import opset18 as op

        seen.append(x)
        return op.Neg(x)

    module.wrong = wrong  # type: ignore[attr-defined]

    class Quantile(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.ndtri(x)

    made = trueport.convert(Quantile(), to="onnx", ops=[module], example_inputs=torch.rand(3, 4))
    assert seen
    assert made.report.verdict == Verdict.DEPARTS
