"""Resizing of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_PLACES, BITWISE, accumulation
from trueport.formulas.images.spatial import channels_first, restored
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.shared.interpolation import (
    along_axes,
    computed_places,
    nearest_places,
    resampled,
    static_sizes,
    takes_the_same,
)
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_ONLY_GATHERED = frozenset({ir.DataType.DOUBLE, ir.DataType.INT64})
"""Runtimes resize types that float32 holds; these are taken sample by sample."""


@maps("ResizeBilinear", domain=TF, error=accumulation(8, 4, against=AGAINST_PLACES))
def resize_bilinear(
    t: Translation, images: ir.Value, size: ir.Value, *, align_corners: bool, half_pixel_centers: bool
) -> ir.Value:
    return _resize(
        t, t.cast(images, ir.DataType.FLOAT), size, _centres(align_corners, half_pixel_centers), mode="linear"
    )


@maps("ResizeNearestNeighbor", domain=TF, fidelity=BITWISE)
def resize_nearest(
    t: Translation, images: ir.Value, size: ir.Value, *, align_corners: bool, half_pixel_centers: bool
) -> ir.Value:
    sizes = static_sizes(t, images, size)
    resizable = t.dtype(images) not in _ONLY_GATHERED
    if sizes and resizable and all(takes_the_same(*pair, align_corners, half_pixel_centers) for pair in sizes):
        # Half a pixel up and down again: floor(v) is v - 0.5 rounded, halves upwards.
        upwards = align_corners or half_pixel_centers
        rounding = "round_prefer_ceil" if upwards else "floor"
        centres = _centres(align_corners, half_pixel_centers)
        return _resize(t, images, size, centres, mode="nearest", nearest_mode=rounding)
    made = images
    wanted = t.int64(size)
    for axis in (1, 2):
        if sizes:
            places: Any = nearest_places(*sizes[axis - 1], align_corners, half_pixel_centers)
        else:
            new = t.op.Gather(wanted, np.array(axis - 1))
            places = computed_places(t, images, axis, new, align_corners, half_pixel_centers)
        made = t.op.Gather(made, places, axis=axis)
    return made


@maps("ResizeBicubic", domain=TF, error=accumulation(8, 4, against=AGAINST_PLACES))
def resize_bicubic(
    t: Translation, images: ir.Value, size: ir.Value, *, align_corners: bool, half_pixel_centers: bool
) -> ir.Value:
    # TensorFlow reads its cubic weights from a table of 1024 steps; ONNX's Resize computes them.
    options = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return resampled(t, images, size, along_axes(tf.raw_ops.ResizeBicubic, **options))


@maps("ResizeArea", domain=TF, error=accumulation(8, 4, against=AGAINST_PLACES))
def resize_area(t: Translation, images: ir.Value, size: ir.Value, *, align_corners: bool) -> ir.Value:
    return resampled(t, images, size, along_axes(tf.raw_ops.ResizeArea, align_corners=align_corners))


@maps("ScaleAndTranslate", domain=TF, error=accumulation(8, 4, against=AGAINST_PLACES))
def scale_and_translate(
    t: Translation,
    images: ir.Value,
    size: ir.Value,
    scale: ir.Value,
    translation: ir.Value,
    *,
    kernel_type: str,
    antialias: bool,
) -> ir.Value:
    factors, shifts = t.need(scale, "the scale"), t.need(translation, "the translation")

    def along(axis: int) -> Any:
        return lambda images, size: tf.raw_ops.ScaleAndTranslate(
            images=images,
            size=size,
            scale=[factors[axis], 1.0],
            translation=[shifts[axis], 0.0],
            kernel_type=kernel_type,
            antialias=antialias,
        )

    return resampled(t, images, size, (along(0), along(1)))


def _centres(align_corners: bool, half_pixel_centers: bool) -> str:
    return "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"


def _resize(t: Translation, images: ir.Value, size: ir.Value, centres: str, **options: Any) -> ir.Value:
    made = t.op.Resize(
        channels_first(t, images, "NHWC"),
        None,
        None,
        t.int64(size),
        coordinate_transformation_mode=centres,
        axes=[2, 3],
        **options,
    )
    return restored(t, made, "NHWC")
