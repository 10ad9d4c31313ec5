"""Normalizations: ranks, layouts, precisions, and statistics that are kept."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import assert_close, check, make_model
from tests.grid.layouts import check_channels_last, check_half, check_like_input
from trueport.backend import prepare
from trueport.fidelity import accumulation

RNG = np.random.default_rng(17)
HALVES = [np.float16, ml_dtypes.bfloat16]
SHAPES = [(4, 3), (2, 3, 7), (2, 3, 5, 4), (2, 3, 4, 3, 2)]


def normal(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def sets(x: tuple[int, ...], *more: np.ndarray) -> list[list[np.ndarray]]:
    """The data, and data whose dims but the channels are one larger."""
    return [[normal(*(s + d * (i != 1) for i, s in enumerate(x))), *more] for d in range(2)]


def channels(count: int) -> list[np.ndarray]:
    return [normal(count), normal(count), normal(count), RNG.random(count).astype(np.float32) + 0.5]


@pytest.mark.parametrize("stored", [(), (1, 2, 3, 4)], ids=["fed", "stored"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_normalization(shape, stored):
    check("BatchNormalization", *sets(shape, *channels(3)), constants=stored, epsilon=1e-3)


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
def test_batch_normalization_channels_last(shape):
    check_channels_last("BatchNormalization", normal(*shape), *channels(3))


@pytest.mark.parametrize("dtype", [*HALVES, np.float64])
def test_batch_normalization_of_other_floats(dtype):
    check_half("BatchNormalization", dtype, normal(2, 3, 5, 4), *channels(3))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_normalization_in_training(shape):
    arrays = sets(shape, *channels(3))
    check("BatchNormalization", *arrays, outputs=3, versus="reference", terms=40, training_mode=1, momentum=0.8)


def test_batch_normalization_of_mixed_types():
    """Half-precision data with float32 statistics."""
    x = normal(2, 3, 4, 5).astype(np.float16)
    scale, bias, mean, var = channels(3)
    got = prepare(make_model("BatchNormalization", [[x, scale, bias, mean, var]])).run([x, scale, bias, mean, var])[0]
    c = (slice(None), None, None)
    want = (x.astype(np.float64) - mean[c]) / np.sqrt(var[c] + 1e-5) * scale[c] + bias[c]
    assert got.dtype == np.float16
    assert_close(got, want, accumulation(1))


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
def test_instance_normalization(shape):
    check("InstanceNormalization", *sets(shape, normal(3), normal(3)), terms=60, epsilon=1e-2)
    check_channels_last("InstanceNormalization", normal(*shape), normal(3), normal(3))


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 4, 3), (1, 6, 2, 3, 4)], ids=str)
def test_group_normalization(shape, groups):
    arrays = [normal(*shape), normal(6), normal(6)]
    check_like_input("GroupNormalization", *arrays, terms=80, num_groups=groups, epsilon=1e-2)
    check_channels_last("GroupNormalization", *arrays, num_groups=groups, epsilon=1e-2)


@pytest.mark.parametrize("axis", [-1, 1, 0, -2])
@pytest.mark.parametrize("bias", [True, False])
def test_layer_normalization(axis, bias):
    x = normal(2, 3, 4)
    shape = x.shape[axis:]
    arrays = [x, normal(*shape), normal(*shape) if bias else None]
    check("LayerNormalization", arrays, outputs=3, terms=24, axis=axis)


def test_layer_normalization_of_shifted_data():
    """A large mean must not eat the variance."""
    x = normal(4, 64) + np.float32(1000)
    check("LayerNormalization", [x, np.ones(64, np.float32)], versus="float64", terms=1000)


@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
@pytest.mark.parametrize("dtype", HALVES)
def test_last_axes_in_half_precision(op, dtype):
    """The second stage is in the type of the data: one more rounding."""
    check_half(op, dtype, normal(4, 32), normal(32))


@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_rms_normalization(axis):
    x = normal(2, 3, 4)
    check("RMSNormalization", [x, normal(*x.shape[axis:])], terms=24, axis=axis)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lp_normalization(p, axis, dtype):
    check("LpNormalization", [normal(3, 4, 5, dtype=dtype)], [normal(4, 3, 6, dtype=dtype)], terms=6, p=p, axis=axis)


def test_lp_normalization_of_zeros():
    check("LpNormalization", [np.zeros((2, 3), np.float32)], versus="reference")


LRN = {"alpha": 0.5, "beta": 0.6, "bias": 1.5}


@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize("shape", [(2, 7, 4, 3), (1, 2, 3, 3)], ids=str)
def test_lrn(size, shape):
    check("LRN", *sets(shape), terms=size, size=size, **LRN)
    check_channels_last("LRN", normal(*shape), size=size, **LRN)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 7, 4, 3), (2, 5, 4), (2, 5)], ids=str)
def test_lrn_of_even_size_and_other_ranks(shape, dtype):
    """By the specification's formula: ONNX Runtime takes odd sizes only, the reference mixes up batch and channels."""
    x = normal(*shape, dtype=dtype)
    model = make_model("LRN", [[x]], size=4, **LRN)
    squares = np.pad(x.astype(np.float64) ** 2, [(1, 2) if i == 1 else (0, 0) for i in range(x.ndim)])
    total = sum(squares[:, i : i + shape[1]] for i in range(4))
    alpha, beta, bias = (float(np.float32(LRN[name])) for name in ("alpha", "beta", "bias"))
    assert_close(prepare(model).run(x)[0], x / (bias + alpha / 4 * total) ** beta, accumulation(8), 4)


@pytest.mark.parametrize("dtype", HALVES)
def test_lrn_in_half_precision(dtype):
    check_half("LRN", dtype, normal(2, 7, 4, 3), terms=5, size=5)


@pytest.mark.parametrize("axes", [[0, 2, 3], [1, 2], [3]])
def test_mean_variance_normalization(axes):
    check("MeanVarianceNormalization", *sets((2, 3, 5, 4)), terms=60, axes=axes)
