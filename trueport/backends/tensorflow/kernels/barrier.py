"""Barriers for TensorFlow's graph optimizer, where what it makes of a graph is rounded elsewhere or does not run.

Grappler turns ``x / c`` into ``x * (1 / c)`` and ``x * c * d`` into ``x * (c * d)`` when ``c`` and ``d`` are
constants: faster, but rounded elsewhere. Where the last bit counts, a constant goes through :func:`opaque`.

Grappler also fuses chains of operators for which some CPUs' kernels do not exist: they fail at the first run, on
those CPUs only. :func:`before_batch_norm` and :func:`before_tanh` keep such chains apart.
"""

from __future__ import annotations

from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor

__all__ = ["before_batch_norm", "before_tanh", "opaque"]

_TRANSPARENT = frozenset({"Identity", "IdentityN"})
"""Operators that Grappler removes before it looks for chains to fuse."""


def opaque(value: Tensor) -> Tensor:
    """Return the same value, not known to be constant; a tensor that is not constant is returned as it is."""
    tensor = tf.convert_to_tensor(value)
    return tensor if tf.get_static_value(tensor) is None else _apart(tensor)


def before_batch_norm(x: Tensor) -> Tensor:
    """Return ``x`` such that no batch norm is fused into a grouped convolution: Eigen's fused kernel rejects groups."""
    op = _producer(x)
    is_grouped = op.type == "Conv2D" and op.inputs[0].shape[-1] != op.inputs[1].shape[-2]
    return _apart(x) if is_grouped else x


def before_tanh(x: Tensor) -> Tensor:
    """Return ``x`` such that Tanh is not fused into a convolution with batch norm: oneDNN's kernel lacks this chain."""
    op = _producer(x)
    is_chain = op.type == "FusedBatchNormV3" and _producer(op.inputs[0]).type == "Conv2D"
    return _apart(x) if is_chain else x


def _producer(x: Tensor) -> Any:
    """Return the operation that computes ``x``, past those that Grappler removes."""
    while x.op.type in _TRANSPARENT:
        x = x.op.inputs[x.value_index]
    return x.op


def _apart(x: Tensor) -> Tensor:
    return tf.raw_ops.PlaceholderWithDefault(input=x, shape=x.shape)
