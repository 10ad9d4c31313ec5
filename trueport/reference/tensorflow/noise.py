"""Errors of rounding in a function's operations, as :mod:`trueport.reference.onnx.noise` has them for ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.fidelity import BITWISE, Against, ulps
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.nodes import domain_of
from trueport.ir.rounding import LEAST_BLUR, place_sizes
from trueport.mapping.registry import Registry
from trueport.reference.tensorflow.evaluate import OperationNoise

__all__ = ["operation_noise"]

_ROUNDOFF = {
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float64": 2.0**-53,
    "complex64": 2.0**-24,
    "complex128": 2.0**-53,
}
_PLAIN = ulps(1)
Run = Callable[[Sequence[Any]], list[Any]]


def operation_noise(registry: Registry, seed: int) -> OperationNoise:
    """Errors as rounding makes them, by the bounds that the operators' mappings declare."""
    generator = np.random.default_rng(seed)

    def err(operation: Any, inputs: Sequence[Any], run: Run) -> list[Any]:
        units = [unit for tensor in operation.outputs if (unit := _ROUNDOFF.get(tensor.dtype.name)) is not None]
        mapping = registry.find(operation.type, domain_of(operation))
        if not units or (mapping is not None and mapping.fidelity == BITWISE):
            return run(inputs)
        unit = max(units)
        bound = mapping.error if mapping is not None and mapping.error else _PLAIN
        scale = 2 * unit * max(bound.ulps, _PLAIN.ulps)
        by_data = bound.against == Against.DATA
        blur = max(scale, 2 * unit * LEAST_BLUR) if by_data else unit
        # Constants are the same in every run: rounding does not blur them, nor what is chosen by them alone.
        fixed = [tensor.op.type == "Const" and not by_data for tensor in operation.inputs]
        results = run([v if kept else _off(v, blur, generator) for v, kept in zip(inputs, fixed, strict=True)])
        sizes = _sizes(bound.against, inputs, results, run)
        return [_add(value, size, scale, generator) for value, size in zip(results, sizes, strict=True)]

    return err


def _sizes(against: Against, inputs: Sequence[Any], results: Sequence[Any], run: Run) -> list[Any]:
    """What an error is relative to: the result, or what the usual formula adds up on the way to it."""
    if against == Against.TERMS:
        return run([_magnitude(value) for value in inputs])
    if against == Against.PLACES:
        return run([tf.constant(place_sizes(inputs[0].numpy())), *inputs[1:]])
    ways: Mapping[Against, Callable[[Any], Any]] = {
        Against.ONE: _of_one,
        Against.LARGEST: _of_largest,
        Against.INPUT: lambda value: _of_input(inputs[0], value),
    }
    way = ways.get(against)
    return [way(value) if way is not None and value.dtype == tf.float64 else value for value in results]


def _of_one(value: Any) -> Any:
    return tf.maximum(tf.abs(value), 1.0)


def _of_largest(value: Any) -> Any:
    return tf.reduce_max(tf.abs(value), axis=-1, keepdims=True) + tf.zeros_like(value)


def _of_input(given: Any, value: Any) -> Any:
    return tf.maximum(tf.abs(value), tf.abs(given)) if given.shape == value.shape else value


def _is_wide(value: Any) -> bool:
    return value.dtype in (tf.float64, tf.complex128)


def _off(value: Any, unit: float, generator: np.random.Generator) -> Any:
    if not _is_wide(value):
        return value
    return value * tf.cast(1 + unit * generator.uniform(-1, 1, size=value.shape), value.dtype)


def _magnitude(value: Any) -> Any:
    return tf.cast(tf.abs(value), value.dtype) if _is_wide(value) else value


def _add(value: Any, size: Any, scale: float, generator: np.random.Generator) -> Any:
    """Both parts of a complex number err by what the whole of it is large."""
    if not _is_wide(value):
        return value
    size = tf.abs(size)
    magnitude = scale * tf.where(tf.math.is_finite(size), size, tf.zeros_like(size))
    parts = [magnitude * generator.uniform(-1, 1, size=value.shape) for _ in range(2 if value.dtype.is_complex else 1)]
    return value + (tf.complex(*parts) if value.dtype.is_complex else parts[0])
