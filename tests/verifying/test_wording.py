"""Verdicts and errors in words: short, without digits that say nothing, and never an array."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trueport
from tests.report import networks
from trueport.fidelity import Verdict
from trueport.verifying.judge.output import Judgement, judge
from trueport.verifying.locate.result import Culprit, Located
from trueport.verifying.verification import SettingResult, Verification
from trueport.verifying.wording import describe_error, label, multiple, verdict_words

GOT = np.linspace(1, 2, 8, dtype=np.float32)


def judged(target: np.ndarray, noise: float) -> Judgement:
    truth = GOT.astype(np.float64)
    return judge("y", [GOT], target, truth, [truth * (1 + noise), truth])


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.0, "0 ×"),
        (1e-9, "less than 0.001 ×"),
        (0.213, "0.2 ×"),
        (8.04, "8.04 ×"),
        (42.0, "42 ×"),
        (13_460.0, "13,500 ×"),
        (2.5e36, "more than a million ×"),
        (float("inf"), "more than a million ×"),
    ],
)
def test_a_ratio_in_words(ratio: float, words: str) -> None:
    assert multiple(ratio) == words


def test_an_error_is_said_with_its_type_and_the_limit() -> None:
    found = judged(GOT * np.float32(1 + 1e-5), 1e-6)
    assert found.verdict == Verdict.DEPARTS
    assert describe_error(found, 8.0) == f"error is {multiple(found.ratio)} normal float32 rounding (limit 8 ×)"
    assert "limit" not in describe_error(found, None)


def test_without_noise_the_source_is_called_exact() -> None:
    found = judged(GOT + np.float32(0.5), 0.0)
    assert describe_error(found, 8.0).startswith("the source is exact here; the target is off by ")
    large = judged(GOT * np.float32(1e9), 1e-7)
    assert describe_error(large, 8.0) == "error is more than a million × normal float32 rounding (limit 8 ×)"


def test_what_has_no_ratio_is_said_as_it_is() -> None:
    found = judge("y", [np.arange(4)], np.zeros(4, np.int64), None, [])
    assert describe_error(found, 8.0) == "3 of 4 elements differ"
    assert "shape [3]" in describe_error(judged(GOT[:3], 0.0), 8.0)


def test_names_are_escaped_and_shortened_in_the_middle() -> None:
    assert label("a\nb\x1b[31m\u202e") == "a\\nb\\x1b[31m\\u202e"
    assert label("blocks/" + "x" * 200 + "/Conv", 30) == "blocks/xx…xxxxxxxxxxxxxxx/Conv"
    assert len(label("y" * 1000)) == 60


def test_a_verification_prints_as_one_line() -> None:
    output = judged(GOT * np.float32(1 + 1e-5), 1e-6)
    found = Verification("onnxruntime", "tensorflow", "float64", 8.0, 2, 0, (output,), shown_by={"x": np.zeros(9999)})
    error = describe_error(output, 8.0)
    assert str(found) == (
        f"not faithful: {error} in output 'y'; 2 inputs, onnxruntime against tensorflow; reference: float64"
    )
    assert repr(found) == f"<Verification not faithful: {error} in output 'y'>"
    worse = SettingResult("target", "tensorflow", "XLA", Verdict.DEPARTS, 9e9, "9e+09 × what rounding explains")
    same = replace(output, verdict=Verdict.FAITHFUL, ratio=0.0, why="equal")
    assert replace(found, outputs=(same,)).headline == "faithful: no error in any output"
    assert replace(found, outputs=(same,), settings=(worse,)).headline == (
        "not faithful under tensorflow, XLA: error is more than a million × normal rounding"
    )
    assert replace(found, skipped="no inputs").headline == str(replace(found, skipped="no inputs"))
    assert verdict_words(None) == "not compared"


def test_what_was_located_prints_without_arrays() -> None:
    source, target = networks.residual(1), networks.residual(1)
    target.graph.node[1].op_type = "Tanh"
    found = trueport.locate(source, target, samples=1)
    assert isinstance(found, Located) and isinstance(found.culprit, Culprit)
    assert str(found).startswith("not faithful: error is ") and "Sigmoid node '/blocks/0/first/Sigmoid'" in str(found)
    for words in (str(found), repr(found), f"{found.culprit!r}"):
        assert "array(" not in words and "\n" not in words
    assert len(str(found)) < 400 and len(repr(found)) < 400
    same = trueport.locate(source, source, samples=1)
    assert str(same).startswith("faithful: error is at most ") and str(same).endswith("normal rounding (limit 8 ×)")
