"""Activations, at the edges of each dtype and over the range that networks use."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import assert_close, check, edge_values, make_model
from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def softplus(x):
    return np.logaddexp(0, x)


def sigmoid(x):
    return np.where(
        x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-np.maximum(x, 0)))
    )


def hard_sigmoid(x, alpha, beta):
    return np.maximum(0, np.minimum(1, alpha * x + beta))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


TRUTH = {
    "Relu": [({}, lambda x: np.maximum(x, 0))],
    "LeakyRelu": [({"alpha": a}, lambda x, a=a: np.where(x < 0, a * x, x)) for a in (0.125, 1.5, 0.0, -0.5)],
    "ThresholdedRelu": [({"alpha": a}, lambda x, a=a: np.where(x > a, x, 0)) for a in (1.0, -2.0)],
    "Elu": [({"alpha": a}, lambda x, a=a: np.where(x < 0, a * np.expm1(x), x)) for a in (1.0, 0.5, 2.0)],
    "Celu": [({"alpha": a}, lambda x, a=a: np.maximum(0, x) + np.minimum(0, a * np.expm1(x / a))) for a in (1.0, 2.0)],
    "Selu": [({"alpha": 1.5, "gamma": 2.0}, lambda x: 2 * np.where(x < 0, 1.5 * np.expm1(x), x))],
    "Sigmoid": [({}, sigmoid)],
    "HardSigmoid": [({"alpha": 0.25, "beta": 0.5}, lambda x: hard_sigmoid(x, 0.25, 0.5))],
    "Swish": [({"alpha": a}, lambda x, a=a: x * sigmoid(a * x)) for a in (1.0, 0.5)],
    "Mish": [({}, lambda x: x * np.tanh(softplus(x)))],
    "Gelu": [({"approximate": "tanh"}, gelu_tanh)],
    "Softplus": [({}, softplus)],
    "Softsign": [({}, lambda x: x / (1 + np.abs(x)))],
    "Shrink": [({"bias": 0.5, "lambd": 1.5}, lambda x: np.where(x < -1.5, x + 0.5, np.where(x > 1.5, x - 0.5, 0)))],
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op, attributes, truth", [(op, *case) for op, cases in TRUTH.items() for case in cases])
def test_activation(op, attributes, truth, dtype):
    if op == "Shrink" and dtype == ml_dtypes.bfloat16:
        pytest.skip("the schema of Shrink has no bfloat16")
    edges = edge_values(dtype)
    edges = edges[(edges == 0) | ~(np.abs(edges) < float(ml_dtypes.finfo(dtype).tiny))]
    # Where sigmoid itself is denormal, TensorFlow makes it zero, and its product with x with it: not below -80.
    spread = np.concatenate([np.linspace(-8, 8, 501), np.linspace(-80, 80, 101)]).astype(dtype)
    rep = prepare(make_model(op, [[edges]], opset=28, **attributes))
    for x in (edges, spread, edges[:0]):
        with np.errstate(all="ignore"):
            want = truth(x.astype(np.float64))
        settled = ~np.isinf(x) | (op not in ("Swish", "Mish", "Gelu", "Softsign"))
        assert_close(rep.run([x])[0][settled], want[settled], registry().find(op).error, 2, f"{op} of {x}")


@pytest.mark.parametrize("op", ["Elu", "Celu", "Selu", "Softplus", "Softsign", "HardSigmoid", "Gelu"])
def test_activation_like_onnxruntime(op):
    check(op, [np.linspace(-6, 6, 1001, dtype=np.float32)], [np.zeros([0], np.float32)], [np.ones(1, np.float32)])


def test_hard_swish():
    check("HardSwish", [np.linspace(-6, 6, 1001, dtype=np.float32)], versus="float64")


@pytest.mark.parametrize("op", ["Swish", "Mish", "Gelu", "HardSwish", "Softsign"])
def test_infinities_by_the_formula(op):
    check(op, [np.array([np.inf, -np.inf, np.nan], np.float32)], versus="reference", opset=28)


@pytest.mark.parametrize("dtype", FLOATS)
def test_swiglu(dtype):
    a, b = (np.linspace(*ends, 60).astype(dtype).reshape(5, 12) for ends in ((-8, 8), (3, -2)))
    want = a.astype(np.float64) * sigmoid(0.5 * a.astype(np.float64)) * b.astype(np.float64)
    got = prepare(make_model("SwiGLU", [[a, b]], opset=28, alpha=0.5)).run([a, b])[0]
    assert_close(got, want, registry().find("SwiGLU").error)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shrink_of_integers(dtype):
    x = edge_values(dtype)
    got = prepare(make_model("Shrink", [[x]], bias=2.0, lambd=1.5)).run([x])[0]
    exact = [int(i) for i in x]
    want = [i + 2 if i < -1.5 else i - 2 if i > 1.5 else 0 for i in exact]
    np.testing.assert_array_equal(got, np.array([w % 2**64 for w in want], np.uint64).astype(dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_relu_of_integers(dtype):
    check("Relu", [edge_values(dtype)], versus="reference")


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("slope", [[], [1], [3], [2, 1], [2, 3]])
def test_prelu(dtype, slope):
    x = edge_values(dtype)[:6].reshape(2, 3)
    slopes = np.full(slope, 2, dtype)
    check("PRelu", [x, slopes], [x[:, :0] if slope in ([], [1], [2, 1]) else x, slopes], versus="reference")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_along_an_axis(op, dtype, axis):
    rng = np.random.default_rng(0)
    sets = [[(rng.standard_normal(shape) * 5).astype(dtype)] for shape in ((3, 4, 5), (1, 7, 2), (2, 0, 3), (0, 2, 2))]
    if dtype == np.float32 or (dtype == np.float64 and op != "Hardmax"):
        check(op, *sets, axis=axis, terms=7)
        return
    rep = prepare(make_model(op, sets, axis=axis))
    wide = prepare(make_model(op, [[x.astype(np.float64) for x in s] for s in sets], axis=axis))
    for (x,) in sets:
        want = wide.run([x.astype(np.float64)])[0]
        assert_close(rep.run([x])[0], want, registry().find(op).error, 7)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_along_an_axis_of_unknown_rank(op, axis):
    x = np.random.default_rng(1).standard_normal((3, 4, 5)).astype(np.float32)
    model = make_model(op, [[x]], axis=axis)
    want = prepare(model).run([x])[0]
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    assert_close(prepare(model).run([x])[0], want, registry().find(op).error, 5)


def test_softmax_of_large_and_infinite():
    odd = [[np.nan, 1, 2], [-np.inf] * 3, [np.inf, 1, 2]]
    rows = np.array([[1e4, 1e4 + 1, 0], [-np.inf, 0, 1], [-1e38, 1e38, 0], *odd], np.float32)
    check("LogSoftmax", [rows[:5]], terms=3)
    check("Softmax", [rows], terms=3)


def test_hardmax_takes_the_first():
    check("Hardmax", [np.array([[1, 3, 3], [2, 2, 2], [0, -1, 5]], np.float32)])
