"""Convolutions that carry a state from one call to the next."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor, Translation
from trueport.backends.tensorflow.convolution import convolve
from trueport.backends.tensorflow.numeric import widened
from trueport.backends.tensorflow.spatial import Window, size_of
from trueport.fidelity import accumulation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("CausalConvWithState", audited=27, error=accumulation(4), reordered=("weight",))
def causal_conv_with_state(
    t: Translation,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    past_state: Tensor | None,
    *,
    activation: str,
) -> tuple[Tensor, Tensor]:
    kernel = t.weight(1, [2, 1, 0])
    size = size_of(kernel, 0)
    if past_state is None:
        sequence = tf.pad(input, [[0, 0], [0, 0], [size - 1, 0]])
    else:
        sequence = tf.concat([past_state, input], 2)
    window = Window((size,), (1,), (1,), ((0, 0),))

    def apply(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        channels = w.shape[-1] or input.shape[1]
        if channels is None:
            raise t.fail("the number of channels is not known", "run shape inference on the model")
        y = convolve(x, w, window, channels)
        y = y if b is None else tf.nn.bias_add(y, b)
        return y if activation == "none" else tf.nn.silu(y)

    y = widened(apply, tf.transpose(sequence, [0, 2, 1]), kernel, *(() if bias is None else (bias,)))
    return tf.transpose(y, [0, 2, 1]), sequence[:, :, tf.shape(sequence)[2] - size + 1 :]
