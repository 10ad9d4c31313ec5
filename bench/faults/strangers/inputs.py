"""Inputs on which a fault is shown to change something: several scales, signs and sizes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper

from bench.faults.strangers.nets.sketch import Net

__all__ = ["draw_default", "draw_inputs", "perturb"]

_SCALES = (1.0, 1.0, 0.1, 5.0, 1.0, 30.0, 1.0, 200.0)
"""Of floats, one for each draw; the first is the default."""


def draw_inputs(net: Net, model: onnx.ModelProto) -> Iterator[dict[str, np.ndarray]]:
    """Yield inputs by name, always the same for a model."""
    seed = int.from_bytes(hashlib.sha256(net.name.encode()).digest()[:4])
    for number, scale in enumerate(_SCALES):
        rng = np.random.default_rng([seed, number])
        sizes: dict[str, int] = {}
        yield {value.name: _draw(net, value, number, scale, sizes, rng) for value in _fed(model)}


def draw_default(net: Net, model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Return the first of `draw_inputs`."""
    return next(draw_inputs(net, model))


def _fed(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    stored = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in stored]


def _draw(
    net: Net, value: onnx.ValueInfoProto, number: int, scale: float, sizes: dict[str, int], rng: np.random.Generator
) -> np.ndarray:
    kind = value.type.tensor_type
    shape = tuple(_size(dim, net, number, sizes) for dim in kind.shape.dim)
    if kind.elem_type == TensorProto.STRING:
        return rng.choice(np.asarray(net.texts[value.name], object), shape)
    if kind.elem_type == TensorProto.BOOL:
        return np.asarray(rng.random(shape) < (0.7, 0.3)[number % 2])
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    if dtype.kind == "f":
        return _draw_floats(shape, number, scale, rng).astype(dtype)
    low, high = net.bounds.get(value.name, (-100.0, 100.0))
    if number % 2 and high > 1000:  # small integers as well
        low, high = max(low, -20.0), 20.0
    return np.asarray(rng.integers(int(low), int(high), shape, endpoint=True)).astype(dtype)


def _draw_floats(shape: tuple[int, ...], number: int, scale: float, rng: np.random.Generator) -> np.ndarray:
    array = np.asarray(rng.normal(size=shape) * scale)
    if number == 4:
        return np.abs(array)
    if number == 6:  # halves and integers: ties of rounding and comparison
        return np.round(array * 4) / 4
    return array


def _size(dim: onnx.TensorShapeProto.Dimension, net: Net, number: int, sizes: dict[str, int]) -> int:
    if dim.HasField("dim_value"):
        return dim.dim_value
    return sizes.setdefault(dim.dim_param, net.sizes[(number + len(sizes)) % len(net.sizes)])


def perturb(feeds: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return inputs that differ by float32 rounding (float16: by its own): each float by up to one unit."""
    moved = {}
    for name, array in feeds.items():
        unit = (
            {2: 2.0**-11, 4: 2.0**-24, 8: 2.0**-24}.get(array.dtype.itemsize, 0.0) if array.dtype.kind == "f" else 0.0
        )
        noise = 1 + unit * rng.uniform(-1, 1, array.shape) if unit else None
        moved[name] = array if noise is None else np.asarray(array * noise, array.dtype)
    return moved
