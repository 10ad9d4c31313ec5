"""The gradient of a case of ONNX's suite along a random direction, by TensorFlow and by finite differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import tensorflow as tf
from onnx import TensorProto

from tests.backends.xla import fix_parameters
from tests.conformance import suite
from trueport.errors import TrueportError
from trueport.pipeline import Conversion, convert

__all__ = ["Slope", "slopes"]

_STASHING = ("LayerNormalization", "RMSNormalization", "GroupNormalization")
"""Operators that compute in float32 unless they are told otherwise."""
_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)


@dataclass(frozen=True)
class Slope:
    """How the weighted sum of all float outputs changes along a direction of one input."""

    input: str
    gradient: float | None
    """None: no gradient leads to this input"""
    difference: float
    scale: float
    """what the difference's own error is relative to"""
    wide: bool
    """computed in float64"""

    @property
    def agrees(self) -> bool:
        tolerance = 1e-5 if self.wide else 2e-2
        return self.gradient is not None and abs(self.gradient - self.difference) <= tolerance * self.scale


def slopes(name: str) -> list[Slope]:
    """One for each float input of the case."""
    case = suite.cases()[name]
    model = onnx.ModelProto.FromString(suite.model_of(case).SerializeToString())
    inputs, _ = next(iter(suite.data_of(case, model)))
    held = {tensor.name for tensor in model.graph.initializer}
    feeds = dict(zip((v.name for v in model.graph.input if v.name not in held), inputs, strict=True))
    fix_parameters(model, feeds)
    conversion, wide = _widest(model)
    given = {value.name: feeds[value.name] for value in model.graph.input}
    return _measure(conversion.built.traced.function, given, wide)


def _widest(model: onnx.ModelProto) -> tuple[Conversion, bool]:
    """The model in double, or in float where an operator has no double."""
    try:
        return convert(_widened(model, TensorProto.DOUBLE), verify=False), True
    except TrueportError:
        return convert(_widened(model, TensorProto.FLOAT), verify=False), False


def _measure(function: Any, feeds: dict[str, Any], wide: bool) -> list[Slope]:
    rng = np.random.default_rng(0)
    dtypes = [spec.dtype for spec in function.structured_input_signature[0]]
    arrays = [_moved(np.asarray(a), d, rng) for a, d in zip(feeds.values(), dtypes, strict=True)]
    total = _Total(function)
    tensors = [tf.constant(array) for array in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = total(tensors)
    gradients = tape.gradient(value, tensors)
    step = 1e-6 if wide else 1e-3
    found = []
    for at, (name, array) in enumerate(zip(feeds, arrays, strict=True)):
        if not dtypes[at].is_floating or not array.size:
            continue
        direction = rng.uniform(0.5, 1.5, array.shape) * rng.choice([-1, 1], array.shape)
        by = step * max(1.0, float(np.abs(array).max()))
        ends = [total([*tensors[:at], _along(array, direction, s), *tensors[at + 1 :]]) for s in (by, -by)]
        difference = (float(ends[0]) - float(ends[1])) / (2 * by)
        scale = max(abs(difference), abs(float(value)) * 1e-3, 1e-3)
        found.append(Slope(name, _dot(gradients[at], direction), difference, scale, wide))
    return found


class _Total:
    """The sum of all float outputs, each element with a weight of its own."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, tensors: list[Any]) -> Any:
        rng = np.random.default_rng(1)
        made = [value for value in self._function(*tensors).values() if value.dtype.is_floating]
        return tf.add_n([tf.reduce_sum(tf.cast(v, tf.float64) * rng.uniform(0.5, 1.5, v.shape)) for v in made])


def _moved(array: np.ndarray, dtype: Any, rng: np.random.Generator) -> np.ndarray:
    """A float input moved a little, off the kinks and ties that round numbers sit on."""
    if not dtype.is_floating:
        return array
    moved = array.astype(np.float64) * rng.uniform(0.9, 0.98, array.shape) + rng.uniform(0.003, 0.013, array.shape)
    return np.asarray(moved, dtype.as_numpy_dtype)


def _along(array: np.ndarray, direction: np.ndarray, by: float) -> Any:
    return tf.constant((array.astype(np.float64) + by * direction).astype(array.dtype))


def _dot(gradient: Any, direction: np.ndarray) -> float | None:
    if gradient is None:
        return None
    return float(np.sum(tf.convert_to_tensor(gradient).numpy().astype(np.float64) * direction))


def _widened(model: onnx.ModelProto, dtype: int) -> onnx.ModelProto:
    """The model with another type in the place of its floats."""
    wide = onnx.ModelProto.FromString(model.SerializeToString())
    _widen_graph(wide.graph, dtype)
    return wide


def _widen_graph(graph: onnx.GraphProto, dtype: int) -> None:
    del graph.value_info[:]
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type in _FLOATS:
            value.type.tensor_type.elem_type = dtype
    for tensor in graph.initializer:
        _widen_tensor(tensor, dtype)
    for node in graph.node:
        if node.op_type in _STASHING and not any(a.name == "stash_type" for a in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("stash_type", dtype))
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _widen_graph(attribute.g, dtype)
            elif attribute.type == onnx.AttributeProto.TENSOR:
                _widen_tensor(attribute.t, dtype)
            elif attribute.name in ("to", "dtype", "stash_type") and attribute.i in _FLOATS:
                attribute.i = dtype


def _widen_tensor(tensor: onnx.TensorProto, dtype: int) -> None:
    if tensor.data_type in _FLOATS:
        array = onnx.numpy_helper.to_array(tensor).astype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
