"""Control flow, recurrent layers, ragged tensors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from tests.coverage.case import Cannot, Case, NoGraph

__all__ = ["CASES"]


def ramp(*shape: int) -> np.ndarray:
    return (np.sin(np.arange(np.prod(shape, dtype=int))) * 2).reshape(shape).astype(np.float32)


SEQUENCES = [[ramp(2, 4, 3)], [ramp(5, 6, 3)]]
ROWS = [[ramp(2, 3)], [ramp(5, 3)]]


def recurrent(name: str, make: Callable[[], Any], label: str = "", samples: Any = SEQUENCES) -> Case:
    """A model of one layer over sequences of any length."""

    def model() -> keras.Model:
        keras.utils.set_random_seed(0)
        shape = samples[0][0].shape[1:]
        open_time = samples[0][0].shape[1] != samples[1][0].shape[1]
        return keras.Sequential([keras.Input((None, *shape[1:]) if open_time else shape), make()])

    return Case(f"keras.layers.{name}", model, samples, label=label)


def cell(name: str, make: Callable[[], Any], states: int = 1) -> Case:
    """One step, with its states as inputs."""

    def function() -> Callable[..., Any]:
        keras.utils.set_random_seed(0)
        made = make()
        made.build((None, 3))
        return lambda x, *before: made(x, list(before) if states > 1 else before[0])

    samples = [[ramp(n, 3), *(ramp(n, 4) for _ in range(states))] for n in (2, 5)]
    return Case(f"keras.layers.{name}", function, samples)


def volumes(*shape: int) -> list[list[np.ndarray]]:
    return [[ramp(n, *shape)] for n in (1, 2)]


LAYERS = [
    recurrent("LSTM", lambda: layers.LSTM(4)),
    recurrent("LSTM", lambda: layers.LSTM(4, return_sequences=True, go_backwards=True), "backwards"),
    recurrent("GRU", lambda: layers.GRU(4, return_sequences=True)),
    recurrent("GRU", lambda: layers.GRU(4, reset_after=False), "reset before"),
    recurrent("SimpleRNN", lambda: layers.SimpleRNN(4)),
    recurrent("RNN", lambda: layers.RNN(layers.GRUCell(4), return_sequences=True)),
    recurrent("RNN", lambda: layers.RNN([layers.LSTMCell(4), layers.LSTMCell(2)]), "of several cells"),
    recurrent("Bidirectional", lambda: layers.Bidirectional(layers.LSTM(4, return_sequences=True))),
    recurrent("Bidirectional", lambda: layers.Bidirectional(layers.GRU(4), merge_mode="mul"), "multiplied"),
    recurrent("TimeDistributed", lambda: layers.TimeDistributed(layers.Dense(4))),
    recurrent("TimeDistributed", lambda: layers.TimeDistributed(layers.Dense(4)), "fixed", volumes(4, 3)),
    recurrent("ConvLSTM1D", lambda: layers.ConvLSTM1D(2, 3), "", volumes(3, 5, 2)),
    recurrent("ConvLSTM2D", lambda: layers.ConvLSTM2D(2, 3, padding="same"), "", volumes(3, 4, 5, 2)),
    recurrent("ConvLSTM3D", lambda: layers.ConvLSTM3D(2, 2, return_sequences=True), "", volumes(2, 3, 3, 4, 2)),
    cell("LSTMCell", lambda: layers.LSTMCell(4), states=2),
    cell("GRUCell", lambda: layers.GRUCell(4)),
    cell("SimpleRNNCell", lambda: layers.SimpleRNNCell(4)),
    cell("StackedRNNCells", lambda: layers.StackedRNNCells([layers.GRUCell(4), layers.SimpleRNNCell(4)]), states=2),
    Case(
        "keras.layers.Masking",
        lambda: keras.Sequential([keras.Input((None, 3)), layers.Masking(), layers.LSTM(4)]),
        [[np.where(np.arange(x.shape[1])[:, None] % 3 == 1, 0, x).astype(np.float32)] for (x,) in SEQUENCES],
        {},
    ),
]


class Doubled(layers.Wrapper):
    """What it wraps, twice."""

    def call(self, x: Any) -> Any:
        return self.layer(self.layer(x))


class Scaled(layers.Layer):
    """A layer of one's own."""

    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")

    def call(self, x: Any) -> Any:
        return x * self.scale + 1.0


def saved_layer() -> keras.Model:
    module = tf.Module()
    module.call = tf.function(lambda x: tf.nn.relu(x) * 2.0, input_signature=[tf.TensorSpec([None, 3])])
    folder = tempfile.mkdtemp()
    tf.saved_model.save(module, folder, signatures=module.call)
    inner = layers.TFSMLayer(folder, call_endpoint="serving_default")
    inputs = keras.Input((3,))
    return keras.Model(inputs, inner(inputs))


WRAPPERS: list[Case | NoGraph] = [
    Case("keras.layers.Wrapper", lambda: keras.Sequential([keras.Input((3,)), Doubled(layers.ReLU())]), ROWS),
    Case("keras.layers.Layer", lambda: keras.Sequential([keras.Input((3,)), Scaled()]), ROWS),
    Case("keras.layers.TFSMLayer", saved_layer, ROWS),
    NoGraph("keras.layers.JaxLayer", "wraps a JAX function; it runs in JAX"),
    NoGraph("keras.layers.FlaxLayer", "wraps a Flax module; it runs in JAX"),
    NoGraph("keras.layers.TorchModuleWrapper", "wraps a PyTorch module; it runs in PyTorch alone"),
]


def op(name: str, function: Callable[..., Any], label: str = "", samples: Sequence[Any] = ROWS) -> Case:
    return Case(f"keras.ops.{name}", lambda: function, samples, label=label)


@ops.custom_gradient
def clipped(x: Any) -> Any:
    return ops.clip(x, -1.0, 1.0), lambda *_, upstream: upstream


INDEXED = [[x, np.int32(i)] for (x,), i in zip(ROWS, (0, 2), strict=True)]
STEPS = [[x[0], np.array(x[0].shape[:1] * x[0].shape[0], np.int32)] for x in SEQUENCES]

OPS = [
    op("cond", lambda x: ops.cond(ops.sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0)),
    op("switch", lambda x, i: ops.switch(i, [lambda y: y, lambda y: y * 2.0, lambda y: -y], x), samples=INDEXED),
    op("while_loop", lambda x: ops.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), (0, x))[1]),
    op(
        "while_loop",
        lambda x: ops.while_loop(lambda a: ops.sum(a * a) < 500.0, lambda a: (a * 2.0,), (x + 1.0,))[0],
        "by its data",
    ),
    op("fori_loop", lambda x: ops.fori_loop(0, 4, lambda i, a: a + ops.cast(i, "float32"), x)),
    op("map", lambda x: ops.map(lambda row: row * ops.sum(row), x)),
    op("scan", lambda x: ops.scan(lambda carry, row: (carry + row, carry * row), x[0], x)),
    op("scan", lambda x: ops.scan(lambda c, row: (c + row, c), x[0], x, reverse=True), "backwards"),
    op("associative_scan", lambda x: ops.associative_scan(lambda a, b: a + b, x, axis=1)),
    op("vectorized_map", lambda x: ops.vectorized_map(lambda row: row * ops.sum(row), x)),
    op("custom_gradient", lambda x: clipped(x)),
    op("stop_gradient", lambda x: ops.stop_gradient(x) * 2.0),
]

TIMES = [[ramp(6, 2, 4), np.array([6, 3], np.int32)], [ramp(5, 3, 4), np.array([2, 5, 4], np.int32)]]
BATCHES = [[np.swapaxes(x, 0, 1), n] for x, n in TIMES]
BEAMS = "a beam search keeps a changing set of prefixes; ONNX has no such operator"


def greedy(x: Any, lengths: Any) -> Any:
    (decoded,), score = tf.nn.ctc_greedy_decoder(x, lengths)
    return decoded.indices, decoded.values, decoded.dense_shape, score


def kept(x: Any, lengths: Any) -> Any:
    (decoded,), score = tf.nn.ctc_greedy_decoder(x, lengths, merge_repeated=False, blank_index=0)
    return decoded.indices, decoded.values, decoded.dense_shape, score


DECODERS: list[Case | Cannot | NoGraph] = [
    Case("tf.nn.ctc_greedy_decoder", lambda: greedy, TIMES),
    Case("tf.nn.ctc_greedy_decoder", lambda: kept, TIMES, label="repeated"),
    Case("keras.ops.ctc_decode", lambda: lambda x, n: ops.ctc_decode(x, n)[0], BATCHES),
    Cannot(
        "tf.nn.ctc_beam_search_decoder",
        lambda: lambda x, n: tf.nn.ctc_beam_search_decoder(x, n)[0][0].values,
        TIMES,
        BEAMS,
        "CTCBeamSearchDecoder",
    ),
    NoGraph("tf.nn.ctc_loss", "a loss, computed in training only"),
    NoGraph("keras.ops.ctc_loss", "a loss, computed in training only"),
    NoGraph("keras.ops.vectorize", "Keras refuses it in its TensorFlow backend for all but scalars"),
    NoGraph("keras.ops.jvp", "differentiates; a traced derivative is made of the operators of others"),
    NoGraph("tf.nn.RNNCellDeviceWrapper", "places a cell of TensorFlow 1 on a device; its base class is gone"),
    NoGraph("tf.nn.RNNCellDropoutWrapper", "wraps a cell of TensorFlow 1, whose base class is gone"),
    NoGraph("tf.nn.RNNCellResidualWrapper", "wraps a cell of TensorFlow 1, whose base class is gone"),
]

RAGGED = [
    [np.arange(5, dtype=np.float32), np.array([0, 2, 2, 5], np.int64)],
    [np.arange(8, dtype=np.float32), np.array([0, 0, 3, 4, 8], np.int64)],
]


def rows(values: Any, splits: Any) -> Any:
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def crossed(values: Any, splits: Any) -> Any:
    text = rows(tf.strings.as_string(tf.cast(values, tf.int32)), splits)
    return tf.ragged.cross([text, text])


def crossed_hashed(values: Any, splits: Any) -> Any:
    whole = rows(tf.cast(values, tf.int64), splits)
    return tf.ragged.cross_hashed([whole, whole], num_buckets=10)


def ragged(name: str, function: Callable[..., Any]) -> Case:
    return Case(f"tf.ragged.{name}", lambda: function, RAGGED)


RAGGEDS: list[Case | Cannot] = [
    ragged("boolean_mask", lambda v, s: tf.ragged.boolean_mask(rows(v, s), rows(v, s) > 2.0)),
    ragged("constant", lambda v, s: tf.ragged.constant([[1.0, 2.0], [3.0]]).to_tensor() + v[0]),
    ragged("map_flat_values", lambda v, s: tf.ragged.map_flat_values(tf.math.square, rows(v, s))),
    ragged("range", lambda v, s: tf.ragged.range(s, s + 2, 1)),
    ragged("row_splits_to_segment_ids", lambda v, s: tf.ragged.row_splits_to_segment_ids(s)),
    ragged("segment_ids_to_row_splits", lambda v, s: tf.ragged.segment_ids_to_row_splits(tf.cast(v, tf.int64) // 2)),
    ragged("stack", lambda v, s: tf.ragged.stack([rows(v, s), rows(-v, s)], axis=1)),
    ragged("stack_dynamic_partitions", lambda v, s: tf.ragged.stack_dynamic_partitions(v, tf.cast(v, tf.int32) % 3, 4)),
    Cannot(
        "tf.ragged.cross", lambda: crossed, RAGGED, "it joins strings of all combinations row by row", "RaggedCross"
    ),
    Cannot(
        "tf.ragged.cross_hashed", lambda: crossed_hashed, RAGGED, "ONNX has no fingerprint of strings", "RaggedCross"
    ),
]

CASES: list[Case | Cannot | NoGraph] = [*LAYERS, *WRAPPERS, *OPS, *DECODERS, *RAGGEDS]
