"""SAME padding with windows smaller and larger than their strides, over dynamic sizes: TensorFlow to ONNX."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.cells import grid
from tests.frontends.harness import agree

SIZES = {2: ((7, 9), (8, 6), (11, 5)), 3: ((5, 6, 4), (6, 7, 4), (9, 10, 4))}


def images(axes: int) -> list[tuple[np.ndarray]]:
    rng = np.random.default_rng(0)
    return [(rng.standard_normal((1, *dims, 2)).astype(np.float32),) for dims in SIZES[axes]]


@grid(
    {f"{axes}-D window {k} stride {s}": (axes, k, s) for axes in (2, 3) for k in (1, 2, 3) for s in (1, 2, 3, 5)},
    quick=3,
)
def test_same(cell: tuple[int, int, int]) -> None:
    axes, size, stride = cell

    def planes(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return (
            tf.nn.max_pool2d(x, size, stride, "SAME"),
            tf.nn.avg_pool2d(x, size, stride, "SAME"),
            tf.nn.conv2d(x, tf.ones([size, size, 2, 3]) / 7.0, stride, "SAME"),
            tf.nn.depthwise_conv2d(x, tf.ones([size, 1, 2, 2]) / 3.0, [1, stride, stride, 1], "SAME"),
            tf.nn.max_pool_with_argmax(x, size, stride, "SAME")[1],
        )

    def volumes(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        kernel = tf.ones([size, size, size, 2, 3]) / 7.0
        steps = [1, stride, stride, stride, 1]
        return tf.nn.max_pool3d(x, size, stride, "SAME"), tf.nn.conv3d(x, kernel, steps, "SAME")

    agree(planes if axes == 2 else volumes, *images(axes))
