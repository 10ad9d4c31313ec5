"""Reductions of nothing from TensorFlow to ONNX: along an axis of size 0, known before the model runs or only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import tensorflow as tf

import trueport
from tests.cells import grid

_NUMBERS = ("float32", "float64", "int32", "int64", "uint32", "uint64", "int8")
_REDUCTIONS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "min": (tf.reduce_min, _NUMBERS),
    "max": (tf.reduce_max, _NUMBERS),
    "sum": (tf.reduce_sum, _NUMBERS),
    "prod": (tf.reduce_prod, _NUMBERS),
    "any": (tf.reduce_any, ("bool",)),
    "all": (tf.reduce_all, ("bool",)),
    "logsumexp": (tf.reduce_logsumexp, ("float32", "float64")),
}
_EMPTY: dict[str, Callable[[Any], Any]] = {"known": lambda x: x[:, 3:], "dynamic": lambda x: x}
_AXES: dict[str, Any] = {"one": {"known": 1, "dynamic": 0}, "two": [0, 1], "all": None}


@grid(
    {
        f"{name}-{size}-{axes}-{'kept' if keepdims else 'dropped'}": (name, size, axes, keepdims)
        for name in _REDUCTIONS
        for size in _EMPTY
        for axes in _AXES
        for keepdims in (False, True)
    },
    quick=4,
)
def test_reductions_of_nothing(cell: tuple[str, str, str, bool], tmp_path: Path) -> None:
    name, size, named_axes, keepdims = cell
    reduction, dtypes = _REDUCTIONS[name]
    axes = _AXES[named_axes][size] if named_axes == "one" else _AXES[named_axes]

    def call(**inputs: Any) -> dict[str, Any]:
        reduced = {key: reduction(_EMPTY[size](x), axes, keepdims) for key, x in inputs.items()}
        return {f"{key}_reduced": value for key, value in reduced.items()}

    specs = {dtype: tf.TensorSpec([None, 3, 4], dtype, dtype) for dtype in dtypes}
    source = tf.function(call).get_concrete_function(**specs)
    trueport.convert(source, to="onnx", verify=False).save(tmp_path / "model.onnx")
    session = ort.InferenceSession(tmp_path / "model.onnx")
    outputs = [output.name for output in session.get_outputs()]
    for count in (0, 2):
        feeds = {dtype: np.arange(count * 12).reshape(count, 3, 4).astype(dtype) for dtype in dtypes}
        found = dict(zip(outputs, session.run(outputs, feeds), strict=True))
        for key, want in source(**{dtype: tf.constant(data) for dtype, data in feeds.items()}).items():
            rounding = 1e-5 if name == "logsumexp" else 0
            assert found[key].dtype == want.numpy().dtype and found[key].shape == want.shape, (count, key)
            np.testing.assert_allclose(found[key], want.numpy(), rtol=rounding, err_msg=f"{count} {key}")
