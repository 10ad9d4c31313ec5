"""Resizing: the samples and weights that TensorFlow takes, in each mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

SIZES = [(8, 6), (4, 3), (5, 7), (3, 9), (1, 1), (16, 12)]
MODES = [(False, False), (True, False), (False, True)]


def image(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(0).uniform(0, 255, size=shape).astype(dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("corners", "half"), MODES)
def test_bilinear(size: tuple[int, int], corners: bool, half: bool) -> None:
    written = agree(
        lambda x: tf.raw_ops.ResizeBilinear(images=x, size=size, align_corners=corners, half_pixel_centers=half),
        [image(2, 8, 6, 3)],
        [image(1, 8, 6, 3)],
    )
    assert "Resize" in op_types(written)


@pytest.mark.parametrize("size", [*SIZES, (12, 9), (13, 10)])
@pytest.mark.parametrize(("corners", "half"), MODES)
def test_nearest(size: tuple[int, int], corners: bool, half: bool) -> None:
    agree(
        lambda x: tf.raw_ops.ResizeNearestNeighbor(images=x, size=size, align_corners=corners, half_pixel_centers=half),
        [image(2, 8, 6, 3)],
        [image(1, 8, 6, 3)],
    )


@pytest.mark.parametrize("old", [2, 3, 5, 7, 10, 41])
@pytest.mark.parametrize(("corners", "half"), MODES)
def test_nearest_takes_the_sample_that_float32_says(old: int, corners: bool, half: bool) -> None:
    data = np.arange(old, dtype=np.float32).reshape(1, old, 1, 1)

    def resized(x: Any) -> Any:
        return [
            tf.raw_ops.ResizeNearestNeighbor(images=x, size=[new, 1], align_corners=corners, half_pixel_centers=half)
            for new in (1, 2, 3, 6, 9, 15, 49)
        ]

    agree(resized, [data])


@pytest.mark.parametrize(("corners", "half"), MODES)
@pytest.mark.parametrize("op", [tf.raw_ops.ResizeBilinear, tf.raw_ops.ResizeNearestNeighbor])
def test_open_sizes(op: Any, corners: bool, half: bool) -> None:
    agree(
        lambda x, size: op(images=x, size=size, align_corners=corners, half_pixel_centers=half),
        [image(2, 8, 6, 3), np.array([5, 7], np.int32)],
        [image(1, 4, 9, 3), np.array([12, 1], np.int32)],
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.float64])
@pytest.mark.parametrize("op", ["ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"])
def test_types(op: str, dtype: Any) -> None:
    agree(lambda x: getattr(tf.raw_ops, op)(images=x, size=[4, 9]), [image(1, 8, 6, 2, dtype=dtype)])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("corners", "half"), MODES)
def test_bicubic(size: tuple[int, int], corners: bool, half: bool) -> None:
    agree(
        lambda x: tf.raw_ops.ResizeBicubic(images=x, size=size, align_corners=corners, half_pixel_centers=half),
        [image(2, 8, 6, 3)],
        [image(1, 8, 6, 3)],
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("corners", [True, False])
def test_area(size: tuple[int, int], corners: bool) -> None:
    agree(
        lambda x: tf.raw_ops.ResizeArea(images=x, size=size, align_corners=corners),
        [image(2, 8, 6, 3)],
        [image(1, 8, 6, 3)],
    )


METHODS = ["bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "nearest"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_every_method(method: str, antialias: bool) -> None:
    agree(
        lambda x: tf.image.resize(x, (3, 9), method, antialias=antialias),
        [image(2, 8, 6, 3)],
        [image(1, 8, 6, 3)],
    )
