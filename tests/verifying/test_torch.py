"""PyTorch modules compared with other forms: as the source, as the target, from files, with and without an example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trueport
from trueport.fidelity import Verdict

torch: Any = pytest.importorskip("torch")


def network(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by PyTorch's own exporter, not by ours."""
    place = tmp_path_factory.mktemp("torch") / "m.onnx"
    batch = torch.export.Dim("batch")
    program = torch.export.export(network(), (torch.randn(2, 6),), dynamic_shapes=({0: batch},))
    torch.onnx.export(program, dynamo=True).save(str(place))
    torch.export.save(program, str(place.with_suffix(".pt2")))
    return place


def test_a_module_and_another_exporters_file(exported: Path) -> None:
    found = trueport.verify(network(), exported)
    assert (found.verdict, found.source_runtime, found.rejected) == (Verdict.FAITHFUL, "pytorch", 0)
    assert "float64" in found.oracle
    assert trueport.verify(network(1), exported, samples=2).verdict == Verdict.DEPARTS


def test_a_module_as_the_target(exported: Path) -> None:
    assert trueport.verify(exported, network(), samples=3).verdict == Verdict.FAITHFUL
    example = torch.randn(4, 6)
    assert trueport.verify(exported, network(1), samples=3, example_inputs=example).verdict == Verdict.DEPARTS


def test_an_exported_program_in_a_file(exported: Path) -> None:
    found = trueport.verify(exported.with_suffix(".pt2"), exported, samples=3, dims={"batch": [2, 5]})
    assert (found.verdict, found.samples, found.rejected) == (Verdict.FAITHFUL, 3, 0)
