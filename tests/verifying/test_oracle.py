"""The float64 oracle: right on ONNX's own suite, and with noise of the size of rounding."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest

import trueport
from tests.conformance.suite import cases, data_of, model_of
from trueport.backends.tensorflow.registry import registry
from trueport.errors import NoOracle
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

FAMILIES = tuple(
    """test_conv_ test_convtranspose test_averagepool test_maxpool_2d test_lstm test_gru test_attention_4d
    test_batchnorm test_group_normalization test_instancenorm test_layer_normalization test_quantizelinear
    test_dequantizelinear test_resize test_if test_loop test_scan test_softmax test_gemm test_reduce_mean
    test_mvn""".split()  # noqa: SIM905
)
NAMES = sorted(name for name in cases() if any(name.startswith(family) for family in FAMILIES))


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_suite(name: str) -> None:
    case = cases()[name]
    proto = model_of(case)
    oracle = OnnxOracle(load_onnx(proto), registry())
    graph = oracle.model.graph
    names = [value.name or "" for value in graph.inputs if value.name not in graph.initializers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for inputs, expected in data_of(case, proto):
            truth, noisy = oracle.run(dict(zip(names, inputs, strict=False)))
            for got, want in zip(truth.values(), expected, strict=True):
                if isinstance(want, np.ndarray) and want.dtype.kind in "fiub":
                    np.testing.assert_allclose(
                        np.asarray(got, np.float64), want.astype(np.float64), rtol=2e-3, atol=1e-3
                    )
            for run in noisy:
                assert run.keys() == truth.keys()


def test_noise_is_of_the_size_of_rounding() -> None:
    proto = model_of(cases()["test_conv_with_strides_padding"])
    oracle = OnnxOracle(load_onnx(proto), registry())
    rng = np.random.default_rng(0)
    feeds = {
        "x": rng.normal(size=(1, 1, 7, 5)).astype(np.float32),
        "W": rng.normal(size=(1, 1, 3, 3)).astype(np.float32),
    }
    truth, noisy = oracle.run(feeds)
    error = max(float(np.max(np.abs(run["y"] - truth["y"]))) for run in noisy)
    assert 1e-8 < error < 1e-5


def test_what_has_no_reference_is_said() -> None:
    text = '<ir_version: 10, opset_import: ["" : 21, "own" : 1]> g (float[3] x) => (float[3] y) { y = own.Mystery (x) }'
    oracle = OnnxOracle(load_onnx(onnx.parser.parse_model(text)), registry())
    with pytest.raises(NoOracle, match=r"Mystery.*can't be evaluated in float64"):
        oracle.run({"x": np.ones(3, np.float32)})


def square(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


SCAN = """<ir_version: 10, opset_import: ["" : 21]>
a (float[4] start, float[4,9] x) => (float[4] last, float[4,9] all) {
  last, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
    scan_output_axes = [1], scan_output_directions = [1],
    body = step (float[4] s, float[4] now) => (float[4] t, float[4] out)
      { p = Mul(s, s) q = Sub(p, two) r = Mul(now, tiny) t = Add(q, r) out = Identity(t) }> (start, x)
}"""
UNROLLED = """<ir_version: 10, opset_import: ["" : 21]>
a (float[4] start, float[4,9] x) => (float[4] last) { %s last = Identity(s9) }"""
STEP = """n{0} = Gather <axis = 1> (x, i{0}) p{0} = Mul({1}, {1}) q{0} = Sub(p{0}, two) r{0} = Mul(n{0}, tiny)
    s{0} = Add(q{0}, r{0}) """


def parsed(text: str, **weights: np.ndarray) -> onnx.ModelProto:
    made = onnx.parser.parse_model(text)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items())
    return made


def noise(model: onnx.ModelProto, feeds: dict[str, np.ndarray], output: str) -> float:
    truth, noisy = OnnxOracle(load_onnx(model), registry()).run(feeds)
    return max(float(np.max(np.abs(run[output] - truth[output]))) for run in noisy)


def test_a_scan_is_evaluated_and_errs_step_by_step() -> None:
    """Every step doubles the error of the last, which the result alone does not tell."""
    given = {"two": np.float32(2), "tiny": np.float32(2**-20)}
    feeds = {"start": square(0, 4) / 2, "x": square(1, 4, 9)}
    scan = parsed(SCAN, **given)
    truth, _ = OnnxOracle(load_onnx(scan), registry()).run(feeds)
    for name, got in OnnxRuntimeModel(scan).run(feeds).items():
        np.testing.assert_allclose(truth[name], got, atol=2**9 * 4 * 2**-23)
    steps = "".join(STEP.format(step, f"s{step - 1}" if step > 1 else "start") for step in range(1, 10))
    plain = parsed(UNROLLED % steps, **given, **{f"i{step}": np.int64(9 - step) for step in range(1, 10)})
    assert 0.25 < noise(scan, feeds, "last") / noise(plain, feeds, "last") < 4
    assert trueport.verify(scan, trueport.convert(scan, verify=False).built.run()).verdict == Verdict.FAITHFUL


def test_attention_errs_by_its_steps() -> None:
    """Large scores and values that cancel: what is rounded on the way is far larger than the result."""
    queries, keys = square(0, 1, 2, 3, 64) * 2, square(1, 1, 2, 5, 64)
    values = square(2, 1, 2, 5, 8) + np.float32(1000)
    attention = """<ir_version: 10, opset_import: ["" : 24]>
        a (float[1,2,3,64] q, float[1,2,5,64] k, float[1,2,5,8] v) => (float[1,2,3,8] y) {
          one = Attention <scale = 1.0> (q, k, v) y = Sub(one, big) }"""
    steps = """<ir_version: 10, opset_import: ["" : 24]>
        a (float[1,2,3,64] q, float[1,2,5,64] k, float[1,2,5,8] v) => (float[1,2,3,8] y) {
          t = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul(q, t) p = Softmax <axis = -1> (s)
          one = MatMul(p, v) y = Sub(one, big) }"""
    feeds = {"q": queries, "k": keys, "v": values}
    whole, parts = (noise(parsed(text, big=np.float32(1000)), feeds, "y") for text in (attention, steps))
    assert 0.25 < whole / parts < 4
