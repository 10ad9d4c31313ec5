"""Into branches and loops and out again, for types that TensorFlow's control flow has no kernels for.

Switch and TensorList take no 8-bit floats and no 4-bit integers: those pass in the next wider type, which is exact.
"""

from __future__ import annotations

from typing import Any

from trueport.backends.tensorflow._tf import tf

__all__ = ["captured", "narrowed", "wide_dtype", "widened"]

_WIDER = {"float8_e4m3fn": "float16", "float8_e5m2": "float16", "int4": "int8", "uint4": "uint8"}


def wide_dtype(dtype: Any) -> Any:
    """The type in which tensors of ``dtype`` pass: itself for nearly all."""
    return tf.as_dtype(_WIDER.get(dtype.name, dtype))


def widened(value: Any) -> Any:
    """A tensor as it can pass; anything else as it is."""
    return tf.cast(value, wide_dtype(value.dtype)) if _is_narrow(value) else value


def narrowed(value: Any, dtype: Any) -> Any:
    """The inverse of :func:`widened`."""
    return tf.cast(value, dtype) if dtype.name in _WIDER else value


def captured(value: Any) -> Any:
    """A value of a function around the current one, for use inside."""
    if not _is_narrow(value) or value.graph is tf.compat.v1.get_default_graph():
        return value
    with value.graph.as_default():
        wide = widened(value)
    return narrowed(wide, value.dtype)


def _is_narrow(value: Any) -> bool:
    return tf.is_tensor(value) and value.dtype.name in _WIDER
