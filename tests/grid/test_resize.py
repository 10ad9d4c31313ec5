"""Resize, GridSample and AffineGrid against ONNX Runtime; where it departs from the specification, the reference."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import check

LINEAR_TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
Arrays = list[np.ndarray | None]


def image(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    values = np.random.default_rng(shape).standard_normal(shape)
    return values.astype(dtype) if np.dtype(dtype).kind not in "iu" else (abs(values) * 40).astype(dtype)


def resize(*sets: Arrays, **options: Any) -> None:
    # ONNX's own inference refuses vectors of parameters whose length is not known.
    parameters = [i for i, array in enumerate(sets[0]) if i and array is not None]
    check("Resize", *sets, **{"opset": 19, "terms": 16, "fixed": parameters, **options})


def scaled(x: np.ndarray, *factors: float) -> Arrays:
    return [x, None, np.array(factors, np.float32)]


def sized(x: np.ndarray, *sizes: int) -> Arrays:
    return [x, None, None, np.array(sizes, np.int64)]


@pytest.mark.parametrize("transform", LINEAR_TRANSFORMS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest(transform: str, rounding: str) -> None:
    options = {"mode": "nearest", "coordinate_transformation_mode": transform, "nearest_mode": rounding}
    # ONNX Runtime takes whole lengths for align_corners; only there do fractional ones differ.
    factors = (1, 1, 2, 3) if transform == "align_corners" else (1, 1, 0.55, 2.3)
    resize(scaled(image(2, 3, 5, 4), *factors), scaled(image(1, 3, 7, 9), *factors), constants=[2], **options)
    resize(sized(image(2, 3, 5, 4), 2, 3, 8, 3), sized(image(2, 3, 9, 7), 2, 3, 4, 17), **options)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("transform", LINEAR_TRANSFORMS)
@pytest.mark.parametrize("channels_last", [False, True])
def test_interpolation(mode: str, transform: str, channels_last: bool) -> None:
    options: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transform}
    if channels_last and mode == "cubic":
        options["versus"] = "float64"  # ONNX Runtime's cubic wants channels in front

    def placed(h: Any, w: Any) -> tuple[Any, ...]:
        return (1, h, w, 1) if channels_last else (1, 1, h, w)

    def shaped(n: int, c: int, h: int, w: int) -> np.ndarray:
        return image(n, h, w, c) if channels_last else image(n, c, h, w)

    factors = placed(2, 3) if transform == "align_corners" else placed(0.6, 2.5)
    for factor in (factors, placed(2, 2)):
        sets = [scaled(shaped(2, 3, 5, 4), *factor), scaled(shaped(1, 3, 7, 10), *factor)]
        resize(*sets, constants=[2], **options)
    by_size = {**options, "axes": [1, 2] if channels_last else [2, 3], "opset": 18}
    resize(sized(shaped(2, 3, 5, 4), 8, 3), sized(shaped(1, 3, 7, 6), 4, 9), **by_size)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [0, 1])
def test_antialias_and_outside(mode: str, exclude: int) -> None:
    """ONNX Runtime's antialias always excludes what is outside; the reference follows the attribute."""
    options = {"mode": mode, "exclude_outside": exclude, "versus": "float64"}
    for antialias in (0, 1):
        sets = [scaled(image(1, 2, 12, 9), 1, 1, 0.3, 0.55), scaled(image(1, 2, 10, 20), 1, 1, 0.3, 0.55)]
        resize(*sets, constants=[2], antialias=antialias, cubic_coeff_a=-0.5, **options)
        resize(*[sized(x[0], 1, 2, 4, 5) for x in sets], antialias=antialias, **options)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_crop(mode: str) -> None:
    options = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.5}
    roi = np.array([0, 0, 0.4, -0.2, 1, 1, 0.6, 1.3], np.float32)
    sets = [[image(1, 2, 8, h), roi, None, np.array([1, 2, 3, 5])] for h in (6, 9)]
    resize(*sets, constants=[1], **options)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_aspect_ratio(policy: str, mode: str) -> None:
    sets = [sized(image(1, 2, 6, 4), 7, 8), sized(image(1, 2, 9, 5), 4, 11)]
    resize(*sets, axes=[2, 3], keep_aspect_ratio_policy=policy, mode=mode, opset=19)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (1, 2, 3, 4, 5), (2, 1, 2, 3, 4, 2)])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_ranks(shape: tuple[int, ...], mode: str) -> None:
    factors = np.linspace(1.5, 2.5, len(shape)).astype(np.float32)
    resize(scaled(image(*shape), *factors), mode=mode, versus="float64", terms=4 ** len(shape))


@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.uint8, np.int8, np.int16, np.uint16, np.int32, np.int64]
)
def test_dtypes(dtype: Any) -> None:
    x = image(1, 2, 5, 4, dtype=dtype)
    resize(scaled(x, 1, 1, 2, 3), versus="reference", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    if dtype != np.float64:  # the reference evaluator computes cubic weights in float32
        resize(scaled(x, 1, 1, 2, 3), versus="reference", mode="cubic")
    if dtype in (np.uint8, np.int8, np.int32):
        resize(scaled(x, 1, 1, 2, 2), mode="linear")
    elif np.dtype(dtype).kind not in "iu":
        resize(scaled(x, 1, 1, 2, 2), mode="linear", versus="reference")


@pytest.mark.parametrize("dtype", [object, bool, np.complex64])
def test_nearest_moves_anything(dtype: Any) -> None:
    x = np.array([["a", "b"], ["c", "d"]]) if dtype is object else np.array([[0, 1], [1, 1]])
    from tests.grid.harness import make_model
    from trueport.backend import prepare

    x = x.astype(dtype)
    model = make_model("Resize", [scaled(x, 1, 2)], opset=19, constants=[2])
    (got,) = prepare(model).run([x])
    np.testing.assert_array_equal(got, x.repeat(2, 1))


def test_empty() -> None:
    resize(sized(image(0, 2, 5, 4), 0, 2, 3, 8), sized(image(1, 2, 5, 4), 1, 2, 3, 8), mode="linear", versus="float64")


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample(mode: str, padding: str, align: int) -> None:
    def places(batch: int, *sizes: int) -> np.ndarray:
        return (image(batch, *sizes, len(sizes)) * 1.2).astype(np.float32)

    options = {"mode": mode, "padding_mode": padding, "align_corners": align, "opset": 20, "terms": 16}
    check("GridSample", [image(2, 3, 5, 4), places(2, 3, 6)], [image(1, 3, 2, 7), places(1, 4, 1)], **options)
    if mode != "cubic":  # ONNX Runtime's cubic is two-dimensional
        check("GridSample", [image(2, 3, 5, 4, 3), places(2, 3, 6, 2)], **options)
    options["versus"] = "reference"
    if mode == "linear" or (padding == "zeros" and align):
        check("GridSample", [image(2, 1, 3, 2, 3), places(2, 2, 2, 2)], **options)
    if (mode, padding) != ("cubic", "border"):  # the reference evaluator clamps the place, not its neighbors
        check("GridSample", [image(2, 3, 5), places(2, 6)], **options)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32, np.uint8, bool])
def test_grid_sample_dtypes(dtype: Any) -> None:
    x = np.abs(image(1, 2, 4, 5) * 9).astype(dtype)
    grid = image(1, 3, 3, 2)
    check("GridSample", [x, grid], mode="nearest", versus="reference", opset=22)
    if dtype == np.float16:
        check("GridSample", [x, grid], versus="reference", opset=22, terms=16)
    if dtype == np.float64:  # the reference evaluator rounds coordinates to float32
        check("GridSample", [x, grid.astype(np.float64)], opset=22, terms=16)


@pytest.mark.parametrize("align", [0, 1])
def test_affine_grid(align: int) -> None:
    for sizes in ([2, 3, 4, 5], [2, 1, 3, 4, 2]):
        spatial = len(sizes) - 2
        inputs = [image(2, spatial, spatial + 1), np.array(sizes)]
        check("AffineGrid", inputs, align_corners=align, terms=4, fixed=[1], opset=20)
        check("AffineGrid", inputs, align_corners=align, terms=4, constants=[1], opset=20)
