"""Functions that order or choose, converted together and run once; each cell of a grid looks at one of them.

An artifact is saved and run by its own framework: ONNX files without and with ONNX Runtime's graph optimizations.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import tensorflow as tf
import torch

import trueport

__all__ = ["Runs", "is_same", "run_onnx_in_tensorflow", "run_tensorflow", "run_torch", "special_rows", "tied"]

Functions = Mapping[str, Callable[[Any], Any]]
Runs = Mapping[str, Mapping[str, np.ndarray]]
"""results by function, per way of running the artifact"""
_LEVELS = {
    "plain": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "optimized": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def is_same(got: np.ndarray, want: np.ndarray) -> bool:
    """True for equal types, shapes and elements; a NaN equals a NaN, 0 equals -0."""
    return got.dtype == want.dtype and np.array_equal(got, want, equal_nan=want.dtype.kind == "f")


def special_rows(count: int) -> dict[str, np.ndarray]:
    """Rows of so many numbers with NaN and infinities in various positions; the first three hold none."""
    nan, inf, last, middle = np.nan, np.inf, count - 1, count // 2
    places: dict[str, dict[int, float]] = {
        "numbers": {},
        "infinity-first-and-last": {0: inf, last: inf},
        "negative-infinities": {middle: -inf, last: -inf},
        "nan-first": {0: nan},
        "nan-last": {last: nan},
        "nan-middle": {middle: nan},
        "nan-three": {0: nan, middle: nan, last: nan},
        "nan-after-infinity": {0: inf, last: nan},
        "nan-before-infinity": {0: nan, last: inf},
        "nan-after-negative-infinity": {0: -inf, last: nan},
        "nan-beside-both": {0: -inf, 1: inf, last: nan},
    }
    drawn = np.random.default_rng(count)
    rows = {}
    for name, places_of in places.items():
        rows[name] = drawn.standard_normal(count).round(1) + 0.0  # no -0
        for place, value in places_of.items():
            rows[name][place] = value
    constant = {"all-nan": nan, "all-infinity": inf, "all-negative-infinity": -inf}
    rows |= {name: np.full(count, value) for name, value in constant.items()}
    rows["nan-among-infinities"] = np.where(np.arange(count) == middle, nan, inf)
    rows["nan-among-negative-infinities"] = np.where(np.arange(count) == middle, nan, -inf)
    return rows


def tied(count: int, dtype: str) -> np.ndarray:
    """Nine rows of five different values."""
    return np.random.default_rng(count).integers(-2, 3, (9, count)).astype(dtype)


def run_torch(functions: Functions, x: np.ndarray, to: str) -> Runs:
    """Convert one module with a result per function, from PyTorch."""

    class Many(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(function(x) for function in functions.values())

    made = trueport.convert(Many().eval(), to=to, example_inputs=(torch.from_numpy(x),), verify=False)
    return _run(made, list(functions), x)


def run_tensorflow(functions: Functions, x: np.ndarray) -> Runs:
    """Convert one function with a result per function, from TensorFlow to ONNX."""
    signature = [tf.TensorSpec(x.shape, x.dtype, "x")]
    many = tf.function(lambda x: {f"r{at}": f(x) for at, f in enumerate(functions.values())}, input_signature=signature)
    return _run(trueport.convert(many, to="onnx", verify=False), list(functions), x)


def run_onnx_in_tensorflow(model: Any, x: np.ndarray) -> Mapping[str, np.ndarray]:
    """Outputs by name of an ONNX model that was converted to TensorFlow."""
    with tempfile.TemporaryDirectory() as folder:
        trueport.convert(model, to="tensorflow", verify=False).save(Path(folder) / "saved")
        return _signature(Path(folder) / "saved", x)


def _run(made: Any, names: Sequence[str], x: np.ndarray) -> Runs:
    outputs = [port.name for port in made.report.outputs]
    with tempfile.TemporaryDirectory() as folder:
        if made.report.target == "onnx":
            made.save(Path(folder) / "model.onnx")
            found = {level: _session(Path(folder) / "model.onnx", kind, x) for level, kind in _LEVELS.items()}
        else:
            made.save(Path(folder) / "saved")
            found = {"tensorflow": _signature(Path(folder) / "saved", x)}
    if outputs[0].startswith("r"):
        outputs = [f"r{at}" for at in range(len(names))]
    return {
        way: {name: results[output] for name, output in zip(names, outputs, strict=True)}
        for way, results in found.items()
    }


def _session(path: Path, level: Any, x: np.ndarray) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: x}), strict=True))


def _signature(path: Path, x: np.ndarray) -> dict[str, np.ndarray]:
    signature = tf.saved_model.load(str(path)).signatures["serving_default"]
    (name,) = signature.structured_input_signature[1]
    return {key: np.asarray(value) for key, value in signature(**{name: tf.constant(x)}).items()}
