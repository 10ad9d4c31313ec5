"""What ONNX Runtime's graph optimizer makes of several nodes: products with an activation, kinds of Gelu."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.refusals import attribute, refused
from trueport.backends.tensorflow.ops.conv import conv
from trueport.backends.tensorflow.ops.linear import gemm
from trueport.fidelity import Limit
from trueport.mapping.declare import maps
from trueport.mapping.examples import example

__all__: list[str] = []

_MS = "com.microsoft"
_ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "": lambda x: x,
    "Relu": lambda x, *_: tf.nn.relu(x),
    "Tanh": lambda x, *_: tf.tanh(x),
    "Sigmoid": lambda x, *_: tf.sigmoid(x),
    "Softplus": lambda x, *_: tf.math.softplus(x),
    "Softsign": lambda x, *_: tf.nn.softsign(x),
    "LeakyRelu": lambda x, alpha=0.01, *_: tf.where(x >= 0, x, x * alpha),
    "ThresholdedRelu": lambda x, alpha=1.0, *_: tf.where(x > alpha, x, tf.zeros_like(x)),
    "Elu": lambda x, alpha=1.0, *_: tf.where(x > 0, x, alpha * tf.math.expm1(tf.minimum(x, 0.0))),
    "Clip": lambda x, least=-math.inf, greatest=math.inf, *_: tf.clip_by_value(x, least, greatest),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5, *_: tf.clip_by_value(x * alpha + beta, 0.0, 1.0),
    "HardSwish": lambda x, *_: x * tf.clip_by_value(x / 6.0 + 0.5, 0.0, 1.0),
}
"""By name; the parameters are the node's, in the order in which the runtime lists them."""


def _known_activation(shown: str) -> Limit:
    return refused(
        "fused-activation",
        lambda node: attribute(node, "activation", "") not in _ACTIVATIONS,
        f"is fused with an activation that is not one of {', '.join(filter(None, _ACTIVATIONS))}",
        "optimize the model at a lower level (ORT_ENABLE_BASIC)",
        example=example(shown),
    )


@maps(
    "FusedConv",
    domain=_MS,
    channels_last=True,
    limits=[
        _known_activation(
            "(float[1, 1, 4, 4] x, float[1, 1, 2, 2] w) => (float[1, 1, 3, 3] y)"
            '{ y = com.microsoft.FusedConv <activation = "Erf"> (x, w) }'
        )
    ],
)
def fused_conv(
    t: Emission,
    X: Tensor,
    W: Tensor,
    B: Tensor | None,
    Z: Tensor | None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    y = conv(
        t,
        X,
        W,
        B,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    if Z is not None:
        # Only X comes channel-last.
        y += tf.transpose(Z, [0, *range(2, y.shape.rank), 1]) if t.channels_last else Z
    return _activated(activation, y, activation_params)


@maps(
    "FusedGemm",
    domain=_MS,
    limits=[
        _known_activation(
            "(float[n, 4] x, float[4, 2] w) => (float[n, 2] y)"
            '{ y = com.microsoft.FusedGemm <activation = "Erf"> (x, w) }'
        )
    ],
)
def fused_gemm(
    t: Emission,
    A: Tensor,
    B: Tensor,
    C: Tensor | None,
    *,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    y = gemm(t, A, B, C, alpha=alpha, beta=beta, transA=transA, transB=transB)
    given = (activation_alpha, activation_beta, activation_gamma)
    return _activated(activation, y, [value for value in given if value is not None])


@maps("TransposeMatMul", domain=_MS)
@maps("FusedMatMul", domain=_MS)
def fused_mat_mul(
    t: Emission,
    A: Tensor,
    B: Tensor,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Tensor:
    """A batch that is transposed stands after the rows: ``[M, batch…, K]``. A vector is never transposed."""
    a, b = (_batch_first(x) if turned else x for x, turned in ((A, transBatchA), (B, transBatchB)))
    left = a[tf.newaxis] if a.shape.rank == 1 else a
    right = b[:, tf.newaxis] if b.shape.rank == 1 else b
    y = tf.matmul(
        left, right, transpose_a=bool(transA) and a.shape.rank != 1, transpose_b=bool(transB) and b.shape.rank != 1
    )
    vectors = [axis for axis, x in ((-2, a), (-1, b)) if x.shape.rank == 1]
    y = tf.squeeze(y, vectors) if vectors else y
    return y if alpha == 1 else y * tf.constant(alpha, y.dtype)


@maps("Gelu", domain=_MS)
def gelu(t: Emission, X: Tensor) -> Tensor:
    return _gelu(X)


@maps("BiasGelu", domain=_MS)
def bias_gelu(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return _gelu(A + B)


@maps("FastGelu", domain=_MS)
def fast_gelu(t: Emission, X: Tensor, bias: Tensor | None) -> Tensor:
    return tf.nn.gelu(X if bias is None else X + bias, approximate=True)


@maps("QuickGelu", domain=_MS)
def quick_gelu(t: Emission, X: Tensor, *, alpha: float = 1.702) -> Tensor:
    return X * tf.sigmoid(X * tf.constant(alpha, X.dtype))


def _gelu(x: Tensor) -> Tensor:
    return 0.5 * x * tf.math.erfc(x * -math.sqrt(0.5))


def _batch_first(x: Tensor) -> Tensor:
    rank = x.shape.rank
    return tf.transpose(x, [*range(1, rank - 1), 0, rank - 1])


def _activated(name: str, x: Tensor, parameters: Sequence[float]) -> Tensor:
    return _ACTIVATIONS[name](x, *parameters)
