"""Resizing of tf.image, TensorFlow's own operators and Keras: converted to ONNX files, run, compared with TensorFlow.

A cell is one function with many outputs. Nearest samples must be TensorFlow's own; mixed ones may differ by the
declared bound. What ONNX can't hold at dynamic sizes is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

from tests.cells import grid
from trueport.errors import Unsupported
from trueport.fidelity import Verdict
from trueport.pipeline import convert_file

Calls = dict[str, Callable[[Any], Any]]
FIXED = [(2, 8, 9, 3)]
DYNAMIC = [(1, 7, 5, 3), (1, 23, 10, 3), (1, 8, 150, 3)]
METHODS = ["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]
KERNELS = ["lanczos1", "lanczos3", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]
SIZES = [(5, 7), (3, 13), (1, 1), (16, 18), (11, 4)]
CENTRES = [(False, False), (True, False), (False, True)]


def image_calls(method: str) -> Calls:
    options = list(itertools.product(SIZES, (False, True), (False, True)))
    return {
        f"{size} antialias {smooth} ratio {kept}": lambda x, o=(size, smooth, kept): tf.image.resize(
            x, o[0], method, antialias=o[1], preserve_aspect_ratio=o[2]
        )
        for size, smooth, kept in options
    }


def raw_calls(name: str) -> Calls:
    return {
        f"{size} {corners} {half}": lambda x, o=(size, corners, half): getattr(tf.raw_ops, name)(
            images=x, size=o[0], align_corners=o[1], half_pixel_centers=o[2]
        )
        for size, (corners, half) in itertools.product(SIZES, CENTRES)
    }


def old_calls(name: str) -> Calls:
    return {
        f"{size} {corners}": lambda x, o=(size, corners): getattr(tf.compat.v1.image, name)(x, o[0], align_corners=o[1])
        for size, corners in itertools.product(SIZES, (False, True))
    }


def translated_calls(kernel: str) -> Calls:
    return {
        f"{size} {smooth}": lambda x, o=(size, smooth): tf.raw_ops.ScaleAndTranslate(
            images=x, size=o[0], scale=[1.3, 0.6], translation=[0.7, -1.2], kernel_type=kernel, antialias=o[1]
        )
        for size, smooth in itertools.product(SIZES, (False, True))
    }


def cropped_calls(method: str) -> Calls:
    boxes = [[0.1, 0.2, 0.7, 0.9], [-0.2, 0.0, 1.3, 1.0], [0.8, 0.6, 0.1, 0.2]]
    return {
        f"{size}": lambda x, size=size: tf.image.crop_and_resize(x, boxes, [0, 0, 0], size, method, 7.5)
        for size in SIZES
    }


def keras_calls(interpolation: str) -> Calls:
    found: Calls = {}
    for size, option in itertools.product(SIZES[:2], ("", "crop_to_aspect_ratio", "pad_to_aspect_ratio")):
        options: dict[str, Any] = {"interpolation": interpolation, **({option: True} if option else {})}
        found[f"layer {size} {option}"] = keras.layers.Resizing(*size, **options)
        found[f"ops {size} {option}"] = lambda x, o=(size, options): keras.ops.image.resize(x, o[0], **o[1])
    for factor in (2, (3, 2)):
        found[f"up {factor}"] = keras.layers.UpSampling2D(factor, interpolation=interpolation)
    return found


def cells() -> dict[str, tuple[str, Calls]]:
    found = {f"tf.image.resize {method}": (method, image_calls(method)) for method in METHODS}
    for name in ("Bilinear", "NearestNeighbor", "Bicubic"):
        found[f"Resize{name}"] = (name.lower(), raw_calls(f"Resize{name}"))
    for name in ("bilinear", "nearest_neighbor", "bicubic", "area"):
        found[f"resize_{name}"] = (name, old_calls(f"resize_{name}"))
    found |= {f"ScaleAndTranslate {kernel}": (kernel, translated_calls(kernel)) for kernel in KERNELS}
    found |= {f"CropAndResize {method}": (method, cropped_calls(method)) for method in ("bilinear", "nearest")}
    for interpolation in ("bilinear", "nearest", "bicubic"):
        found[f"Keras {interpolation}"] = (interpolation, keras_calls(interpolation))
    return found


def wrong_calls(calls: Calls, kind: str, shapes: list[tuple[int, ...]], path: Path) -> list[str]:
    """Convert, write, run; the calls whose results are not TensorFlow's."""
    dims = [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True)]
    names = [f"y{index:03}" for index in range(len(calls))]
    function = tf.function(
        lambda x: {name: call(x) for name, call in zip(names, calls.values(), strict=True)},
        input_signature=[tf.TensorSpec(dims, tf.float32, name="x")],
    )
    report = convert_file(function, path)
    session = onnxruntime.InferenceSession(path)
    found = []
    for shape in shapes:
        x = np.random.default_rng(len(calls)).normal(size=shape).astype(np.float32) * 3
        made, want = (
            dict(zip((o.name for o in session.get_outputs()), session.run(None, {"x": x}), strict=True)),
            function(x),
        )
        for name, label in zip(names, calls, strict=True):
            got, expected = made[name], want[name].numpy()
            off = np.inf if got.shape != expected.shape else float(np.abs(got - expected).max(initial=0))
            if off > (0 if kind.startswith("nearest") else allowed(x)):
                found.append(f"{label} at {shape}: off by {off:.3g}")
    assert found or report.verdict == Verdict.FAITHFUL, report
    assert not (found and report.verdict == Verdict.FAITHFUL), f"called faithful: {found}"
    return found


def allowed(x: np.ndarray) -> float:
    """Twice the declared bound, for both runtimes: eight units, and a coordinate off by its last place."""
    eps = float(np.finfo(np.float32).eps)
    return 2 * 2 * float(np.abs(x).max()) * eps * (8 + 4 * max(x.shape[1:3]))


@grid(cells(), quick=2)
def test_fixed_sizes(cell: tuple[str, Calls], tmp_path: Path) -> None:
    kind, calls = cell
    assert not wrong_calls(calls, kind, FIXED, tmp_path / "model.onnx")


LINEAR = {
    name: cell
    for name, cell in cells().items()
    if name.startswith(("ResizeB", "ResizeN", "resize_b", "resize_n", "Crop")) and "icubic" not in name
}


@grid(LINEAR, quick=1)
def test_dynamic_sizes(cell: tuple[str, Calls], tmp_path: Path) -> None:
    kind, calls = cell
    assert not wrong_calls(calls, kind, DYNAMIC, tmp_path / "model.onnx")


@pytest.mark.parametrize("method", ["bicubic", "area", "lanczos3"])
def test_filters_of_dynamic_images_are_refused(method: str, tmp_path: Path) -> None:
    function = tf.function(
        lambda x: tf.image.resize(x, (5, 7), method), input_signature=[tf.TensorSpec([1, None, None, 3], name="x")]
    )
    with pytest.raises(Unsupported, match=r"known only when the model runs|is computed while the model runs"):
        convert_file(function, tmp_path / "model.onnx")


@pytest.mark.parametrize("rank", [1, 3])
def test_upsampling_of_other_ranks(rank: int, tmp_path: Path) -> None:
    layer = {1: keras.layers.UpSampling1D, 3: keras.layers.UpSampling3D}[rank](3)
    shapes = [(2, *[size] * rank, 3) for size in (4, 7, 5)]
    assert not wrong_calls({"up": layer}, "nearest", shapes, tmp_path / "model.onnx")
