"""Where the source is exact no ratio means anything: the distance is said in words and in units of the last place."""

from __future__ import annotations

import json
import math

import jsonschema
import numpy as np
import onnx.helper as oh

import trueport
from tests.models import model_of, relu_chain
from trueport.fidelity import Verdict
from trueport.report.plain import plain, restored
from trueport.report.schema import load_schema
from trueport.report.verification import render
from trueport.verifying.judge.output import judge
from trueport.verifying.verification import Verification


def test_moved_data_that_is_off_is_said_in_units_of_the_last_place() -> None:
    truth = np.array([0.5, 1.0, 1.5])
    source = truth.astype(np.float32)
    target = source + np.array([0, 3 * 2.0**-23, 0], np.float32)
    found = judge("y", [source], target, truth, [truth])
    assert found.verdict == Verdict.DEPARTS
    assert math.isinf(found.ratio)
    assert found.why == "the source is exact here; the target is off by 3 ulp (max 3.58e-07)"


def test_a_zero_that_is_no_zero_is_said_by_its_distance() -> None:
    truth = np.array([0.0, 1.0, 1.5])
    noisy = [truth * (1 + 2.0**-23)]
    target = np.array([1.2e-7, 1.0, 1.5], np.float32)
    found = judge("y", [truth.astype(np.float32)], target, truth, noisy)
    assert found.verdict == Verdict.DEPARTS
    assert math.isinf(found.ratio)
    assert found.why == "the source is exactly zero here; the target is off by up to 1.2e-07"


def test_ratios_beyond_a_million_are_capped_in_words() -> None:
    truth = np.array([1.0, 1.5])
    noisy = [truth * (1 + 2.0**-23)]
    found = judge("y", [truth.astype(np.float32)], np.array([1e9, 1.5], np.float32), truth, noisy)
    assert found.why == "over 1e+06 × what rounding explains"


def test_no_number_of_the_json_is_infinite() -> None:
    moved = model_of(
        [oh.make_node("Identity", ["x"], ["y"])],
        list(relu_chain().graph.input),
        list(relu_chain().graph.output),
    )
    found = trueport.verify(moved, relu_chain())
    assert found.verdict == Verdict.DEPARTS
    text = render(found, json=True)
    jsonschema.validate(json.loads(text), load_schema("verification-1"))
    assert '"inf"' not in text
    assert json.loads(text)["outputs"][0]["ratio"] is None
    assert max(len(line) for line in render(found).splitlines()[1:4]) < 200
    again = restored(Verification, plain(found.to_json()))
    assert math.isinf(again.outputs[0].ratio)
    assert str(again).startswith("not faithful")
