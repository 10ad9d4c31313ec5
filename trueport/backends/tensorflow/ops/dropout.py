"""Dropout: nothing outside of training, TensorFlow's random numbers inside."""

from __future__ import annotations

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.draws import uniform
from trueport.fidelity import LOSSY, Limit
from trueport.mapping.declare import maps
from trueport.mapping.examples import example

__all__: list[str] = []


def _trains(node: ir.Node) -> bool:
    flag = node.inputs[2] if len(node.inputs) > 2 else None
    if flag is None:
        return False
    return flag.const_value is None or bool(flag.const_value.numpy())


@maps(
    "Dropout",
    audited=22,
    limits=[
        Limit(
            "dropout-training",
            when=_trains,
            effect=LOSSY,
            because="which elements are dropped comes from TensorFlow's generator, not from the source's",
            remedy="set training_mode to false for inference",
            example=example(
                "(float[n] x) => (float[n] y) <float ratio = {0.5}, bool training = {1}>"
                "{ y = Dropout <seed = 1> (x, ratio, training) }"
            ),
        )
    ],
)
def dropout(
    t: Emission, data: Tensor, ratio: Tensor | None, training_mode: Tensor | None, *, seed: int | None
) -> tuple[Tensor, Tensor]:
    everything = tf.ones(tf.shape(data), tf.bool)
    training = None if training_mode is None else t.static(training_mode)
    if training_mode is None or (training is not None and not training):
        return tf.identity(data), everything
    share = tf.constant(0.5) if ratio is None else tf.cast(ratio, tf.float32)
    drawn = uniform(tf.shape(data), tf.float32, 0.0, 1.0, seed)
    mask = drawn >= share if training is not None else (drawn >= share) | ~training_mode
    wide = tf.float64 if data.dtype == tf.float64 else tf.float32
    scale = tf.cast(1 / (1 - share), wide)
    kept = scale if training is not None else tf.where(training_mode, scale, tf.ones([], wide))
    output = tf.where(mask, tf.cast(data, wide) * kept, tf.zeros([], wide))
    return tf.cast(output, data.dtype), mask
