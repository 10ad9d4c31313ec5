"""Differences in how a target is called are named, and decide the verdict unless they are allowed."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto
from typer.testing import CliRunner

import trueport
from tests.models import model_of
from trueport.cli.app import app
from trueport.errors import UsageError
from trueport.fidelity import Verdict
from trueport.report.plain import plain, restored
from trueport.report.schema import load_schema
from trueport.report.verification import render
from trueport.verifying.verification import Verification


def product(
    inputs: tuple[str, str] = ("a", "b"),
    output: str = "y",
    dims: tuple[Any, ...] = ("n", 3),
    dtype: int = TensorProto.FLOAT,
    backward: bool = False,
) -> onnx.ModelProto:
    """y = tanh(a) - b."""
    ports = [oh.make_tensor_value_info(name, dtype, dims) for name in inputs]
    return model_of(
        [oh.make_node("Tanh", [inputs[0]], ["t"]), oh.make_node("Sub", ["t", inputs[1]], [output])],
        ports[::-1] if backward else ports,
        [oh.make_tensor_value_info(output, dtype, dims)],
    )


CASES: dict[str, tuple[onnx.ModelProto, str, str]] = {
    "an input renamed": (product(("a", "z")), "names", "input 'b' is called 'z' in the target"),
    "an output renamed": (product(output="z"), "names", "output 'y' is called 'z' in the target"),
    "another order": (
        product(backward=True),
        "order",
        "the inputs of the source are 'a', 'b', those of the target 'b', 'a'",
    ),
    "a frozen dim": (product(dims=(4, 3)), "dims", "axis 0 of input 'a' is dynamic in the source, 4 in the target"),
    "widened": (product(dtype=TensorProto.DOUBLE), "dtypes", "input 'a' is FLOAT in the source, DOUBLE in the target"),
}


@pytest.mark.parametrize("target, kind, words", CASES.values(), ids=CASES)
def test_a_difference_is_named_and_counts(target: onnx.ModelProto, kind: str, words: str) -> None:
    found = trueport.verify(product(), target, samples=2)
    assert found.verdict == Verdict.DEPARTS
    assert words in [difference.what for difference in found.differences if difference.counts]
    assert {difference.kind for difference in found.differences} == {kind}
    assert f"differs {words}" in " ".join(render(found).split())
    assert words in str(found)
    data = json.loads(render(found, json=True))
    jsonschema.validate(data, load_schema("verification-1"))
    again = restored(Verification, plain(data))
    assert (again.verdict, again.differences) == (found.verdict, found.differences)


@pytest.mark.parametrize("target, kind, words", CASES.values(), ids=CASES)
def test_what_is_allowed_is_listed_and_does_not_count(target: onnx.ModelProto, kind: str, words: str) -> None:
    found = trueport.verify(product(), target, samples=2, allow=(kind,))
    assert found.verdict == Verdict.FAITHFUL, str(found)
    assert f"differs {words} (no part of the verdict)" in " ".join(render(found).split())


def test_numbers_are_judged_beside() -> None:
    faulty = product(("b", "a"))
    faulty.graph.node[1].op_type = "Add"
    found = trueport.verify(product(), faulty, samples=2, allow=("names", "order"))
    assert found.outputs[0].verdict == found.verdict == Verdict.DEPARTS


def test_an_equal_signature_has_no_differences() -> None:
    assert trueport.verify(product(), product(), samples=2).differences == ()


def test_there_is_nothing_else_to_allow() -> None:
    with pytest.raises(UsageError, match="expected any of names, order, dims, dtypes, got 'shapes'"):
        trueport.verify(product(), product(), allow=("shapes",))


def test_the_command_line_allows(tmp_path: Any) -> None:
    onnx.save(product(), tmp_path / "a.onnx")
    onnx.save(product(output="z"), tmp_path / "b.onnx")
    words = ["verify", str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx"), "--samples", "2"]
    assert CliRunner().invoke(app, words).exit_code == 1
    assert CliRunner().invoke(app, [*words, "--allow", "names"]).exit_code == 0
    assert CliRunner().invoke(app, [*words, "--allow", "dims,names"]).exit_code == 0
