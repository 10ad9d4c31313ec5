"""Rewrite rules: the first match that nothing speaks against is rewritten; every "no" has a reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.passes.layouts import copy, model_of
from trueport.backends.onnx.amend import amendments
from trueport.passes.recognize.activation import ACTIVATIONS
from trueport.passes.recognize.bias import BIASES
from trueport.passes.recognize.dense import DENSE
from trueport.passes.recognize.normalization import NORMALIZATIONS
from trueport.passes.recognize.pooling import GLOBAL_POOLS
from trueport.passes.recognize.quantize import QUANTIZATION
from trueport.passes.recognize.views import CASTS, VIEWS
from trueport.passes.rewrite_rules import Rule, apply_rules, explain
from trueport.passes.simplify import SIMPLIFICATIONS

AMENDMENTS = amendments(lambda node: False)
_F = np.float32
_WEIGHTS: dict[str, Any] = {
    "k": (3, 2, 1, 1),
    "bias": (3,),
    "plane": (3, 1, 1),
    "wide": (1, 3, 4, 1),
    "to_plane": np.array([3, 1, 1]),
    "rows": np.array([-1, 4]),
    "back": np.array([2, 3, 5]),
    "other_rows": np.array([6, 4]),
    "other_back": np.array([3, 2, 5]),
    "keep": np.array([0, 12]),
    "m": (4, 5),
    "half": _F(0.5),
    "axis0": np.array([0]),
    "axis1": np.array([1]),
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    "channel_pads": np.array([0, 1, 0, 0, 0, 1, 0, 0]),
    "one": _F(1),
    "whole": np.array([12]),
}
_CASES: list[tuple[Sequence[Rule[Any]], str, str, str]] = [
    (SIMPLIFICATIONS, "x = float[2,3,4]", "a = Reshape(x, rows) y = Neg(a)", "idle: it changes its input"),
    (SIMPLIFICATIONS, "x = float[2,3,4]", "y = Identity(x)", "idle: its result is an output"),
    (
        SIMPLIFICATIONS,
        "x = float[2,3,4]",
        "a, b = Dropout(x) c = Neg(a) d = Cast<to=1>(b) y = Add(c, d)",
        "idle: another of its results",
    ),
    (
        SIMPLIFICATIONS,
        "x = float[1,1,4]",
        "a = Unsqueeze(x, axis0) b = Squeeze(a, axis1) y = Neg(b)",
        "put back: other axes are removed",
    ),
    (
        SIMPLIFICATIONS,
        "x = float[2,3,4]",
        "a = Reshape(x, rows) b = Reshape(a, keep) y = Neg(b)",
        "reshape once: it copies a dimension",
    ),
    (
        SIMPLIFICATIONS,
        "x = float[2,3,4]",
        "a = Reshape(x, rows) b = Reshape(a, whole) c = Neg(a) d = Reshape(c, whole) y = Add(b, d)",
        "reshape once: the result of the Reshape is used elsewhere",
    ),
    (
        SIMPLIFICATIONS,
        "x = float[1,2,4,4]",
        "a = Pad(x, pads, one) y = Conv(a, k)",
        "padding: the Pad has another",
    ),
    (SIMPLIFICATIONS, "x = float[1,1,4,4]", "a = Pad(x, channel_pads) y = MaxPool<kernel_shape=[2,2]>(a)", "padding: "),
    (
        SIMPLIFICATIONS,
        "x = float[1,2,4,4]",
        'a = Pad(x, pads) y = Conv<auto_pad="SAME_UPPER">(a, k)',
        "padding: Conv pads by size",
    ),
    (ACTIVATIONS, "x = float[2,3]", "a = Mul(x, half) b = Relu(x) y = Mul(a, b)", "gelu: the other factor is neither"),
    (BIASES, "x = float[1,2,4,4]", "a = Conv(x, k, bias) y = Add(a, plane)", "bias: the convolution has a bias"),
    (BIASES, "x = float[1,2,4,4]", "a = Conv(x, k) c = Add(a, plane) y = Add(a, c)", "bias: the convolution's result"),
    (BIASES, "x = float[1,2,4,4]", "a = Conv(x, k) y = Add(a, wide)", "bias: what is added is not a constant"),
    (
        DENSE,
        "x = float[2,3,4]",
        "a = Reshape(x, rows) p = MatMul(a, m) y = Reshape(p, other_back)",
        "dense: the axes before the last one",
    ),
    (
        DENSE,
        "x = float[2,2,6]",
        "a = Reshape(x, other_rows) p = MatMul(a, m) y = Reshape(p, back)",
        "dense: the first reshape does not keep",
    ),
    (GLOBAL_POOLS, "x = float[1,2,4,4]", "y = ReduceMean(x, axis1)", "global pool: it is not a mean over height"),
    (GLOBAL_POOLS, "x = float[2,4,4]", "y = ReduceMean(x, axis1)", "global pool: it is not a mean of float32"),
    (
        VIEWS,
        "x = float[3,1,1]",
        "a = Reshape(bias, to_plane) c = Add(x, a) y = Add(c, bias)",
        "view: the weight is used",
    ),
    (
        CASTS,
        "x = float16[3]",
        "a = Cast<to=10>(bias) c = Cast<to=10>(bias) d = Add(x, a) y = Add(d, c)",
        "cast: the weight",
    ),
    (AMENDMENTS, "x = float[2,3]", "y = ReduceSum(x, axis1)", "amend ReduceSum: not a reduction of integers"),
    (AMENDMENTS, "x = float[2,3]", "s = Shape(x) y = ReduceSum(s, axis0)", "amend ReduceSum: its numbers are sizes"),
    (AMENDMENTS, "x = int32[2,3]", "y = ReduceMax(x, axis1)", "amend ReduceMax: ONNX Runtime is right for this type"),
    (AMENDMENTS, "x = double[2,3]", "y = Cos(x)", "amend Cos: ONNX Runtime has a kernel"),
]


def model(given: str, body: str) -> ir.Model:
    name, _, kind = given.partition(" = ")
    text = f"agraph ({kind} {name}) => (y) {{ {body} }}"
    used = set(re.findall(r"\w+", body))
    return model_of(text, **{key: array for key, array in _WEIGHTS.items() if key in used})


@pytest.mark.parametrize(("rules", "given", "body", "reason"), _CASES)
def test_reasons(rules: Sequence[Rule[Any]], given: str, body: str, reason: str):
    looked_at = model(given, body)
    before = ir.to_proto(looked_at)
    refusals = explain(looked_at, rules)
    assert any(f"{one.rule}: {one.reason}".startswith(reason) for one in refusals), refusals
    assert ir.to_proto(looked_at) == before, "looking changes nothing"


def test_every_rule_list_has_a_reason_here():
    lists = (SIMPLIFICATIONS, ACTIVATIONS, BIASES, DENSE, GLOBAL_POOLS, VIEWS, CASTS, AMENDMENTS)
    assert all(any(case[0] is rules for case in _CASES) for rules in lists)


def test_a_normalization_along_the_batch_has_a_reason_for_each_form():
    looked_at = model_of(
        """agraph (float[3,4] x) => (y) {
            t = Add(v, e) r = Sqrt(t) i = Reciprocal(r) f = Mul(g, i)
            n = Mul(x, f) p = Mul(w, f) s = Sub(b, p) y = Add(n, s)
        }""",
        **dict.fromkeys("gvwb", np.ones((3, 1), _F)),
        e=_F(0.5),
    )
    assert [(one.rule, one.reason) for one in explain(looked_at, NORMALIZATIONS)] == [
        ("batch normalization", "the variance is not a constant vector along one axis of the data"),
        ("layer normalization", "mean and variance are not the data's own along its last axes"),
    ]


def test_a_zero_point_of_another_form_has_a_reason():
    looked_at = model_of(
        "agraph (int8[2,3] x, float[2,3] o, float s) => (y) { c = Cast<to=1>(x) d = Sub(c, o) y = Mul(d, s) }"
    )
    (one,) = explain(looked_at, QUANTIZATION)
    assert one.rule == "dequantize" and one.reason.startswith("the offset is not a zero point")


def test_the_first_match_without_a_reason_is_rewritten():
    def readings(node: ir.Node) -> list[tuple[ir.Node, int]]:
        return [(node, 1), (node, 2), (node, 3)]

    taken: list[int] = []
    rule: Rule[tuple[ir.Node, int]] = Rule(
        "second",
        frozenset({"Neg"}),
        readings,
        lambda match: "too small" if match[1] < 2 else None,
        lambda match, shop: taken.append(match[1]),
    )
    chain = model("x = float[2]", "a = Neg(x) b = Abs(a) y = Neg(b)")
    assert [one.reason for one in explain(chain, [rule])] == ["too small", "too small"]
    assert apply_rules(copy(chain), [rule]) == 2 and taken == [2, 2]
