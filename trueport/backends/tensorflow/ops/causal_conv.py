"""Convolutions that carry a state from one call to the next."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.numeric import widened
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("CausalConvWithState", audited=27, reordered=("weight",))
def causal_conv_with_state(
    t: Emission,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    past_state: Tensor | None,
    *,
    activation: str,
) -> tuple[Tensor, Tensor]:
    kernel = t.weight(1, [2, 0, 1])
    past = size_of(kernel, 0) - 1
    sequence = tf.pad(input, [[0, 0], [0, 0], [past, 0]]) if past_state is None else tf.concat([past_state, input], 2)

    def apply(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        y = tf.nn.depthwise_conv2d(x[:, tf.newaxis], w[tf.newaxis], [1, 1, 1, 1], "VALID")
        y = tf.squeeze(y if b is None else tf.nn.bias_add(y, b), 1)
        return y if activation == "none" else y * tf.sigmoid(y)

    y = widened(apply, tf.transpose(sequence, [0, 2, 1]), kernel, *(() if bias is None else (bias,)))
    return tf.transpose(y, [0, 2, 1]), sequence[:, :, tf.shape(sequence)[2] - past :]
