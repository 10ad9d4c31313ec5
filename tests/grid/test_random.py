"""Random operators: the distribution, the type and shape; a seed fixes the values, no seed leaves them free."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from tests.grid.harness import make_model
from trueport.backend import prepare

LIKE = np.zeros((200, 50), np.float32)
DRAWS = [
    ("RandomNormal", [], {"shape": [200, 50], "mean": 3.0, "scale": 0.5}, 3.0, 0.5),
    ("RandomUniform", [], {"shape": [200, 50], "low": -1.0, "high": 3.0}, 1.0, 4 / 12**0.5),
    ("RandomNormalLike", [LIKE], {"mean": 3.0, "scale": 0.5}, 3.0, 0.5),
    ("RandomUniformLike", [LIKE], {"low": -1.0, "high": 3.0}, 1.0, 4 / 12**0.5),
    ("Bernoulli", [LIKE + np.float32(0.3)], {}, 0.3, 0.21**0.5),
    ("Multinomial", [np.log(np.full((200, 4), 0.25, np.float32))], {"sample_size": 50}, 1.5, 1.25**0.5),
]
NAMES = [draw[0] for draw in DRAWS]


def draw(op: str, inputs: list[np.ndarray], times: int = 2, **attributes: Any) -> list[np.ndarray]:
    rep = prepare(make_model(op, [inputs], opset=22, **attributes))
    return [rep.run(list(inputs))[0] for _ in range(times)]


@pytest.mark.parametrize(("op", "inputs", "attributes", "mean", "deviation"), DRAWS, ids=NAMES)
def test_distribution_and_seed(op: str, inputs: list, attributes: dict, mean: float, deviation: float) -> None:
    first, again = draw(op, inputs, seed=7.5, **attributes)
    (reloaded,), (other,) = draw(op, inputs, 1, seed=7.5, **attributes), draw(op, inputs, 1, seed=8.0, **attributes)
    assert first.shape == (200, 50)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, reloaded)
    assert np.any(first != other)
    # Ten thousand draws: their mean lies within five standard errors, their deviation within a twentieth.
    assert abs(first.mean() - mean) < 5 * deviation / 100
    assert abs(first.std() - deviation) < deviation / 20


@pytest.mark.parametrize(("op", "inputs", "attributes", "mean", "deviation"), DRAWS, ids=NAMES)
def test_without_a_seed(op: str, inputs: list, attributes: dict, mean: float, deviation: float) -> None:
    first, again = draw(op, inputs, **attributes)
    assert np.any(first != again)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_dtypes(dtype: Any) -> None:
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for op in ("RandomNormalLike", "RandomUniformLike"):
        assert draw(op, [LIKE.astype(dtype)], 1)[0].dtype == dtype
        assert draw(op, [LIKE], 1, dtype=number)[0].dtype == dtype
    assert draw("RandomNormal", [], 1, shape=[2, 3], dtype=number)[0].dtype == dtype
    assert draw("Bernoulli", [LIKE.astype(dtype)], 1, dtype=onnx.TensorProto.INT32)[0].dtype == np.int32
    assert draw("Multinomial", [LIKE.astype(dtype)], 1, dtype=onnx.TensorProto.INT64)[0].dtype == np.int64


def test_certain_outcomes() -> None:
    p = np.array([0.0, 1.0, 0.0, 1.0], np.float32)
    np.testing.assert_array_equal(draw("Bernoulli", [p], 1)[0], p)
    (picked,) = draw("Multinomial", [np.array([[-np.inf, 0.0, -np.inf]], np.float32)], 1, sample_size=20)
    assert np.all(picked == 1)
