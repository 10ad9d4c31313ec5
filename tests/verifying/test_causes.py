"""One fault of each kind of cause, put into a small model by hand: the cause is named, with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import trueport
from trueport.fidelity import Verdict
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.causes.optimizations import optimization
from trueport.verifying.judge.output import Judgement
from trueport.verifying.locate.result import Cause

RNG = np.random.default_rng(0)
HEAD = '<ir_version: 10, opset_import: ["" : 21, "acme" : 1]> '
FLOAT = RNG.normal(size=(4, 6)).astype(np.float32)
CHANNELS = RNG.normal(size=(2, 3, 3, 5)).astype(np.float32)


def model(text: str, **weights: Any) -> onnx.ModelProto:
    made = onnx.parser.parse_model(HEAD + text)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items())
    return made


def causes(source: onnx.ModelProto, target: Any, feeds: Mapping[str, Any], **options: Any) -> tuple[Cause, ...]:
    found = trueport.locate(source, target, data=[feeds], **options)
    assert found.culprit is not None, found.why
    return found.culprit.causes


def first(source: onnx.ModelProto, target: Any, feeds: Mapping[str, Any]) -> Cause:
    return causes(source, target, feeds)[0]


NORM = "a (float[4,6] x) => (float[4,6] y) { y = LayerNormalization <epsilon = %s> (x, s, b) }"
POOL = """a (float[2,3,3,5] x) => (float[2,3,4,6] y) {
    y = AveragePool <kernel_shape = [2,2], pads = [1,1,1,1], count_include_pad = %d> (x) }"""
UNIT = {"s": np.ones(6, np.float32), "b": np.zeros(6, np.float32)}


def test_another_epsilon_even_one_that_nobody_uses() -> None:
    cause = first(model(NORM % "1e-5", **UNIT), model(NORM % "0.0137", **UNIT), {"x": FLOAT})
    assert (cause.kind, cause.what) == ("attribute", "it behaves as with epsilon = 0.0137, the source has 1e-05")


def test_padding_that_counts() -> None:
    cause = first(model(POOL % 0), model(POOL % 1), {"x": CHANNELS})
    assert cause.what == "it behaves as with count_include_pad = 1, the source has 0"
    assert "float64 on the same inputs" in cause.evidence


DEQUANTIZE = "a (int8[2,3,3,5] x) => (float[2,3,3,5] y) { y = DequantizeLinear <axis = %d> (x, s, z) }"
QUANTIZE = "a (float[2,3,3,5] x) => (uint8[2,3,3,5] y) { y = QuantizeLinear <axis = 1> (x, s, z) }"
STORED = RNG.integers(-100, 100, size=(2, 3, 3, 5)).astype(np.int8)
PER_CHANNEL = {"s": np.array([0.1, 0.2, 0.5], np.float32), "z": np.array([0, 3, -7], np.int8)}
PER_TENSOR = {"s": np.float32(0.02), "z": np.uint8(100)}


@pytest.mark.parametrize("target", ["onnxruntime", "tensorflow"])
@pytest.mark.parametrize(
    ("kind", "changed", "said"),
    [
        ("quantization scale", {"s": np.float32(0.0202)}, "y_scale is 0.02"),
        ("quantization zero point", {"z": np.uint8(101)}, "off by +1"),
    ],
)
def test_quantizing_with_another_parameter(kind: str, changed: dict[str, Any], said: str, target: str) -> None:
    other = model(QUANTIZE, **{**PER_TENSOR, **changed})
    made = other if target == "onnxruntime" else trueport.convert(other, verify=False).built.run()
    cause = first(model(QUANTIZE, **PER_TENSOR), made, {"x": CHANNELS})
    assert cause.kind == kind
    assert said in cause.what
    assert f"the source has {100 if 'z' in changed else 0.02}" in cause.what


def test_dequantizing_along_another_axis() -> None:
    cause = first(model(DEQUANTIZE % 1, **PER_CHANNEL), model(DEQUANTIZE % 2, **PER_CHANNEL), {"x": STORED})
    assert (cause.kind, cause.what) == ("quantization axis", "scales go along axis 2, in the source along 1")


def test_one_scale_for_all_channels_is_shown_by_the_constant() -> None:
    same = {**PER_CHANNEL, "s": np.full(3, 0.1, np.float32)}
    cause = first(model(DEQUANTIZE % 1, **PER_CHANNEL), model(DEQUANTIZE % 1, **same), {"x": STORED})
    assert cause.kind == "quantization scale"
    assert "first at [1]: 0.1, the source has 0.2" in cause.evidence


def test_quantizing_with_halves_rounded_up() -> None:
    text = """a (float[3,4] x) => (uint8[3,4] y) {
        q = Div(x, s) h = Add(q, half) f = Floor(h) z = Add(f, zero) y = Cast <to = 2> (z) }"""
    up = model(text, s=np.float32(0.5), half=np.float32(0.5), zero=np.float32(100))
    plain = "a (float[3,4] x) => (uint8[3,4] y) { y = QuantizeLinear(x, s, z) }"
    halves = {"x": (np.arange(12).reshape(3, 4) * 0.25 - 1).astype(np.float32)}
    cause = first(model(plain, s=np.float32(0.5), z=np.uint8(100)), up, halves)
    assert (cause.kind, cause.what) == ("quantization rounding", "halves go up, the source rounds halves to even")


def test_two_attributes_that_belong_together() -> None:
    text = """a (float[1,2,6,7] x) => (float[1,2,12,14] y) {
        y = Resize <mode = "cubic", cubic_coeff_a = %s, exclude_outside = %d> (x, , s) }"""
    scales = {"s": np.array([1, 1, 2, 2], np.float32)}
    x = RNG.normal(size=(1, 2, 6, 7)).astype(np.float32)
    cause = first(model(text % (-0.75, 0), **scales), model(text % (-0.5, 1), **scales), {"x": x})
    assert cause.kind == "attribute"
    assert cause.what.startswith("it behaves as with cubic_coeff_a = -0.5, exclude_outside = 1, the source has")


MATMUL = "a (float[4,6] x) => (float[4,5] y) { y = MatMul(x, w) }"
WEIGHT = RNG.normal(size=(6, 5)).astype(np.float32)


def test_one_element_of_a_weight_with_both_values() -> None:
    other = WEIGHT.copy()
    other[2, 3] = 7
    cause = first(model(MATMUL, w=WEIGHT), model(MATMUL, w=other), {"x": FLOAT})
    assert (cause.kind, cause.what) == ("weight", "weight 'w' differs in 1 of 30 elements")
    assert cause.evidence == f"first at [2, 3]: 7.0, the source has {WEIGHT[2, 3]!s}; it is operand 'B'"


def test_a_transposed_operand() -> None:
    text = "a (float[4,4] x) => (float[4,4] y) { %s y = MatMul(x, t) }"
    square = RNG.normal(size=(4, 4)).astype(np.float32)
    source = model("a (float[4,4] x) => (float[4,4] y) { y = MatMul(x, w) }", w=square)
    cause = first(source, model(text % "t = Transpose(w)", w=square), {"x": square})
    assert (cause.kind, cause.what) == ("layout", "B is transposed by [1, 0]")


def test_narrowed_floats() -> None:
    text = "a (float[4,6] x) => (float[4,6] y) { t = Tanh(x) n = Cast <to = 10> (t) y = Cast <to = 1> (n) }"
    cause = first(model("a (float[4,6] x) => (float[4,6] y) { y = Tanh(x) }"), model(text), {"x": FLOAT})
    assert (cause.kind, cause.what) == ("dtype", "its result is narrowed: rounded to float16")


def test_narrowed_integers() -> None:
    text = "a (int64[3] x) => (int64[3] y) { y = Mul(x, x) }"
    narrow = "a (int64[3] x) => (int64[3] y) { n = Cast <to = 6> (x) m = Mul(n, n) y = Cast <to = 7> (m) }"
    cause = first(model(text), model(narrow), {"x": np.array([3, 100_000, 70_001], np.int64)})
    assert (cause.kind, cause.what) == ("dtype", "its integers are narrowed: they wrap around as int32")


def test_a_widened_result() -> None:
    source = model("a (float[4,6] x) => (float16[4,6] y) { y = Cast <to = 10> (x) }")
    wide = model("a (float[4,6] x) => (float[4,6] y) { y = Identity(x) }")
    cause = first(source, wide, {"x": FLOAT})
    assert (cause.kind, cause.what, cause.evidence) == (
        "dtype",
        "its result is widened: float32",
        "the source's is float16",
    )


ROUGH = """
import numpy as np
import tensorflow as tf
from trueport.fidelity import APPROXIMATE, ulps
from trueport.mapping.declare import maps

def root(x):
    return np.sqrt(np.abs(x))

@maps("Root", domain="acme", fidelity=APPROXIMATE, error=ulps(4096), because="a table of 32 roots", reference=root)
def rough(t, x):
    return tf.round(tf.sqrt(tf.abs(x)) * 32) / 32
"""


def test_an_operator_declared_approximate(tmp_path: Path) -> None:
    ops = tmp_path / "acme_ops.py"
    ops.write_text(ROUGH)
    source = model("a (float[4,6] x) => (float[4,6] y) { y = acme.Root(x) }")
    made = trueport.convert(source, ops=[ops], verify=False).built.run()
    found = causes(source, made, {"x": FLOAT}, ops=[ops])
    assert (found[0].kind, found[0].what) == ("approximate", "Root is declared approximate (approximate)")
    assert "a table of 32 roots; declared bound: 4096 ulp" in found[0].evidence


def test_a_random_operator() -> None:
    source = model("a (float[500] x) => (float[500] y) { y = Bernoulli(x) }")
    halves = {"x": np.full(500, 0.5, np.float32)}
    found = trueport.locate(source, trueport.convert(source, verify=False).built.run(), data=[halves])
    assert found.culprit is None, "verify does not call it a fault"
    assert "Bernoulli node 'y' differs inside" in found.why


def test_near_ties() -> None:
    source = model("a (float[2,4] x) => (int64[2] y) { y = ArgMax <axis = 1, keepdims = 0> (x) }")
    text = "a (float[2,4] x) => (int64[2] y) { m = Mul(x, w) y = ArgMax <axis = 1, keepdims = 0> (m) }"
    near = np.nextafter(np.float32(3), np.float32(4))
    feeds = {"x": np.array([[0, 3, near, 1], [0, 9, 1, 2]], np.float32)}
    blurred = model(text, w=np.array([1, 1.0000002, 1, 1], np.float32))
    cause = first(source, blurred, feeds)
    assert (cause.kind, cause.what) == ("ties", "it chooses between numbers that are equal, or nearly")
    assert "first at [0]: 1, the source has 2" in cause.evidence


def test_nan_that_is_passed_over() -> None:
    source = model("a (float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Max(x, z) }")
    text = """a (float[2,3] x, float[2,3] z) => (float[2,3] y) {
        n = IsNaN(x) w = Where(n, z, x) y = Max(w, z) }"""
    x = np.array([[1, np.nan, 2], [3, 4, 5]], np.float32)
    cause = first(source, model(text), {"x": x, "z": np.full((2, 3), -2.5, np.float32)})
    assert cause.kind == "nonfinite"
    assert "NaN is passed over" in cause.what
    assert "first at [0, 1]" in cause.evidence


def test_denormal_numbers_that_count_as_zero() -> None:
    source = model("a (float[4] x) => (float[4] y) { y = Reciprocal(x) }")
    text = """a (float[4] x) => (float[4] y) {
        a = Abs(x) small = Less(a, tiny) f = Where(small, zero, x) y = Reciprocal(f) }"""
    flushed = model(text, tiny=np.float32(1.1754944e-38), zero=np.float32(0))
    cause = first(source, flushed, {"x": np.array([3, 8e-39, 7, 11], np.float32)})
    assert (cause.kind, cause.what) == ("denormal", "denormal numbers count as zero in X")


BRANCH = """a (float[4,6] x) => (float[4,6] y) {
    s = ReduceSum <keepdims = 0> (x) c = %s (s, zero)
    y = If (c) <then_branch = t () => (float[4,6] a) { a = Relu(x) },
                else_branch = e () => (float[4,6] b) { b = Neg(x) }> }"""


def test_the_other_branch_with_the_condition() -> None:
    source, text = model(BRANCH % "Greater", zero=np.float32(0)), BRANCH % "Greater"
    turned = text.replace("Relu(x)", "?").replace("Neg(x)", "Relu(x)").replace("?", "Neg(x)")
    cause = first(source, model(turned, zero=np.float32(0)), {"x": np.abs(FLOAT)})
    assert cause.what == "it takes the other branch: else_branch, the source takes then_branch"
    assert "the condition is True" in cause.evidence


STRANGE = "a (float[4,6] x) => (float[4,6] y) { t = Tanh(x) s = Sin(t) c = Mul(s, t) y = Add(t, c) }"
PLAIN = "a (float[4,6] x) => (float[4,6] y) { y = Tanh(x) }"


def test_what_no_hypothesis_explains_is_told_by_the_nodes_of_the_target() -> None:
    cause = first(model(PLAIN), model(STRANGE), {"x": FLOAT})
    assert (cause.kind, cause.what) == ("nodes", "the target computes it by Tanh, Sin, Mul, Add, the source by Tanh")


def test_what_nothing_explains_is_unknown() -> None:
    target = trueport.convert(model(STRANGE), verify=False).built.run()
    cause = first(model(PLAIN), target, {"x": FLOAT})
    assert (cause.kind, cause.what) == ("unknown", "unknown")
    assert "hypotheses gives the target's numbers" in cause.evidence


class Fusing(OnnxRuntimeModel):
    """A runtime whose optimizer puts another model in the place of the one it was given."""

    def __init__(self, plain: onnx.ModelProto, fused: onnx.ModelProto, level: str) -> None:
        super().__init__(fused if level in ("extended", "all") else plain, optimize=False)


def test_an_optimization_is_shown_by_the_levels_at_which_it_departs() -> None:
    plain = model("a (float[4,6] x) => (float[4,6] y) { y = Gelu(x) }")
    fused = model('a (float[4,6] x) => (float[4,6] y) { y = Gelu <approximate = "tanh"> (x) }')
    want = OnnxRuntimeModel(plain, optimize=False).run({"x": FLOAT})["y"]

    def opened(level: str) -> tuple[str, Any]:
        return level, lambda: Fusing(plain, fused, level)

    def judged(name: str, value: Any) -> Judgement:
        ratio = float(np.max(np.abs(value - want))) / 1e-6
        return Judgement(name, Verdict.FAITHFUL if ratio <= 8 else Verdict.DEPARTS, ratio, "")

    levels = [opened(level) for level in ("none", "basic", "extended", "all")]
    cause = optimization(levels, {"x": FLOAT}, judged)
    assert cause is not None
    assert cause.kind == "optimization"
    assert cause.what.endswith("it departs in extended; all, not in none; basic")
    assert optimization(levels[:2], {"x": FLOAT}, judged) is None
    assert optimization(levels[2:], {"x": FLOAT}, judged) is None


def test_negative_indices_that_are_taken_as_zero() -> None:
    taken = "a (int64[3] i) => (float[3,5] y) { %s y = Gather(w, j) }"
    source = model("a (int64[3] i) => (float[3,5] y) { y = Gather(w, i) }", w=WEIGHT)
    other = model(taken % "j = Max(i, zero)", w=WEIGHT, zero=np.int64(0))
    cause = first(source, other, {"i": np.array([2, -1, -3])})
    assert (cause.kind, cause.what) == ("indices", "negative numbers in indices are taken as 0")


def test_the_right_numbers_in_another_order() -> None:
    places = np.stack([RNG.permutation(6) for _ in range(4)])
    source = model("a (float[4,6] x) => (float[4,6] y) { y = Softmax(x) }")
    text = "a (float[4,6] x) => (float[4,6] y) { s = Softmax(x) y = GatherElements <axis = 1> (s, places) }"
    (cause,) = causes(source, model(text, places=places), {"x": FLOAT})
    assert (cause.kind, cause.what) == ("order", "along axis 1 it gives the right numbers in another order")
    assert "4 of 4 rows" in cause.evidence
