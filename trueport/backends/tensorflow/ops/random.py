"""Random values: with a seed the same at every call, without one new at every call.

No runtime's generator is another's: the distribution is kept, not the values.
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels.draws import categorical, normal, uniform
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("RandomNormal", audited=22)
def random_normal(
    t: Emission, *, dtype: int, mean: float, scale: float, seed: float | None, shape: list[int]
) -> Tensor:
    return normal(shape, _dtype(dtype), mean, scale, seed)


@maps("RandomNormalLike", audited=22)
def random_normal_like(
    t: Emission, input: Tensor, *, dtype: int | None, mean: float, scale: float, seed: float | None
) -> Tensor:
    return _like(input, normal(tf.shape(input), _dtype(dtype, input), mean, scale, seed))


@maps("RandomUniform", audited=22)
def random_uniform(t: Emission, *, dtype: int, high: float, low: float, seed: float | None, shape: list[int]) -> Tensor:
    return uniform(shape, _dtype(dtype), low, high, seed)


@maps("RandomUniformLike", audited=22)
def random_uniform_like(
    t: Emission, input: Tensor, *, dtype: int | None, high: float, low: float, seed: float | None
) -> Tensor:
    return _like(input, uniform(tf.shape(input), _dtype(dtype, input), low, high, seed))


@maps("Bernoulli", audited=22)
def bernoulli(t: Emission, input: Tensor, *, dtype: int | None, seed: float | None) -> Tensor:
    # In half precision the drawn values would be too coarse for small probabilities.
    probability = input if input.dtype == tf.float64 else tf.cast(input, tf.float32)
    drawn = uniform(tf.shape(input), probability.dtype, 0.0, 1.0, seed)
    return _like(input, tf.cast(drawn < probability, _dtype(dtype, input)))


@maps("Multinomial", audited=22)
def multinomial(t: Emission, input: Tensor, *, dtype: int, sample_size: int, seed: float | None) -> Tensor:
    logits = input if input.dtype == tf.float64 else tf.cast(input, tf.float32)
    return categorical(logits, sample_size, _dtype(dtype), seed)


def _dtype(number: int | None, like: Tensor | None = None) -> Any:
    return tf_dtype(ir.DataType(number)) if number is not None else getattr(like, "dtype", tf.float32)


def _like(input: Tensor, made: Tensor) -> Tensor:
    return tf.ensure_shape(made, input.shape)
