"""Outputs of another shape, outputs that are missing and outputs that are new: differences, in verify and in locate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import trueport
from tests.models import model_of
from trueport.errors import NoOracle, UsageError
from trueport.fidelity import Verdict
from trueport.verifying.judge.truth import GuardedReference


def reduced(keepdims: int, outputs: Mapping[str, Sequence[int]]) -> onnx.ModelProto:
    """y = the sum of t = tanh(x) over its rows."""
    return model_of(
        [
            oh.make_node("Constant", [], ["axes"], value_ints=[1]),
            oh.make_node("Tanh", ["x"], ["t"]),
            oh.make_node("ReduceSum", ["t", "axes"], ["y"], keepdims=keepdims),
        ],
        [oh.make_tensor_value_info("x", 1, [3, 4])],
        [oh.make_tensor_value_info(name, 1, dims) for name, dims in outputs.items()],
    )


def permuted(perm: Sequence[int], dims: Sequence[int]) -> onnx.ModelProto:
    return model_of(
        [oh.make_node("Tanh", ["x"], ["t"]), oh.make_node("Transpose", ["t"], ["y"], perm=perm)],
        [oh.make_tensor_value_info("x", 1, [3, 4, 5])],
        [oh.make_tensor_value_info("y", 1, dims)],
    )


Y, T = {"y": [3, 1]}, {"t": [3, 4]}
CASES: dict[str, tuple[onnx.ModelProto, onnx.ModelProto, str, str]] = {
    "another rank": (reduced(1, Y), reduced(0, {"y": [3]}), "shape [3], the source gives [3, 1]", "keepdims = 0"),
    "other dims": (permuted([0, 2, 1], [3, 5, 4]), permuted([0, 1, 2], [3, 4, 5]), "shape [3, 4, 5]", "perm ="),
    "missing": (reduced(1, Y | T), reduced(1, Y), "the target gives no value in output 't'", "output 't'"),
    "new": (reduced(1, Y), reduced(1, Y | T), "output 't' of the target is not in the source", "output 't'"),
}


@pytest.mark.parametrize("source, target, of_verify, of_locate", CASES.values(), ids=CASES)
def test_an_output_that_cannot_be_compared_is_a_difference(
    source: onnx.ModelProto, target: onnx.ModelProto, of_verify: str, of_locate: str
) -> None:
    judged, located = trueport.verify(source, target), trueport.locate(source, target)
    assert judged.verdict == Verdict.DEPARTS
    assert of_verify in str(judged)
    assert located.departs
    assert of_locate in str(located)


def test_a_new_output_may_be_allowed() -> None:
    source, target = reduced(1, Y), reduced(1, Y | T)
    assert trueport.verify(source, target, allow=["names"]).verdict == Verdict.FAITHFUL
    assert not trueport.locate(source, target, allow=["names"]).departs


def test_models_without_an_output_in_common_are_refused() -> None:
    with pytest.raises(UsageError, match="the source has 1 outputs, the target 2"):
        trueport.verify(permuted([0, 2, 1], [3, 5, 4]), _two_others())


def _two_others() -> onnx.ModelProto:
    return model_of(
        [oh.make_node("Tanh", ["x"], ["a"]), oh.make_node("Exp", ["x"], ["b"])],
        [oh.make_tensor_value_info("x", 1, [3, 4, 5])],
        [oh.make_tensor_value_info(name, 1, [3, 4, 5]) for name in "ab"],
    )


class _SometimesSilent:
    """A reference that has no answer for NaN."""

    name, shares = "float64 (test)", "nothing"

    def run(self, feeds: Mapping[str, Any]) -> Any:
        if np.isnan(feeds["x"]).any():
            raise NoOracle("cannot convert float NaN to integer", where="node 'n'")
        return {"y": feeds["x"]}, []

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        return []


def test_inputs_without_a_reference_leave_it_to_the_others() -> None:
    guarded = GuardedReference(_SometimesSilent())  # type: ignore[arg-type]
    assert guarded({"x": np.ones(2)})[0] is not None
    assert guarded({"x": np.array([np.nan])})[0] is None
    assert guarded({"x": np.ones(2)})[0] is not None
    assert "none on 1 of 3 inputs" in guarded.name


def test_a_reference_that_never_answers_is_asked_once() -> None:
    guarded = GuardedReference(_SometimesSilent())  # type: ignore[arg-type]
    assert guarded({"x": np.array([np.nan])})[0] is None
    assert guarded({"x": np.ones(2)})[0] is None
    assert guarded.name.startswith("none: no float64 reference for node 'n'")


def test_a_tensor_made_of_a_dynamic_size_is_followed_for_an_empty_batch() -> None:
    """y = x + (zeros of the shape of x): with one candidate size all sizes are the same for all candidates."""
    model = model_of(
        [
            oh.make_node("Shape", ["x"], ["shape"]),
            oh.make_node("ConstantOfShape", ["shape"], ["zeros"]),
            oh.make_node("Add", ["x", "zeros"], ["y"]),
        ],
        [oh.make_tensor_value_info("x", 1, ["n", 3])],
        [oh.make_tensor_value_info("y", 1, ["n", 3])],
    )
    assert trueport.verify(model, model).verdict == Verdict.FAITHFUL
