"""Windows of images laid out one beside the other, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE, ulps
from trueport.formulas.images.spatial import size_at
from trueport.formulas.images.windows import extents, same_pads
from trueport.formulas.indexing.indices import shaped
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.dtypes import numpy_dtype
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("ExtractImagePatches", domain=TF, fidelity=BITWISE)
def extract_image_patches(
    t: Translation, images: ir.Value, *, ksizes: list[int], strides: list[int], rates: list[int], padding: str
) -> ir.Value:
    return _flattened(t, images, ksizes[1:-1], strides[1:-1], rates[1:-1], padding)


@maps("ExtractVolumePatches", domain=TF, fidelity=BITWISE)
def extract_volume_patches(
    t: Translation, input: ir.Value, *, ksizes: list[int], strides: list[int], padding: str
) -> ir.Value:
    return _flattened(t, input, ksizes[1:-1], strides[1:-1], [1] * (len(ksizes) - 2), padding)


@maps("Dilation2D", domain=TF, error=ulps(1))
def dilation2d(
    t: Translation, input: ir.Value, filter: ir.Value, *, strides: list[int], rates: list[int], padding: str
) -> ir.Value:
    dtype = t.dtype(input)
    if not dtype.is_floating_point():
        raise t.fail(
            f"dilates {dtype.name}: the lowest integer, which pads, would overflow when the filter is added to it",
            "cast the data to float32",
        )
    kernel = [size for size in t.dims(filter)[:2] if size is not None]
    if len(kernel) < 2:
        raise t.fail(
            "the filter's size is not known; the windows' places are constants in ONNX",
            "fix it (tf.ensure_shape, or --shape NAME=DIMS of an input)",
        )
    windows = _windows(t, input, kernel, strides[1:-1], rates[1:-1], padding, t.op.like(-np.inf, input))
    # (batch, rows, kernel rows, columns, kernel columns, channels)
    weights = t.op.Unsqueeze(filter, [1])
    sums = t.op.Add(windows, weights)
    # TensorFlow starts at the lowest number and takes what is greater: NaN never is.
    lowest = t.op.like(ml_dtypes.finfo(numpy_dtype(dtype)).min, input)
    return t.op.ReduceMax(t.op.Where(t.op.IsNaN(sums), lowest, t.op.Max(sums, lowest)), [2, 4], keepdims=0)


def _flattened(
    t: Translation,
    images: ir.Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
) -> ir.Value:
    rank = len(kernel)
    windows = _windows(t, images, kernel, strides, rates, padding, None)
    counts = [1 + 2 * axis for axis in range(rank)]
    inner = [2 + 2 * axis for axis in range(rank)]
    ordered = t.op.Transpose(windows, perm=[0, *counts, *inner, 2 * rank + 1])
    depth = t.op.Mul(size_at(t, images, rank + 1), [int(np.prod(kernel))])
    outer = t.op.Shape(ordered, start=0, end=rank + 1)
    return shaped(t, ordered, t.op.Concat(outer, depth, axis=0))


def _windows(
    t: Translation,
    images: ir.Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    fill: ir.Value | None,
) -> ir.Value:
    """For each spatial axis two: which window, and which place in it."""
    data = _padded(t, images, extents(kernel, rates), strides, padding, fill)
    for axis, (size, stride, rate) in enumerate(zip(kernel, strides, rates, strict=True)):
        place = 1 + 2 * axis
        reach = (size - 1) * rate + 1
        count = t.op.Add(t.op.Div(t.op.Sub(size_at(t, data, place), [reach]), [stride]), [1])
        starts = t.op.Mul(t.op.Range(0, t.op.Squeeze(count), 1), [stride])
        data = t.op.Gather(data, t.op.Add(t.op.Unsqueeze(starts, [1]), np.arange(size) * rate), axis=place)
    return data


def _padded(
    t: Translation,
    images: ir.Value,
    reach: Sequence[int],
    strides: Sequence[int],
    padding: str,
    fill: ir.Value | None,
) -> ir.Value:
    if padding == "VALID":
        return images
    axes = list(range(1, 1 + len(reach)))
    known = [
        same_pads(t.dims(images)[axis], *pair)
        for axis, pair in zip(axes, zip(reach, strides, strict=True), strict=True)
    ]
    pairs = [pair for pair in known if pair is not None]
    if len(pairs) == len(known):
        pads = t.op.const(np.array([*(p[0] for p in pairs), *(p[1] for p in pairs)], np.int64))
    else:
        pads = _computed_pads(t, images, axes, np.array(reach), np.array(strides))
    return t.op.Pad(images, pads, fill, axes)


def _computed_pads(
    t: Translation, images: ir.Value, axes: Sequence[int], reach: np.ndarray, strides: np.ndarray
) -> ir.Value:
    sizes = t.op.Concat(*(size_at(t, images, axis) for axis in axes), axis=0)
    windows = t.op.Div(t.op.Add(sizes, strides - 1), strides)
    covered = t.op.Add(t.op.Mul(t.op.Sub(windows, [1]), strides), reach)
    total = t.op.Max(t.op.Sub(covered, sizes), [0])
    before = t.op.Div(total, [2])
    return t.op.Concat(before, t.op.Sub(total, before), axis=0)
