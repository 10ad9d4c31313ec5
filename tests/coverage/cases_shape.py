"""Shapes and data movement: layers, keras.ops, and TensorFlow's functions for diagonals and blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from tests.coverage.case import Cannot, Case, NoGraph

__all__ = ["CASES"]


def ramp(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


TWO = [[ramp(2, 3, 4)], [ramp(5, 3, 4)]]
FLAT = [[ramp(3)], [ramp(5)]]
MATRIX = [[ramp(2, 3)], [ramp(4, 3)]]
SQUARES = [[ramp(2, 4, 4)], [ramp(3, 4, 4)]]
IMAGES = [[ramp(1, 4, 6, 8)], [ramp(3, 4, 6, 8)]]


def layer(name: str, shape: tuple[int, ...], *args: Any, label: str = "", count: int = 1, **options: Any) -> Case:
    """A model of this layer alone, on two batch sizes."""

    def make() -> keras.Model:
        inputs = [keras.Input(shape) for _ in range(count)]
        made = getattr(layers, name)(*args, **options)
        return keras.Model(inputs, made(inputs if count > 1 else inputs[0]))

    return Case(f"keras.layers.{name}", make, [[ramp(n, *shape) for _ in range(count)] for n in (1, 3)], label=label)


def op(name: str, function: Callable[..., Any], samples: Any = TWO, label: str = "") -> Case:
    return Case(f"keras.ops.{name}", lambda: function, samples, label=label)


LAYERS = [
    layer("Reshape", (3, 4), (2, 6)),
    layer("Reshape", (3, 4), (-1, 2), label="inferred"),
    layer("Flatten", (3, 4, 2)),
    layer("Flatten", (2, 3, 4), data_format="channels_first", label="channels_first"),
    layer("Permute", (3, 4, 2), (3, 1, 2)),
    layer("RepeatVector", (3,), 4),
    layer("Cropping1D", (6, 2), (1, 2)),
    layer("Cropping2D", (5, 6, 2), ((1, 0), (2, 1))),
    layer("Cropping2D", (2, 5, 6), ((1, 0), (2, 1)), data_format="channels_first", label="channels_first"),
    layer("Cropping3D", (5, 6, 4, 2), ((1, 0), (2, 1), (0, 1))),
    layer("ZeroPadding1D", (6, 2), (1, 2)),
    layer("ZeroPadding2D", (5, 6, 2), ((1, 0), (2, 1))),
    layer("ZeroPadding2D", (2, 5, 6), 1, data_format="channels_first", label="channels_first"),
    layer("ZeroPadding3D", (3, 2, 4, 2), ((1, 0), (2, 1), (0, 1))),
    layer("UpSampling1D", (3, 2), 3),
    layer("UpSampling3D", (2, 3, 2, 2), (2, 1, 3)),
    layer("UpSampling3D", (2, 2, 3, 2), 2, data_format="channels_first", label="channels_first"),
    layer("Concatenate", (3, 2), count=3),
    layer("Concatenate", (3, 2), axis=1, count=2, label="axis_1"),
    layer("Identity", (3, 2)),
    Case(
        "keras.layers.InputLayer",
        lambda: keras.Sequential([layers.InputLayer((3,)), layers.Reshape((3, 1))]),
        [[ramp(1, 3)], [ramp(4, 3)]],
    ),
    layer("Reshape", (3, 4), (12,), label="flat"),
    NoGraph("keras.layers.InputSpec", "a type that says what a layer takes"),
]

SHAPES = [
    op("reshape", lambda x: ops.reshape(x, (-1, 2, 6))),
    op("reshape", lambda x: ops.reshape(x, (ops.shape(x)[0], 12)), label="by_shape"),
    op("ravel", lambda x: ops.ravel(x)),
    op("transpose", lambda x: (ops.transpose(x), ops.transpose(x, (1, 2, 0)))),
    op("moveaxis", lambda x: (ops.moveaxis(x, 0, -1), ops.moveaxis(x, (0, 1), (2, 0)))),
    op("swapaxes", lambda x: ops.swapaxes(x, 0, 2)),
    op("expand_dims", lambda x: (ops.expand_dims(x, 1), ops.expand_dims(x, (0, -1)))),
    op("squeeze", lambda x: ops.squeeze(x[:, :1], 1)),
    op("shape", lambda x: ops.stack(ops.shape(x))),
    op("size", lambda x: ops.size(x)),
    op("ndim", lambda x: ops.ndim(x)),
    op("broadcast_to", lambda x: ops.broadcast_to(x[:1], (6, 3, 4))),
    op("rearrange", lambda x: ops.rearrange(x, "b h (w c) -> b (h w) c", c=2)),
    op("copy", lambda x: ops.copy(x)),
    op("get_item", lambda x: (ops.get_item(x, 0), ops.get_item(x, (slice(None), 1, slice(0, 2))))),
    op("slice", lambda x: ops.slice(x, (0, 1, 0), (2, 2, 3))),
    op("slice_update", lambda x: ops.slice_update(x, (1, 1, 0), -x[:1, :2])),
    op("view", lambda x: ops.view(x, "int32")),
    op("identity", lambda x: ops.identity(3) + x, [[ramp(3, 3)], [ramp(3, 3) + 1]]),
    op("unravel_index", lambda x: ops.unravel_index(x, (3, 4)), [[np.int32([1, 7, 11])], [np.int32([0, 5])]]),
]

JOINED = [
    op("concatenate", lambda x: (ops.concatenate([x, x], 1), ops.concatenate([x, x], -1))),
    op("append", lambda x: (ops.append(x, x), ops.append(x, x, 1))),
    op("stack", lambda x: (ops.stack([x, x]), ops.stack([x, x], -1))),
    op("unstack", lambda x: (*ops.unstack(x, axis=1), *ops.unstack(x, 4, axis=-1))),
    op("vstack", lambda x: ops.vstack([x, x])),
    op("hstack", lambda x: ops.hstack([x, x])),
    op("dstack", lambda x: ops.dstack([x, x])),
    op("split", lambda x: (*ops.split(x, 3, 1), *ops.split(x, [1, 3], 2))),
    op("array_split", lambda x: (*ops.array_split(x, 2, 1), *ops.array_split(x, 3, 2))),
    op("vsplit", lambda x: ops.vsplit(x, [1]), [[ramp(3, 2)], [-ramp(3, 2)]]),
    op("hsplit", lambda x: ops.hsplit(x, 3)),
    op("dsplit", lambda x: ops.dsplit(x, 2)),
    op("tile", lambda x: (ops.tile(x, (1, 2, 3)), ops.tile(x, 2))),
    op("repeat", lambda x: (ops.repeat(x, 2, 1), ops.repeat(x, [1, 0, 2], 1), ops.repeat(x, 2))),
    op("pad", lambda x: (ops.pad(x, ((1, 0), (0, 2), (1, 1))), ops.pad(x, ((1, 1),) * 3, constant_values=2.0))),
    op(
        "pad",
        lambda x: (ops.pad(x, ((0, 0), (1, 2), (0, 1)), "reflect"), ops.pad(x, ((0, 0), (2, 1), (1, 0)), "symmetric")),
        label="mirrored",
    ),
    op(
        "meshgrid",
        lambda x, y: (*ops.meshgrid(x, y), *ops.meshgrid(x, y, indexing="ij")),
        [[ramp(3), ramp(2)], [ramp(5), ramp(4)]],
    ),
]

TURNED = [
    op("flip", lambda x: (ops.flip(x), ops.flip(x, 1))),
    op("fliplr", lambda x: ops.fliplr(x)),
    op("flipud", lambda x: ops.flipud(x)),
    op("roll", lambda x: (ops.roll(x, 2), ops.roll(x, -1, 1), ops.roll(x, (1, 2), (0, 2)))),
    op("rot90", lambda x: (ops.rot90(x), ops.rot90(x, 2), ops.rot90(x, 3, axes=(1, 2)), ops.rot90(x, -1))),
    op("depth_to_space", lambda x: ops.depth_to_space(x, 2), IMAGES),
    op("space_to_depth", lambda x: ops.space_to_depth(x, 2), IMAGES),
]

MADE = [
    op("arange", lambda x: (ops.arange(5), ops.arange(2, ops.shape(x)[0] + 3), ops.arange(1.0, 9.0, 0.5))),
    op("linspace", lambda x: (ops.linspace(0.0, 1.0, 5) + x[0, 0, 0], ops.linspace(x[0], x[1], 4))),
    op("linspace", lambda x: ops.linspace(x[0], x[1], 4, endpoint=False, retstep=True), label="open"),
    op("logspace", lambda x: ops.logspace(x[0] / 9, x[1] / 9, 4)),
    op("geomspace", lambda x: ops.geomspace(x[0] + 1, x[1] + 2, 4)),
    op("eye", lambda x: (ops.eye(3) + x[0, 0, 0], ops.eye(3, 4, k=1) + x)),
    op("tri", lambda x: ops.tri(3, 4, k=-1) + x),
    op("zeros", lambda x: ops.zeros((3, 4)) + x),
    op("ones", lambda x: ops.ones((ops.shape(x)[0], 2))),
    op("full", lambda x: (ops.full((3, 4), 2.5) + x, ops.full((ops.shape(x)[0], 2), x[0, 0, 1]))),
    op("empty", lambda x: ops.empty((3, 4)) * 0 + x),
    op("zeros_like", lambda x: (ops.zeros_like(x), ops.zeros_like(x, "int32"))),
    op("ones_like", lambda x: (ops.ones_like(x), ops.ones_like(x, "bool"))),
    op("full_like", lambda x: ops.full_like(x, 3)),
    op("empty_like", lambda x: ops.zeros_like(ops.empty_like(x))),
    op("array", lambda x: ops.array([1.0, 2.0, 3.0, 4.0]) + x),
    op("convert_to_tensor", lambda x: ops.convert_to_tensor([1.0, 2.0, 3.0, 4.0]) + x),
    NoGraph("keras.ops.convert_to_numpy", "gives an array, outside of any graph"),
    NoGraph("keras.ops.is_tensor", "answers when the graph is built"),
    NoGraph("keras.ops.dtype", "answers when the graph is built"),
]

DIAGONALS = [
    op("diag", lambda x: (ops.diag(x), ops.diag(x, 1), ops.diag(x, -2)), FLAT),
    op("diag", lambda x: (ops.diag(x), ops.diag(x, 1)), MATRIX, label="taken"),
    op("diagflat", lambda x: (ops.diagflat(x), ops.diagflat(x, 1)), MATRIX),
    op("diagonal", lambda x: (ops.diagonal(x), ops.diagonal(x, 1, 1, 2), ops.diagonal(x, -1, 2, 0))),
    op("tril", lambda x: (ops.tril(x), ops.tril(x, 1), ops.tril(x, -1))),
    op("triu", lambda x: (ops.triu(x), ops.triu(x, 1), ops.triu(x, -1))),
]


def tensorflow(name: str, function: Callable[..., Any], samples: Any = TWO) -> Case:
    return Case(f"tf.{name}", lambda: function, samples)


TENSORFLOW = [
    tensorflow("linalg.band_part", lambda x: (tf.linalg.band_part(x, 1, 0), tf.linalg.band_part(x, -1, 1))),
    tensorflow("linalg.diag", lambda x: (tf.linalg.diag(x), tf.linalg.diag(x, k=1)), MATRIX),
    tensorflow("linalg.diag_part", lambda x: (tf.linalg.diag_part(x), tf.linalg.diag_part(x, k=(-1, 1)))),
    tensorflow("linalg.set_diag", lambda x: tf.linalg.set_diag(x, -x[:, 0]), SQUARES),
    tensorflow("linalg.tensor_diag", lambda x: tf.linalg.tensor_diag(x), MATRIX),
    tensorflow("linalg.tensor_diag_part", lambda x: tf.linalg.tensor_diag_part(x), [[ramp(3, 3)], [ramp(4, 4)]]),
    tensorflow("linalg.eye", lambda x: tf.linalg.eye(tf.shape(x)[0])),
    tensorflow("linalg.matrix_transpose", lambda x: tf.linalg.matrix_transpose(x)),
    tensorflow("linalg.adjoint", lambda x: tf.linalg.adjoint(x)),
    tensorflow(
        "math.invert_permutation", lambda x: tf.math.invert_permutation(x), [[np.int32([2, 0, 1])], [np.int32([1, 0])]]
    ),
    tensorflow("nn.space_to_depth", lambda x: tf.nn.space_to_depth(x, 2), IMAGES),
    tensorflow("nn.depth_to_space", lambda x: tf.nn.depth_to_space(x, 2), IMAGES),
    tensorflow("nn.space_to_batch", lambda x: tf.nn.space_to_batch(x, [2, 2], [[0, 0], [1, 1]]), IMAGES),
]

CASES: list[Case | Cannot | NoGraph] = [*LAYERS, *SHAPES, *JOINED, *TURNED, *MADE, *DIAGONALS, *TENSORFLOW]
