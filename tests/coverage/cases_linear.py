"""Dense layers, attention, dropout, and the linear algebra of keras.ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from tests.coverage.case import Cannot, Case, NoGraph

__all__ = ["CASES"]

RNG = np.random.default_rng(5)


def noise(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


def square(n: int, size: int = 3) -> np.ndarray:
    return noise(n, size, size) + 3 * np.eye(size, dtype=np.float32)


def definite(n: int, size: int = 3) -> np.ndarray:
    made = noise(n, size, size)
    return made @ made.swapaxes(-1, -2) + np.eye(size, dtype=np.float32)


SQUARES = [[square(2)], [square(3)]]
DEFINITE = [[definite(2)], [definite(3)]]
PAIRS = [[noise(2, 3), noise(3, 4)], [noise(5, 3), noise(3, 4)]]
ROWS = [[noise(2, 3), noise(2, 3)], [noise(4, 3), noise(4, 3)]]
PAIRS_OF_ONE = [sample[:1] for sample in PAIRS]


def layer(name: str, shape: tuple[int, ...], label: str = "", **options: Any) -> Case:
    """A model of this layer alone, on two batch sizes."""

    def make() -> keras.Model:
        x = keras.Input(shape)
        return keras.Model(x, getattr(layers, name)(**options)(x))

    return Case(f"keras.layers.{name}", make, [[noise(n, *shape)] for n in (1, 3)], label=label)


def op(name: str, function: Callable[..., Any], samples: Any, label: str = "", **options: Any) -> Case:
    return Case(f"keras.ops.{name}", lambda: function, samples, options, label)


LAYERS = [
    layer("Dense", (5,), units=3, activation="relu"),
    layer("Dense", (4, 5), units=3, use_bias=False, label="sequence"),
    layer("Dense", (5,), units=3, lora_rank=2, label="lora"),
    layer("EinsumDense", (5,), equation="ab,bc->ac", output_shape=3, bias_axes="c"),
    layer("EinsumDense", (4, 5), equation="abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de", label="heads"),
    layer("EinsumDense", (4, 2, 3), equation="abcd,cde->abe", output_shape=(None, 5), label="joined"),
    layer("EinsumDense", (4, 5), equation="...x,xy->...y", output_shape=3, bias_axes="y", label="dots"),
    layer("EinsumDense", (4, 5), equation="abc,cd->abd", output_shape=(None, 3), lora_rank=2, label="lora"),
    layer("Dropout", (5,), rate=0.5),
    layer("AlphaDropout", (5,), rate=0.5),
    layer("GaussianDropout", (5,), rate=0.5),
    layer("GaussianNoise", (5,), stddev=0.5),
    layer("SpatialDropout1D", (4, 5), rate=0.5),
    layer("SpatialDropout2D", (4, 5, 2), rate=0.5),
    layer("SpatialDropout3D", (2, 4, 5, 2), rate=0.5),
]


def several(name: str, build: Callable[..., Any], *shapes: tuple[int, ...], label: str = "", dtypes: Any = ()) -> Case:
    """A model of several inputs, on two batch sizes."""
    kinds = [*dtypes, *["float32"] * (len(shapes) - len(dtypes))]

    def make() -> keras.Model:
        inputs = [keras.Input(shape, dtype=kind) for shape, kind in zip(shapes, kinds, strict=True)]
        return keras.Model(inputs, build(*inputs))

    def drawn(n: int) -> list[np.ndarray]:
        return [
            RNG.random((n, *shape)) < 0.7 if kind == "bool" else noise(n, *shape)
            for shape, kind in zip(shapes, kinds, strict=True)
        ]

    return Case(f"keras.layers.{name}", make, [drawn(1), drawn(3)], label=label)


Q, K = (4, 6), (5, 6)
MASKED = ["float32", "float32", "bool"]

ATTENTION = [
    several("Dot", lambda x, y: layers.Dot(axes=1)([x, y]), (4,), (4,)),
    several("Dot", lambda x, y: layers.Dot((2, 1), normalize=True)([x, y]), (3, 4), (4, 2), label="normalized"),
    several("Attention", lambda q, v: layers.Attention()([q, v]), Q, K),
    several(
        "Attention", lambda q, v: layers.Attention(use_scale=True, score_mode="concat")([q, v]), Q, K, label="concat"
    ),
    several("Attention", lambda q, v: layers.Attention()([q, v], use_causal_mask=True), Q, K, label="causal"),
    several(
        "Attention",
        lambda q, v: layers.Attention()([q, v], return_attention_scores=True),
        Q,
        K,
        label="scores",
    ),
    several(
        "Attention",
        lambda q, v, m: layers.Attention()([q, v], mask=[None, m]),
        Q,
        K,
        (5,),
        label="masked",
        dtypes=MASKED,
    ),
    several("AdditiveAttention", lambda q, v: layers.AdditiveAttention()([q, v]), Q, K),
    several(
        "AdditiveAttention",
        lambda q, v, m: layers.AdditiveAttention(use_scale=False)([q, v], mask=[None, m]),
        Q,
        K,
        (5,),
        label="masked",
        dtypes=MASKED,
    ),
    several("MultiHeadAttention", lambda q, v: layers.MultiHeadAttention(2, 3)(q, v), Q, K),
    several(
        "MultiHeadAttention",
        lambda q, v: layers.MultiHeadAttention(2, 3, value_dim=4, output_shape=5, use_bias=False)(q, v),
        Q,
        K,
        label="value_dim",
    ),
    several(
        "MultiHeadAttention",
        lambda q, v: layers.MultiHeadAttention(2, 3)(q, v, return_attention_scores=True),
        Q,
        K,
        label="scores",
    ),
    several(
        "MultiHeadAttention", lambda q: layers.MultiHeadAttention(2, 3)(q, q, use_causal_mask=True), Q, label="causal"
    ),
    several(
        "MultiHeadAttention",
        lambda q, v, m: layers.MultiHeadAttention(2, 3)(q, v, attention_mask=m),
        Q,
        K,
        (4, 5),
        label="masked",
        dtypes=MASKED,
    ),
    several(
        "MultiHeadAttention",
        lambda q, v: layers.MultiHeadAttention(2, 3, attention_axes=(2,))(q, v),
        (2, 4, 6),
        (2, 5, 6),
        label="axes",
    ),
    several("GroupQueryAttention", lambda q, v: layers.GroupQueryAttention(3, 4, 2)(q, v), Q, K),
    several(
        "GroupQueryAttention",
        lambda q, v, m: layers.GroupQueryAttention(3, 4, 2)(q, v, attention_mask=m),
        Q,
        K,
        (4, 5),
        label="masked",
        dtypes=MASKED,
    ),
]

HEADS = [[noise(n, 4, 2, 3), noise(n, 5, 2, 3), noise(n, 5, 2, 3)] for n in (1, 3)]

OPS = [
    op("matmul", ops.matmul, PAIRS),
    op("matmul", lambda x, y: ops.matmul(x[:, None], y), PAIRS, label="batched"),
    op("matmul", lambda x, y: ops.matmul(x, y[:, 0]), PAIRS, label="vector"),
    op(
        "matmul",
        lambda x: ops.matmul(x, ops.transpose(x)),
        [[np.eye(n, 3, dtype=np.int8) * 7] for n in (2, 4)],
        label="int8",
    ),
    op("dot", ops.dot, PAIRS),
    op("dot", lambda x, y: ops.dot(x[None], y), PAIRS, label="batched"),
    op("vdot", ops.vdot, ROWS),
    op("inner", ops.inner, ROWS),
    op("outer", ops.outer, ROWS),
    NoGraph(
        "keras.ops.kron", "Keras's code for it fails when it is traced by TensorFlow: it counts in a symbolic range"
    ),
    op("tensordot", lambda x, y: ops.tensordot(x, y, 1), PAIRS),
    op("tensordot", lambda x, y: ops.tensordot(x, y, [[1], [0]]), PAIRS, label="axes"),
    op("einsum", lambda x, y: ops.einsum("ij,jk->ki", x, y), PAIRS),
    op("einsum", lambda x, y: ops.einsum("...j,jk", x, y), PAIRS, label="implicit"),
    op("einsum", lambda x, y: ops.einsum("ij,jk,kl->il", x, y, ops.transpose(y)), PAIRS, label="three"),
    op("trace", ops.trace, SQUARES),
    op("trace", lambda x: ops.trace(x, 1, 1, 2), SQUARES, label="offset"),
    op("cross", ops.cross, ROWS),
    op("dot_product_attention", ops.dot_product_attention, HEADS),
    op(
        "dot_product_attention",
        lambda q, k, v: ops.dot_product_attention(q, k[:, :4], v[:, :4], is_causal=True),
        HEADS,
        label="causal",
    ),
    op("cholesky", ops.cholesky, DEFINITE),
    op("cholesky_inverse", lambda x: ops.cholesky_inverse(ops.cholesky(x)), [[definite(1)[0]]]),
    op("det", ops.det, SQUARES),
    op("slogdet", ops.slogdet, SQUARES),
    op("logdet", ops.logdet, DEFINITE),
    op("inv", ops.inv, SQUARES),
    op("solve", lambda a: ops.solve(a, a[..., :2]), SQUARES),
    op("solve_triangular", lambda a: ops.solve_triangular(a, a[..., :2], lower=True), SQUARES),
    op("lu_factor", lambda x: ops.lu_factor(x[0]), SQUARES),
    op("qr", ops.qr, SQUARES),
    op("eigh", lambda x: ops.eigh(x)[0], DEFINITE),
    op("svd", lambda x: ops.svd(x, full_matrices=False, compute_uv=False), SQUARES),
    op("svd", lambda x: ops.svd(x[..., :2])[1], SQUARES, label="full"),
    op("pinv", lambda x: ops.pinv(x[..., :2]), SQUARES),
    op("matrix_rank", ops.matrix_rank, SQUARES),
    op("lstsq", lambda x: ops.lstsq(x[0][:, :2], x[0][:, 2:]), SQUARES),
    op("norm", ops.norm, PAIRS_OF_ONE),
    op("norm", lambda x: ops.norm(x, ord="fro", axis=(1, 2)), SQUARES, label="frobenius"),
    op("norm", lambda x: ops.norm(x, ord=2, axis=(1, 2)), SQUARES, label="spectral"),
    op("norm", lambda x: ops.norm(x, ord=np.inf, axis=-1, keepdims=True), SQUARES, label="largest"),
    Cannot(
        "keras.ops.eig", lambda: ops.eig, SQUARES, "general eigenvalues take an iteration without a known end", "Eig"
    ),
]

TENSORFLOW = [
    Case("tf.nn.bias_add", lambda: tf.nn.bias_add, [[noise(n, 3, 4), noise(4)] for n in (1, 3)]),
    Case(
        "tf.nn.bias_add",
        lambda: lambda x, b: tf.nn.bias_add(x, b, "NCHW"),
        [[noise(n, 4, 2, 3), noise(4)] for n in (1, 3)],
        label="channels_first",
    ),
    Case("tf.nn.dropout", lambda: lambda x: tf.nn.dropout(x, 0.0), [[noise(2, 3)], [noise(4, 3)]]),
    Case(
        "tf.nn.dropout",
        lambda: lambda x: tf.nn.dropout(x, 0.5),
        [[noise(2, 3)], [noise(4, 3)]],
        {"ignore_values": True},
        label="random",
    ),
    *(
        NoGraph(f"tf.nn.{name}", "draws classes for a training loss")
        for name in (
            "all_candidate_sampler",
            "fixed_unigram_candidate_sampler",
            "learned_unigram_candidate_sampler",
            "compute_accidental_hits",
            "nce_loss",
            "sampled_softmax_loss",
        )
    ),
]

CASES: list[Case | Cannot | NoGraph] = [*LAYERS, *ATTENTION, *OPS, *TENSORFLOW]
