"""ONNX models beside TensorFlow functions written by hand, and bfloat16 functions of equal precision on both sides."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from bench.faults.pairs.graph import Graph

__all__ = ["TF_REWRITES"]

Rng = np.random.Generator
Both = tuple[Any, Any]


def _function(body: Callable[..., Any], *dims: int | None, dtype: Any = tf.float32) -> Any:
    return tf.function(body, input_signature=[tf.TensorSpec(dims, dtype, name="x")])


def _f32(array: np.ndarray) -> tf.Tensor:
    return tf.constant(array.astype(np.float32))


def onnx_mlp(rng: Rng, folder: Path) -> Both:
    """Two linear layers in ONNX; the same products in TensorFlow."""
    first, bias, second = rng.normal(size=(6, 12)) * 0.4, rng.normal(size=12), rng.normal(size=(12, 3)) * 0.3
    g = Graph()
    x = g.input("x", ["N", 6])
    source = g.finish(g.Softmax(g.MatMul(g.Relu(g.Gemm(x, first, bias)), second), axis=-1))
    a, b, c = _f32(first), _f32(bias), _f32(second)
    return source, _function(lambda x: tf.nn.softmax(tf.nn.relu(x @ a + b) @ c), None, 6)


def onnx_conv(rng: Rng, folder: Path) -> Both:
    """A convolution in ONNX; in TensorFlow with channels last between transposes."""
    kernel, bias = rng.normal(size=(5, 3, 3, 3)) * 0.3, rng.normal(size=5)
    g = Graph()
    x = g.input("x", ["N", 3, 8, 8])
    source = g.finish(g.Elu(g.Conv(x, kernel, bias, pads=[1] * 4)))
    k, b = _f32(kernel.transpose(2, 3, 1, 0)), _f32(bias)

    def body(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.conv2d(tf.transpose(x, [0, 2, 3, 1]), k, 1, "SAME") + b
        return tf.transpose(tf.nn.elu(y), [0, 3, 1, 2])

    return source, _function(body, None, 3, 8, 8)


def onnx_layer_norm(rng: Rng, folder: Path) -> Both:
    """LayerNormalization in ONNX; tf.nn.moments in TensorFlow."""
    scale, shift = rng.normal(1, 0.2, 16), rng.normal(size=16)
    g = Graph()
    x = g.input("x", ["N", 16])
    source = g.finish(g.LayerNormalization(x, scale, shift, epsilon=1e-4))
    s, b = _f32(scale), _f32(shift)

    def body(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-4) * s + b

    return source, _function(body, None, 16)


def onnx_attention(rng: Rng, folder: Path) -> Both:
    """Attention in ONNX; einsum in TensorFlow."""
    weights = [rng.normal(size=(8, 8)) * 0.4 for _ in range(3)]
    g = Graph()
    x = g.input("x", ["N", 5, 8])
    q, k, v = (g.MatMul(x, w) for w in weights)
    scores = g.Div(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), float(np.sqrt(8)))
    source = g.finish(g.MatMul(g.Softmax(scores, axis=-1), v))
    ws = [_f32(w) for w in weights]

    def body(x: tf.Tensor) -> tf.Tensor:
        q, k, v = (tf.einsum("ntd,de->nte", x, w) for w in ws)
        return tf.einsum("nqk,nkd->nqd", tf.nn.softmax(tf.einsum("nqd,nkd->nqk", q, k) * 8**-0.5), v)

    return source, _function(body, None, 5, 8)


def jit_of_function(rng: Rng, folder: Path) -> Both:
    """A function, and the same compiled by XLA."""
    w = _f32(rng.normal(size=(10, 10)) * 0.4)

    def body(x: tf.Tensor) -> tf.Tensor:
        for _ in range(4):
            x = tf.tanh(x @ w) + 0.1 * tf.sin(x)
        return tf.reduce_logsumexp(x, axis=1)

    spec = [tf.TensorSpec((None, 10), tf.float32, name="x")]
    return tf.function(body, input_signature=spec), tf.function(body, input_signature=spec, jit_compile=True)


def jit_of_logistic_map(rng: Rng, folder: Path) -> Both:
    """An iterated map that amplifies rounding, and the same compiled by XLA."""

    def body(x: tf.Tensor) -> tf.Tensor:
        y = tf.sigmoid(x)
        for _ in range(8):
            y = 3.97 * y * (1.0 - y)
        return y

    spec = [tf.TensorSpec((None, 5), tf.float32, name="x")]
    return tf.function(body, input_signature=spec), tf.function(body, input_signature=spec, jit_compile=True)


def jit_of_while(rng: Rng, folder: Path) -> Both:
    """A while loop of 30 steps, and the same compiled by XLA."""
    w = _f32(rng.normal(size=(6, 6)) * 0.5)

    def body(x: tf.Tensor) -> tf.Tensor:
        def step(k: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return k + 1, tf.tanh(y @ w + x)

        return tf.while_loop(lambda k, y: k < 30, step, (0, x))[1]

    spec = [tf.TensorSpec((None, 6), tf.float32, name="x")]
    return tf.function(body, input_signature=spec), tf.function(body, input_signature=spec, jit_compile=True)


def bfloat16_function(rng: Rng, folder: Path) -> Both:
    """A bfloat16 network, with biases added by bias_add or by +."""
    w, b = (tf.cast(_f32(rng.normal(size=s) * 0.4), tf.bfloat16) for s in ((8, 6), (6,)))
    return (
        _function(lambda x: tf.nn.relu(x @ w + b), None, 8, dtype=tf.bfloat16),
        _function(
            lambda x: tf.maximum(tf.nn.bias_add(tf.matmul(x, w), b), tf.bfloat16.as_numpy_dtype(0)),
            None,
            8,
            dtype=tf.bfloat16,
        ),
    )


def float16_function(rng: Rng, folder: Path) -> Both:
    """A float16 network with its sum in another order."""
    ws = [tf.cast(_f32(rng.normal(size=8)), tf.float16) for _ in range(4)]
    return (
        _function(lambda x: ((x * ws[0] + x * ws[1]) + x * ws[2]) + x * ws[3], None, 8, dtype=tf.float16),
        _function(lambda x: (x * ws[0] + x * ws[1]) + (x * ws[2] + x * ws[3]), None, 8, dtype=tf.float16),
    )


def saved_function(rng: Rng, folder: Path) -> Both:
    """A function with several outputs, and its SavedModel."""
    w = _f32(rng.normal(size=(7, 4)))
    module = tf.Module()

    def body(x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = tf.matmul(x, w)
        return {"best": tf.argmax(y, axis=1), "mean": tf.reduce_mean(y, axis=1), "norm": tf.nn.l2_normalize(y, axis=1)}

    module.call = _function(body, None, 7)
    module.w = w
    tf.saved_model.save(module, str(folder / "saved"), signatures=module.call.get_concrete_function())
    return module.call, folder / "saved"


TF_REWRITES: Mapping[str, Callable[[Rng, Path], Both]] = {
    made.__name__: made
    for made in (
        onnx_mlp,
        onnx_conv,
        onnx_layer_norm,
        onnx_attention,
        jit_of_function,
        jit_of_logistic_map,
        jit_of_while,
        bfloat16_function,
        float16_function,
        saved_function,
    )
}
