"""A Resize that ONNX Runtime computes by another length than ONNX's formula is told in words."""

from __future__ import annotations

import pytest

import trueport
from tests.checking.test_rules import parsed
from trueport.fidelity import Verdict

_TEXT = """
(float[1,1,{length}] x) => (float[1,1,m] y) <float[3] s = {{1, 1, {scale}}}>
{{ y = Resize<coordinate_transformation_mode="{mode}", mode="linear">(x, , s) }}
"""


@pytest.mark.parametrize(
    ("length", "scale", "mode", "is_told"),
    [
        ("5", "1.5", "align_corners", True),
        ("n", "1.5", "align_corners", True),
        ("4", "1.5", "align_corners", False),
        ("5", "2", "align_corners", False),
        ("5", "1.5", "asymmetric", False),
    ],
)
def test_the_runtime_departs_from_the_specification(length: str, scale: str, mode: str, is_told: bool) -> None:
    model = parsed(_TEXT.format(length=length, scale=scale, mode=mode))
    assert ("fractional-length" in {remark.rule for remark in trueport.check(model).remarks}) == is_told
    report = trueport.convert(model, to="tensorflow").report
    assert report.comparison is not None
    assert report.comparison.verdict == Verdict.FAITHFUL
    assert any("ONNX Runtime departs from the specification" in hint for hint in report.comparison.hints) == is_told
