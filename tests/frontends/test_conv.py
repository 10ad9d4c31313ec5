"""Convolutions and transposed convolutions: paddings, strides, dilations, groups, formats, open sizes."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


PADDINGS = ["SAME", "VALID", [[0, 0], [2, 1], [0, 3], [0, 0]]]


def spread(kernel: np.ndarray, dilation: int, rank: int) -> np.ndarray:
    """Return a kernel with zeros between its elements along the first ``rank`` axes."""
    sizes = [(size - 1) * dilation + 1 for size in kernel.shape[:rank]]
    made = np.zeros((*sizes, *kernel.shape[rank:]), kernel.dtype)
    made[(slice(None, None, dilation),) * rank] = kernel
    return made


@pytest.mark.parametrize("padding", PADDINGS, ids=str)
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (1, 2)])
def test_conv2d(padding: Any, stride: int, dilation: int) -> None:
    kernel = normal(3, 2, 3, 4)
    agree(
        lambda x: tf.nn.conv2d(x, kernel, stride, padding, dilations=dilation),
        [normal(2, 9, 8, 3)],
        [normal(3, 9, 8, 3)],
    )


@pytest.mark.parametrize("padding", PADDINGS, ids=str)
@pytest.mark.parametrize("stride", [1, 2])
def test_conv2d_of_open_sizes(padding: Any, stride: int) -> None:
    kernel = normal(3, 3, 3, 4)
    agree(lambda x: tf.nn.conv2d(x, kernel, stride, padding), [normal(2, 9, 8, 3)], [normal(1, 6, 7, 3)])


def test_conv2d_takes_its_kernel_as_an_input() -> None:
    agree(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), [normal(1, 5, 5, 2), normal(3, 3, 2, 4)])


def test_conv2d_in_groups() -> None:
    kernel = normal(3, 3, 2, 6)
    written = agree(lambda x: tf.nn.conv2d(x, kernel, 1, "SAME"), [normal(1, 5, 5, 4)], [normal(2, 5, 5, 4)])
    assert op_types(written) == ["Transpose", "Conv", "Transpose"]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_conv3d(padding: str, stride: int, dilation: int) -> None:
    kernel = normal(2, 3, 1, 2, 4)
    strides = [1, stride, stride, stride, 1]
    agree(
        lambda x: tf.nn.conv3d(x, kernel, strides, padding, dilations=[1, *[dilation] * 3, 1]),
        [normal(2, 6, 7, 5, 2)],
        [normal(1, 6, 7, 5, 2)],
        # Without oneDNN TensorFlow has no dilated kernel: zeros between the elements do the same.
        referee=lambda x: tf.nn.conv3d(x, spread(kernel, dilation, 3), strides, padding),
    )


@pytest.mark.parametrize("padding", PADDINGS, ids=str)
@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_depthwise_conv2d(padding: Any, multiplier: int, stride: int, dilation: int) -> None:
    kernel = normal(3, 2, 4, multiplier)
    agree(
        lambda x: tf.nn.depthwise_conv2d(x, kernel, [1, stride, stride, 1], padding, dilations=[dilation] * 2),
        [normal(2, 9, 8, 4)],
        [normal(1, 9, 8, 4)],
    )


@pytest.mark.parametrize(
    "layer",
    [
        keras.layers.Conv1D(4, 3, dilation_rate=2),
        keras.layers.Conv1D(4, 3, strides=2, padding="same"),
        keras.layers.Conv1D(4, 3, padding="causal"),
        keras.layers.SeparableConv1D(4, 3),
        keras.layers.DepthwiseConv1D(3),
    ],
)
def test_one_axis(layer: Any) -> None:
    model = keras.Sequential([keras.Input((9, 2)), layer])
    written = agree(model, [normal(2, 9, 2)], [normal(1, 9, 2)])
    assert not {"Squeeze", "Unsqueeze"} & set(op_types(written))


@pytest.mark.parametrize(
    ("padding", "size"), [("SAME", (9, 7)), ("SAME", (10, 8)), ("VALID", (11, 9)), ("VALID", (12, 10))]
)
def test_transposed_of_each_size_that_fits(padding: str, size: tuple[int, int]) -> None:
    kernel = normal(3, 3, 2, 4)
    agree(
        lambda x: tf.nn.conv2d_transpose(x, kernel, [tf.shape(x)[0], *size, 2], 2, padding),
        [normal(1, 5, 4, 4)],
        [normal(3, 5, 4, 4)],
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (2, 3), (4, 1), (1, 2)])
@pytest.mark.parametrize("extra", [0, -1])
def test_transposed_of_open_sizes(padding: str, kernel: int, stride: int, extra: int) -> None:
    weights = normal(kernel, kernel, 2, 3)

    def upscaled(x: Any) -> Any:
        count = tf.shape(x)[1:3]
        whole = count * stride if padding == "SAME" else (count - 1) * stride + kernel + stride - 1
        size = whole + (extra if stride > 1 else 0)
        return tf.nn.conv2d_transpose(x, weights, [tf.shape(x)[0], size[0], size[1], 2], stride, padding)

    agree(upscaled, [normal(1, 5, 4, 3)], [normal(2, 3, 6, 3)])


def test_transposed_with_explicit_paddings() -> None:
    kernel = normal(3, 3, 2, 4)
    pads = [[0, 0], [1, 0], [2, 1], [0, 0]]
    agree(lambda x: tf.nn.conv2d_transpose(x, kernel, [1, 10, 6, 2], 2, pads), [normal(1, 5, 4, 4)])


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposing_layers(padding: str, rank: int) -> None:
    layer = getattr(keras.layers, f"Conv{rank}DTranspose")(3, 3, strides=2, padding=padding)
    model = keras.Sequential([keras.Input((*(5, 4, 3)[:rank], 2)), layer])
    agree(model, [normal(1, *(5, 4, 3)[:rank], 2)], [normal(3, *(5, 4, 3)[:rank], 2)])


def test_transposed_depthwise() -> None:
    kernel = normal(3, 3, 2, 2)
    agree(
        lambda x: tf.nn.depthwise_conv2d_backprop_input([2, 9, 9, 2], kernel, x, [1, 2, 2, 1], "SAME"),
        [normal(2, 5, 5, 4)],
    )


L = keras.layers
DILATED: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: L.Conv1D(2, 3, dilation_rate=2), (9, 2)),
    (lambda: L.Conv1D(2, 3, dilation_rate=2, padding="causal"), (9, 2)),
    (lambda: L.Conv2D(2, 3, dilation_rate=(1, 2)), (9, 7, 2)),
    (lambda: L.Conv2D(2, 3, dilation_rate=3, padding="same"), (9, 7, 2)),
    (lambda: L.DepthwiseConv2D(3, dilation_rate=2, padding="same"), (9, 7, 2)),
    (lambda: L.Conv3D(2, 2, dilation_rate=2), (4, 5, 4, 2)),
]


@pytest.mark.parametrize(("make", "shape"), DILATED)
def test_what_runs_in_blocks_is_one_dilated_convolution(make: Any, shape: tuple[int, ...]) -> None:
    model = keras.Sequential([keras.Input(shape), make()])
    written = agree(model, [normal(1, *shape)], [normal(3, *shape)])
    assert op_types(written) == ["Transpose", "Conv", "Transpose"]


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_dilated_of_open_sizes(padding: str) -> None:
    model = keras.Sequential([keras.Input((None, None, 2)), L.Conv2D(2, 3, dilation_rate=2, padding=padding)])
    written = agree(model, [normal(1, 9, 8, 2)], [normal(2, 6, 7, 2)])
    assert op_types(written).count("Conv") == 1


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (2, 2), (2, 3), (4, 1)])
def test_transposed_layers_of_open_sizes(padding: str, kernel: int, stride: int) -> None:
    layer = L.Conv2DTranspose(2, kernel, strides=stride, padding=padding)
    model = keras.Sequential([keras.Input((None, None, 3)), layer])
    written = agree(model, [normal(1, 9, 8, 3)], [normal(2, 6, 7, 3)])
    assert op_types(written) == ["Transpose", "ConvTranspose", "Transpose"]
