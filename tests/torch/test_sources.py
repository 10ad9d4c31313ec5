"""Every form of a PyTorch source, and what it is called: files, code, nested inputs and outputs."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import trueport
from trueport.frontends.torch.source.dims import OpenDim, parse_dynamic
from trueport.report.terminal import print_check


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


class Nested(nn.Module):
    def forward(
        self,
        a: torch.Tensor,
        pair: tuple[torch.Tensor, torch.Tensor],
        *,
        table: dict[str, torch.Tensor],
        times: int = 2,
    ) -> dict[str, Any]:
        return {"sum": a + pair[0] - table["low"], "rest": [pair[1] * times, table["high"]], "a": a * 2}


def converted(source: Any, **options: Any) -> Any:
    result = trueport.convert(source, to="onnx", **options)
    assert result.report.verdict is not None and result.report.verdict.value == "faithful", str(result.report)
    return result


def names(result: Any) -> tuple[list[str], list[str]]:
    return [port.name for port in result.report.inputs], [port.name for port in result.report.outputs]


def test_exported_program_and_its_file(tmp_path: Path) -> None:
    batch = torch.export.Dim("batch")
    program = torch.export.export(Net().eval(), (torch.randn(3, 4),), dynamic_shapes=({0: batch},))
    torch.export.save(program, tmp_path / "net.pt2")
    for source in (program, tmp_path / "net.pt2"):
        result = converted(source)
        assert names(result) == (["x"], ["output"])
        assert isinstance(result.report.inputs[0].shape[0], str)


class Strict(nn.Module):
    """Only the strict way captures it: the other one runs this code, and numpy gets no tensor that holds nothing."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.from_numpy(x.detach().numpy() * 2)


class Deciding(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x - 1


def test_the_way_it_was_captured_is_in_every_form_of_the_report() -> None:
    x = torch.randn(3, 4)
    program = torch.export.export(Net().eval(), (x,))
    ways = {
        "torch.export, not strict": Net().eval(),
        "torch.export, strict": Strict(),
        "torch.export, with branches and loops rewritten": Deciding(),
        "torch.export, before it came here": program,
        "PyTorch's older exporter, from TorchScript": torch.jit.script(Net().eval()),
    }
    for way, source in ways.items():
        for report in (
            trueport.convert(source, to="onnx", example_inputs=(x,), verify=False).report,
            trueport.check(source, to="onnx", example_inputs=(x,)),
        ):
            assert report.captured_by == way
            assert f"captured by {way}" in str(report)
            assert f"Captured by {way}." in report.to_markdown()
            assert json.loads(report.to_json())["captured_by"] == way
            assert trueport.Report.from_json(report.to_json()).captured_by == way
            assert way in shown(report)
    made = trueport.convert(Net().eval(), to="tensorflow", example_inputs=(x,), verify=False)
    assert made.report.captured_by == "torch.export, not strict"


def shown(report: trueport.Report) -> str:
    stream = io.StringIO()
    print_check(report, stream)
    return stream.getvalue()


def test_scripted_module_keeps_its_branches(tmp_path: Path) -> None:
    class Branching(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if bool(x.sum() > 0):
                return x * 2
            return x - 1

    torch.jit.save(torch.jit.script(Branching()), tmp_path / "net.pt")
    up = np.ones((2, 4), np.float32)
    result = converted(
        tmp_path / "net.pt",
        example_inputs={"x": torch.randn(3, 4)},
        dynamic_shapes="x.0=batch",
        data=[{"x": up}, {"x": -up}],
    )
    assert "If" in {node.op_type for node in result.model.graph}


def test_code_that_builds_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_nets.py").write_text("from torch import nn\ndef build(): return nn.Linear(4, 2).eval()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    result = converted("some_nets:build", example_inputs="input=float32[1,4]", dynamic_shapes="input.0=batch(1..64)")
    assert result.report.inputs[0].shape == ("batch", 4)
    with pytest.raises(trueport.UsageError, match="has no 'missing'"):
        trueport.convert("some_nets:missing", to="onnx", example_inputs="input=float32[1,4]")
    with pytest.raises(trueport.UsageError, match="there is no module 'no_such_nets'"):
        trueport.convert("no_such_nets:build", to="onnx", example_inputs="input=float32[1,4]")


def test_pickled_module_runs_no_code_unasked(tmp_path: Path) -> None:
    torch.save(nn.Linear(4, 3).eval(), tmp_path / "net.pt")
    example = {"input": torch.randn(2, 4)}
    with pytest.raises(trueport.InvalidModel, match="would run code when it is read"):
        trueport.convert(tmp_path / "net.pt", to="onnx", example_inputs=example)
    assert names(converted(tmp_path / "net.pt", example_inputs=example, trust=True)) == (["input"], ["output"])


def test_state_dict_is_no_network(tmp_path: Path) -> None:
    torch.save(nn.Linear(4, 3).state_dict(), tmp_path / "weights.pt")
    with pytest.raises(trueport.InvalidModel, match="of weights, no network"):
        trueport.convert(tmp_path / "weights.pt", to="onnx", example_inputs={"input": torch.randn(2, 4)})


def test_nested_inputs_and_outputs_have_names() -> None:
    a, b, c, d, e = (torch.randn(2, 3) for _ in range(5))
    result = converted(
        Nested(),
        example_inputs=((a, (b, c)), {"times": 3, "table": {"low": d, "high": e}}),
        dynamic_shapes={"a.0": "batch", "pair_0.0": "batch", "pair_1.0": "batch", "table_low.0": "batch"},
    )
    assert names(result) == (
        ["a", "pair_0", "pair_1", "table_low", "table_high"],
        ["sum", "rest_0", "rest_1", "a_out"],
    )
    assert any("fixed to 3" in str(loss) for loss in result.report.losses)


def test_dataclass_outputs() -> None:
    @dataclass
    class Both:
        low: torch.Tensor
        high: torch.Tensor

    torch.export.register_dataclass(Both, serialized_type_name="tests.Both")

    class Split(nn.Module):
        def forward(self, x: torch.Tensor) -> Both:
            return Both(x.min(1).values, x.max(1).values)

    assert names(converted(Split(), example_inputs=(torch.randn(2, 3),))) == (["x"], ["low", "high"])


def test_keywords_in_any_order() -> None:
    class Minus(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x - y

    result = converted(
        Minus(), example_inputs={"y": torch.randn(2, 3), "x": torch.randn(2, 3)}, dynamic_shapes="x.0=n,y.0=n"
    )
    assert names(result)[0] == ["x", "y"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types_stay(dtype: torch.dtype) -> None:
    result = converted(Net().to(dtype).eval(), example_inputs=(torch.randn(2, 4, dtype=dtype),))
    word = {"float16": "FLOAT16", "bfloat16": "BFLOAT16", "float64": "DOUBLE"}[str(dtype).removeprefix("torch.")]
    assert [port.dtype for port in (*result.report.inputs, *result.report.outputs)] == [word, word]


def test_every_node_knows_its_line() -> None:
    graph = converted(Net().eval(), example_inputs=(torch.randn(2, 4),)).model.graph
    for node in graph:
        assert "test_sources.py:" in node.metadata_props["trueport.location"], node


def test_words_for_dims() -> None:
    assert parse_dynamic("x.0=batch(1..64), x.2=height") == (OpenDim("x", 0, "batch", 1, 64), OpenDim("x", 2, "height"))
    with pytest.raises(trueport.UsageError, match="names no dim"):
        parse_dynamic("x=batch")
    with pytest.raises(trueport.UsageError, match="there is no input 'y'"):
        trueport.convert(Net(), to="onnx", example_inputs=(torch.randn(2, 4),), dynamic_shapes="y.0=batch")


def test_a_module_needs_an_example() -> None:
    with pytest.raises(trueport.UsageError, match="does not say what its inputs are"):
        trueport.convert(Net(), to="onnx")
