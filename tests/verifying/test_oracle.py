"""The float64 oracle: right on ONNX's own suite, and with noise of the size of rounding."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.conformance.suite import cases, data_of, model_of
from trueport.backends.tensorflow.registry import registry
from trueport.errors import NoOracle
from trueport.frontends.onnx.load import load_onnx
from trueport.verifying.oracle import OnnxOracle

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
    oracle = OnnxOracle(load_onnx(model_of(cases()["test_bitcast_float32_to_int32"])), registry())
    with pytest.raises(NoOracle, match=r"BitCast.*can't be evaluated in float64"):
        oracle.run({"x": np.ones(3, np.float32)})
