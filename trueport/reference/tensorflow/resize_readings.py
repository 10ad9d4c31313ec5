"""TensorFlow's operations that resize pictures, read as ONNX's Resize with one setting or another."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueport.reference.onnx.resize import resize

__all__ = ["resize_readings"]

Setting = Mapping[str, Any]
"""Attributes of ONNX's Resize by name."""

_PLACES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_CROP = "tf_crop_and_resize"
_DEFAULTS: Setting = {
    "antialias": 0,
    "cubic_coeff_a": -0.75,
    "exclude_outside": 0,
    "keep_aspect_ratio_policy": "stretch",
    "nearest_mode": "round_prefer_floor",
}
"""Of what a setting leaves out."""


def resize_readings(operation: Any) -> Iterator[tuple[str, Callable[[Sequence[Any]], np.ndarray]]]:
    """For an operation that resizes: words, what it then makes of its inputs; the nearest to its meaning first."""
    if operation.type not in _MEANT:
        return
    meant = _MEANT[operation.type](operation)
    crops = operation.type == "CropAndResize"
    settings = [setting for setting in _settings(crops=crops) if setting != meant]
    settings.sort(key=lambda setting: len(_differing(setting, meant)))
    for setting in settings:
        way = functools.partial(_cropped, setting, operation) if crops else functools.partial(_resized, setting)
        yield _words(setting, meant), way


def _settings(*, crops: bool) -> Iterator[Setting]:
    for place in (_CROP,) if crops else _PLACES:
        where = {"coordinate_transformation_mode": place}
        yield {"mode": "linear", **where}
        yield from ({"mode": "nearest", **where, "nearest_mode": rounding} for rounding in _NEAREST)
        for a, outside in itertools.product((-0.5, -0.75), (0, 1)):
            yield {"mode": "cubic", **where, "cubic_coeff_a": a, "exclude_outside": outside}


def _differing(setting: Setting, meant: Setting) -> dict[str, Any]:
    return {name: value for name, value in setting.items() if meant.get(name) != value}


def _words(setting: Setting, meant: Setting) -> str:
    said = ", ".join(f"{name} = {value}" for name, value in _differing(setting, meant).items())
    own = ", ".join(f"{name} = {meant[name]}" for name in _differing(setting, meant) if name in meant)
    return f"it behaves as ONNX's Resize with {said}" + (f", the source has {own}" if own else "")


def _centres(operation: Any) -> dict[str, str]:
    aligned, half = operation.get_attr("align_corners"), operation.get_attr("half_pixel_centers")
    return {"coordinate_transformation_mode": _PLACES[2] if aligned else _PLACES[0] if half else _PLACES[1]}


def _bilinear(operation: Any) -> Setting:
    return {"mode": "linear", **_centres(operation)}


def _nearest(operation: Any) -> Setting:
    where = _centres(operation)
    rounding = "floor" if where["coordinate_transformation_mode"] == "asymmetric" else "round_prefer_ceil"
    return {"mode": "nearest", **where, "nearest_mode": rounding}


def _bicubic(operation: Any) -> Setting:
    """Keys' kernel where pixels have their centres at halves; without that an older one, which repeats the border."""
    half = operation.get_attr("half_pixel_centers")
    kernel = {"cubic_coeff_a": -0.5, "exclude_outside": 1} if half else {"cubic_coeff_a": -0.75, "exclude_outside": 0}
    return {"mode": "cubic", **_centres(operation), **kernel}


def _crop(operation: Any) -> Setting:
    where = {"coordinate_transformation_mode": _CROP}
    if operation.get_attr("method") == b"nearest":
        return {"mode": "nearest", **where, "nearest_mode": "round_prefer_ceil"}
    return {"mode": "linear", **where}


_MEANT: Mapping[str, Callable[[Any], Setting]] = {
    "CropAndResize": _crop,
    "ResizeArea": lambda operation: {},
    "ResizeBicubic": _bicubic,
    "ResizeBilinear": _bilinear,
    "ResizeNearestNeighbor": _nearest,
}
"""What an operation is in ONNX's words; nothing where Resize has none for it."""


def _resized(setting: Setting, inputs: Sequence[Any]) -> np.ndarray:
    images, sizes = np.asarray(inputs[0]).astype(np.float64), np.asarray(inputs[1])
    rows, columns = (_matrix(images.shape[axis + 1], int(sizes[axis]), setting)[0] for axis in (0, 1))
    return _taken(rows, images, columns)


def _cropped(setting: Setting, operation: Any, inputs: Sequence[Any]) -> np.ndarray:
    images, boxes, which, sizes = (np.asarray(value) for value in inputs)
    made = []
    for box, image in zip(boxes, which, strict=True):
        (rows, above), (columns, beside) = (
            _matrix(images.shape[axis + 1], int(sizes[axis]), setting, (box[axis], box[axis + 2])) for axis in (0, 1)
        )
        crop = _taken(rows, images[image : image + 1].astype(np.float64), columns)[0]
        crop[above[:, None] | beside[None, :]] = operation.get_attr("extrapolation_value")
        made.append(crop)
    return np.stack(made)


def _taken(rows: np.ndarray, images: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("yh,bhwc,xw->byxc", rows, images, columns, optimize=True))


def _matrix(
    length: int, resized: int, setting: Setting, part: tuple[float, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """How much of each row goes into each new one, and which of these lie outside: what becomes of the unit matrix."""
    attributes = {**_DEFAULTS, **setting, "axes": [0], "extrapolation_value": np.nan}
    roi = None if part is None else np.array(part, np.float32)
    made = resize(np.eye(length), roi, None, np.array([resized]), **attributes)
    assert made is not None, "the axis has elements"
    outside = np.isnan(made).any(axis=1)
    return np.where(outside[:, None], 0.0, made), outside
