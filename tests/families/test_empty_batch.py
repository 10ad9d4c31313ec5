"""A batch of 0 runs in ONNX Runtime, with its optimizations, as it does in TensorFlow.

Each file runs in a process of its own: some of ONNX Runtime's kernels end the process. Keras models are compared
with the shapes of a batch of 2, because TensorFlow with oneDNN gives convolutions of nothing a wrong shape.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import tensorflow as tf

from tests.cells import grid
from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.fidelity import Verdict
from trueport.pipeline import convert_file
from trueport.verifying.judge.budget import allowed_ulps
from trueport.verifying.judge.summed_bounds import compare_outputs

L: Any = keras.layers
_RNG = np.random.default_rng(9)
_Layer = tuple[Sequence[tuple[int, ...]], Callable[..., Any]]

_LAYERS: dict[str, Callable[[], _Layer]] = {
    "Dense": lambda: ([(8,)], L.Dense(5)),
    "Dense of relu": lambda: ([(8,)], L.Dense(5, activation="relu")),
    "Dense of softmax": lambda: ([(8,)], L.Dense(5, activation="softmax")),
    "Dense on rank 3": lambda: ([(4, 8)], L.Dense(5, activation="gelu")),
    "Dense on rank 4": lambda: ([(2, 4, 8)], L.Dense(5, use_bias=False)),
    "Dense after Flatten": lambda: ([(4, 8)], lambda x: L.Dense(3)(L.Dense(5, activation="relu")(L.Flatten()(x)))),
    "Dense after Permute": lambda: ([(4, 8)], lambda x: L.Permute((2, 1))(L.Dense(5)(L.Permute((2, 1))(x)))),
    "Conv1D": lambda: ([(8, 3)], L.Conv1D(4, 3)),
    "Conv2D": lambda: ([(8, 8, 3)], L.Conv2D(4, 3, padding="same", activation="relu")),
    "Conv3D": lambda: ([(4, 4, 4, 2)], L.Conv3D(4, 3)),
    "DepthwiseConv2D": lambda: ([(8, 8, 3)], L.DepthwiseConv2D(3)),
    "SeparableConv2D": lambda: ([(8, 8, 3)], L.SeparableConv2D(4, 3)),
    "Conv2DTranspose": lambda: ([(8, 8, 3)], L.Conv2DTranspose(4, 3, strides=2)),
    "convolution, norm, relu": lambda: (
        [(8, 8, 3)],
        lambda x: L.ReLU()(L.BatchNormalization()(L.Conv2D(4, 3)(x))),
    ),
    "MaxPooling2D": lambda: ([(8, 8, 3)], L.MaxPooling2D(2)),
    "AveragePooling2D": lambda: ([(8, 8, 3)], L.AveragePooling2D(2, padding="same")),
    "GlobalAveragePooling2D": lambda: ([(8, 8, 3)], L.GlobalAveragePooling2D()),
    "GlobalMaxPooling2D": lambda: ([(8, 8, 3)], L.GlobalMaxPooling2D()),
    "GlobalAveragePooling1D": lambda: ([(8, 3)], L.GlobalAveragePooling1D()),
    "LSTM": lambda: ([(5, 3)], L.LSTM(4)),
    "LSTM, sequences": lambda: ([(5, 3)], L.LSTM(4, return_sequences=True)),
    "LSTM, state": lambda: ([(5, 3)], L.LSTM(4, return_state=True)),
    "LSTM, backwards": lambda: ([(5, 3)], L.LSTM(4, go_backwards=True)),
    "LSTM, given state": lambda: ([(5, 3), (4,), (4,)], lambda x, h, c: L.LSTM(4)(x, initial_state=[h, c])),
    "GRU": lambda: ([(5, 3)], L.GRU(4)),
    "GRU, reset before": lambda: ([(5, 3)], L.GRU(4, reset_after=False, return_sequences=True)),
    "SimpleRNN": lambda: ([(5, 3)], L.SimpleRNN(4)),
    "Bidirectional": lambda: ([(5, 3)], L.Bidirectional(L.LSTM(4, return_sequences=True))),
    "Attention": lambda: ([(5, 8), (6, 8)], lambda q, v: L.Attention()([q, v])),
    "AdditiveAttention": lambda: ([(5, 8), (6, 8)], lambda q, v: L.AdditiveAttention()([q, v])),
    "MultiHeadAttention": lambda: ([(5, 8)], lambda x: L.MultiHeadAttention(2, 4)(x, x)),
    "GroupQueryAttention": lambda: ([(5, 8)], lambda x: L.GroupQueryAttention(4, 4, 2)(x, x)),
    "LayerNormalization": lambda: ([(5, 8)], L.LayerNormalization()),
    "BatchNormalization": lambda: ([(5, 8)], L.BatchNormalization()),
    "GroupNormalization": lambda: ([(4, 4, 8)], L.GroupNormalization(4)),
    "UnitNormalization": lambda: ([(8,)], L.UnitNormalization()),
    "Softmax": lambda: ([(4, 8)], L.Softmax(axis=1)),
    "Concatenate": lambda: ([(8,), (4,)], lambda a, b: L.Concatenate()([a, b])),
    "Reshape": lambda: ([(4, 6)], L.Reshape((-1, 2))),
    "Permute": lambda: ([(4, 6)], L.Permute((2, 1))),
    "RepeatVector": lambda: ([(4,)], L.RepeatVector(3)),
    "UpSampling2D": lambda: ([(4, 4, 3)], L.UpSampling2D(2, interpolation="bilinear")),
    "ZeroPadding2D": lambda: ([(4, 4, 3)], L.ZeroPadding2D(1)),
    "Dot": lambda: ([(4, 8), (5, 8)], lambda a, b: L.Dot(axes=2)([a, b])),
    "TimeDistributed": lambda: ([(4, 8)], L.TimeDistributed(L.Dense(3))),
    "TimeDistributed convolution": lambda: ([(4, 8, 8, 3)], L.TimeDistributed(L.Conv2D(2, 3))),
    "EinsumDense": lambda: ([(4, 8)], L.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d")),
    "Embedding": lambda: ([(6,)], L.Embedding(10, 4)),
}

_FUNCTIONS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "reshape to [-1, 24]": ((4, 6), lambda x: tf.reshape(x, [-1, 24])),
    "reshape to [-1]": ((4, 6), lambda x: tf.reshape(x, [-1])),
    "reshape to [batch, -1]": ((4, 6), lambda x: tf.reshape(x, [tf.shape(x)[0], -1])),
    "reshape to [batch, 3, -1]": ((4, 6), lambda x: tf.reshape(x, [tf.shape(x)[0], 3, -1])),
    "reshape to [4 batch, -1]": ((4, 6), lambda x: tf.reshape(x, [tf.shape(x)[0] * 4, -1])),
    "reshape to [24, batch]": ((4, 6), lambda x: tf.reshape(x, [24, tf.shape(x)[0]])),
    "heads": ((4, 6), lambda x: tf.transpose(tf.reshape(x, [tf.shape(x)[0], -1, 2, 3]), [0, 2, 1, 3])),
    "rows and back": ((4, 6), lambda x: tf.reshape(tf.reshape(x, [-1, 6]) @ tf.ones([6, 5]), [-1, 4, 5])),
    "sum": ((4, 6), lambda x: tf.reduce_sum(x, -1)),
    "sum of all": ((4, 6), tf.reduce_sum),
    "sum along the batch": ((4, 6), lambda x: tf.reduce_sum(x, 0)),
    "mean": ((4, 6), lambda x: tf.reduce_mean(x, [-2, -1], keepdims=True)),
    "mean along the batch": ((4, 6), lambda x: tf.reduce_mean(x, 0)),
    "max": ((4, 6), lambda x: tf.reduce_max(x, -1)),
    "max along the batch": ((4, 6), lambda x: tf.reduce_max(x, 0)),
    "min of all": ((4, 6), tf.reduce_min),
    "product": ((4, 6), lambda x: tf.reduce_prod(x, -1)),
    "product along the batch": ((4, 6), lambda x: tf.reduce_prod(x, 0)),
    "log of sums": ((4, 6), lambda x: tf.reduce_logsumexp(x, -1)),
    "any": ((4, 6), lambda x: tf.reduce_any(x > 0, -1)),
    "all along the batch": ((4, 6), lambda x: tf.reduce_all(x > 0, 0)),
    "deviation": ((4, 6), lambda x: tf.math.reduce_std(x, -1)),
    "norm": ((4, 6), lambda x: tf.norm(x, axis=-1)),
    "moments": ((4, 6), lambda x: tf.nn.moments(x, [-1])),
    "product with a matrix": ((4, 6), lambda x: x @ tf.ones([6, 5]) + tf.ones([5])),
    "product with a vector": ((4, 6), lambda x: tf.linalg.matvec(x, tf.ones([6]))),
    "product with itself": ((4, 6), lambda x: tf.nn.softmax(tf.matmul(x, x, transpose_b=True) / 3.0) @ x),
    "product with a matrix on the left": ((4, 6), lambda x: tf.ones([5, 4]) @ x),
    "product of the transposed": ((4, 6), lambda x: tf.transpose(x, [0, 2, 1]) @ tf.ones([4, 5])),
    "product with heads": ((4, 6), lambda x: x[:, None] @ tf.ones([3, 6, 5])),
    "product with heads on the left": ((4, 6), lambda x: tf.ones([3, 5, 4]) @ x[:, None]),
    "einsum": ((4, 6), lambda x: tf.einsum("bij,bkj->bik", x, x)),
    "gather": ((4, 6), lambda x: tf.gather(x, [1, 2], axis=1)),
    "gather nothing": ((4, 6), lambda x: tf.gather(x, tf.zeros([0], tf.int32))),
    "gather by batch": ((4, 6), lambda x: tf.gather_nd(x, tf.zeros([tf.shape(x)[0], 1], tf.int32), batch_dims=1)),
    "concat along the batch": ((4, 6), lambda x: tf.concat([x, tf.ones([2, 4, 6])], 0)),
    "stack": ((4, 6), lambda x: tf.stack([x, x])),
    "split": ((4, 6), lambda x: tf.split(x, 2, 2)),
    "tile": ((4, 6), lambda x: tf.tile(x, [2, 2, 1])),
    "pad": ((4, 6), lambda x: tf.pad(x, [[1, 0], [1, 1], [0, 0]])),
    "slice": ((4, 6), lambda x: x[:, 1:3, ::-2]),
    "reverse": ((4, 6), lambda x: tf.reverse(x, [0, 1])),
    "running sum": ((4, 6), lambda x: tf.cumsum(x, -1)),
    "largest": ((4, 6), lambda x: tf.math.top_k(x, 3)),
    "index of the largest": ((4, 6), lambda x: tf.argmax(x, -1)),
    "sort": ((4, 6), tf.sort),
    "one hot": ((4,), lambda x: tf.one_hot(tf.cast(x, tf.int32), 5)),
    "where": ((4,), lambda x: tf.where(x > 0)),
    "mask": ((4,), lambda x: tf.boolean_mask(x, x[:, 0] > 0)),
    "blocks to depth": ((4, 4, 3), lambda x: tf.nn.space_to_depth(x, 2)),
    "depth to blocks": ((4, 4, 8), lambda x: tf.nn.depth_to_space(x, 2)),
    "resize": ((4, 4, 3), lambda x: tf.image.resize(x, [6, 6])),
    "loop": ((4, 6), lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), [0, x])[1]),
    "map": ((4, 6), lambda x: tf.map_fn(lambda row: row * 2, x)),
    "scan": ((4, 6), lambda x: tf.scan(lambda state, row: state + row, x, tf.zeros([4, 6]))),
    "segments": ((4, 6), lambda x: tf.math.unsorted_segment_sum(x, tf.zeros([tf.shape(x)[0]], tf.int32), 2)),
    "broadcast": ((6,), lambda x: tf.broadcast_to(x, [2, tf.shape(x)[0], 6])),
    "mean by hand": ((6,), lambda x: tf.reduce_sum(x) / tf.cast(tf.shape(x)[0], tf.float32)),
}


def _runs(path: Path, feeds: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Outputs of a file, run in a process of its own."""
    np.savez(path.with_suffix(".npz"), *feeds)
    program = (
        "import sys, numpy as np, onnxruntime as ort; ort.set_default_logger_severity(4);"
        "session = ort.InferenceSession(sys.argv[1]); given = np.load(sys.argv[2]);"
        "feeds = {x.name: given[f'arr_{n}'] for n, x in enumerate(session.get_inputs())};"
        "np.savez(sys.argv[2], *session.run(None, feeds))"
    )
    arguments = [sys.executable, "-c", program, str(path), str(path.with_suffix(".npz"))]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=900)
    assert not ended.returncode, ended.stderr[-1000:]
    with np.load(path.with_suffix(".npz")) as found:
        return [found[f"arr_{n}"] for n in range(len(found.files))]


def _assert_alike(path: Path, want: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> None:
    """Within the declared bounds of the file's nodes, added up."""
    allowed = allowed_ulps(ir.from_proto(onnx.load(path)), onnx_operators())
    for index, (expected, array) in enumerate(zip(want, found, strict=True)):
        result = compare_outputs(f"output {index}", expected, array, allowed)
        assert result.verdict == Verdict.FAITHFUL, result


@grid(_LAYERS, quick=2)
def test_layers(cell: Callable[[], _Layer], tmp_path: Path) -> None:
    shapes, layer = cell()
    inputs = [keras.Input(shape, name=f"x{index}") for index, shape in enumerate(shapes)]
    model = keras.Model(inputs, layer(*inputs))
    convert_file(model, tmp_path / "model.onnx", verify=False)
    some = [_RNG.uniform(0, 5, (2, *shape)).astype(np.float32) for shape in shapes]
    want = [np.asarray(tensor) for tensor in keras.tree.flatten(model(some))]
    session = ort.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    fed = session.run(None, {value.name: array for value, array in zip(session.get_inputs(), some, strict=True)})
    _assert_alike(tmp_path / "model.onnx", want, fed)
    found = _runs(tmp_path / "model.onnx", [array[:0] for array in some])
    assert [(array.shape, array.dtype) for array in found] == [((0, *w.shape[1:]), w.dtype) for w in want]


@grid(_FUNCTIONS, quick=2)
def test_functions(cell: tuple[tuple[int, ...], Callable[[Any], Any]], tmp_path: Path) -> None:
    shape, function = cell
    traced = tf.function(function, input_signature=[tf.TensorSpec([None, *shape], tf.float32, name="x")])
    convert_file(traced, tmp_path / "model.onnx", verify=False)
    for count in (0, 3):
        data = _RNG.uniform(0, 4, (count, *shape)).astype(np.float32)
        want = [tensor.numpy() for tensor in tf.nest.flatten(traced(data))]
        found = _runs(tmp_path / "model.onnx", [data])
        for expected, array in zip(want, found, strict=True):
            assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
        _assert_alike(tmp_path / "model.onnx", want, found)
