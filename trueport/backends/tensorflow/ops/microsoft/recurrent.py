"""ONNX Runtime's LSTM with 8-bit weights: inputs and states are quantized on the way."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.backends.tensorflow.kernels.integer_sums import integer_matmul
from trueport.backends.tensorflow.kernels.linear_quantization import dynamic_parameters, quantize
from trueport.backends.tensorflow.kernels.recurrence import activation_limit, activations_of, loop, same_batch
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.fidelity import APPROXIMATE
from trueport.mapping.declare import maps

__all__: list[str] = []

_WHY = "states are quantized at every step: another rounding in the last place of a float can become one step of 255"


_BENT = """(float[2,1,3] x, uint8[1,3,16] w, uint8[1,4,16] r, float[1] ws, uint8[1] wz, float[1] rs, uint8[1] rz)
    => (float[2,1,1,4] y) {
        y = com.microsoft.DynamicQuantizeLSTM<hidden_size=4, activations=["Bent","Bent","Bent"]>
            (x, w, r, "", "", "", "", "", ws, wz, rs, rz)
    }"""


@maps(
    "DynamicQuantizeLSTM",
    domain="com.microsoft",
    fidelity=APPROXIMATE,
    because=_WHY,
    limits=[activation_limit(3, _BENT)],
)
def dynamic_quantize_lstm(
    t: Emission,
    X: Tensor,
    W: Tensor,
    R: Tensor,
    B: Tensor | None,
    sequence_lens: Tensor | None,
    initial_h: Tensor | None,
    initial_c: Tensor | None,
    P: Tensor | None,
    W_scale: Tensor,
    W_zero_point: Tensor,
    R_scale: Tensor,
    R_zero_point: Tensor,
    *,
    hidden_size: int,
    activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None,
    activations: list[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    input_forget: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Like LSTM, with weights [directions, input, 4 · hidden] and [directions, hidden, 4 · hidden]."""
    X, initial_h, initial_c, sequence_lens = same_batch([(X, 1), (initial_h, 1), (initial_c, 1), (sequence_lens, 0)])
    directions = 2 if direction == "bidirectional" else 1
    functions = activations_of(activations, ["Sigmoid", "Tanh", "Tanh"], activation_alpha, activation_beta, directions)
    lengths = tf.fill([size_of(X, 1)], size_of(X, 0)) if sequence_lens is None else sequence_lens
    zeros = tf.zeros([size_of(X, 1), hidden_size])

    def run(number: int) -> tuple[Tensor, Tensor, Tensor]:
        f, g, h_of = functions[number]
        flat = _product(t, tf.reshape(X, [-1, size_of(X, 2)]), W, W_scale, W_zero_point, number, 1)
        gates = tf.reshape(flat, [size_of(X, 0), size_of(X, 1), 4 * hidden_size])
        gates = gates if B is None else gates + sum(tf.split(B[number], 2))
        peep_i, peep_o, peep_f = [0.0] * 3 if P is None else tf.split(P[number], 3)

        def step(
            time: Tensor, now: tuple[Tensor, ...], states: tuple[Tensor, ...]
        ) -> tuple[Tensor, tuple[Tensor, ...]]:
            h, c = states
            i, o, forget, new = tf.split(now[0] + _product(t, h, R, R_scale, R_zero_point, number, 2), 4, -1)
            i = f(_clipped(i + peep_i * c, clip))
            forget = 1 - i if input_forget else f(_clipped(forget + peep_f * c, clip))
            after = forget * c + i * g(_clipped(new, clip))
            out = f(_clipped(o + peep_o * after, clip)) * h_of(after)
            present = tf.expand_dims(time < lengths, 1)
            kept = tf.where(present, out, h), tf.where(present, after, c)
            return tf.where(present, out, 0.0), kept

        start = tuple(zeros if state is None else state[number] for state in (initial_h, initial_c))
        backward = direction == "reverse" or number == 1
        y, states = loop(step, (gates,), start, [size_of(X, 1), hidden_size], backward)
        return (y, *states)

    ys, hs, cs = zip(*(run(number) for number in range(directions)), strict=True)
    return tf.stack(ys, 1), tf.stack(hs), tf.stack(cs)


def _product(
    t: Emission, x: Tensor, weights: Tensor, scale: Tensor, zero_point: Tensor, number: int, index: int
) -> Tensor:
    x_scale, x_zero = dynamic_parameters(x)
    total = integer_matmul(t, quantize(x, x_scale, x_zero), weights[number], x_zero, zero_point[number], weight=index)
    return tf.cast(total, tf.float32) * (x_scale * opaque(scale)[number])


def _clipped(x: Tensor, clip: float | None) -> Tensor:
    return x if clip is None else tf.clip_by_value(x, -clip, clip)
