"""Pictures: convolutions, pools, resampling, detectors."""

from __future__ import annotations

import numpy as np
import onnx

from bench.faults.strangers.nets.sketch import Sketch, net

__all__ = ["NETS"]


def _same_padding(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 3, 10, 9])
    y = s("Conv", x, s.weight(6, 3, 3, 3), s.weight(6), auto_pad="SAME_UPPER", strides=[2, 2])
    y = s("LeakyRelu", y, alpha=0.2)
    y = s("MaxPool", y, kernel_shape=[2, 2], auto_pad="SAME_LOWER", strides=[1, 1])
    y = s("Conv", y, s.weight(6, 1, 3, 3), auto_pad="SAME_LOWER", strides=[2, 2], group=6)
    return s.finish(s("GlobalMaxPool", y), y)


def _pools(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 2, 11, 11])
    a = s("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, dilations=[1, 2], pads=[1, 0, 1, 0])
    b = s("AveragePool", x, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], count_include_pad=1)
    c = s("AveragePool", x, kernel_shape=[4, 4], strides=[3, 3], ceil_mode=1, pads=[1, 1, 1, 1])
    d = s("LpPool", x, kernel_shape=[3, 3], strides=[2, 2], p=2)
    return s.finish(a, b, c, s("GlobalAveragePool", d), d)


def _grouped(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 8, 7, 7])
    y = s("Conv", x, s.weight(8, 4, 3, 3), s.weight(8), group=2, pads=[1, 1, 1, 1])
    y = s("BatchNormalization", y, s.weight(8, shift=1), s.weight(8), s.weight(8), s.positive(8), epsilon=1e-2)
    y = s("Clip", y, s.number(-1.5), s.number(2.0))
    y = s(
        "ConvTranspose",
        y,
        s.weight(8, 3, 3, 3),
        s.weight(6),
        strides=[2, 2],
        pads=[1, 1, 0, 1],
        group=2,
        output_padding=[1, 0],
    )
    return s.finish(s("Conv", y, s.weight(4, 6, 3, 3), dilations=[2, 1], pads=[2, 0, 1, 1]))


def _volume(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 2, 5, 6, 4])
    y = s("Relu", s("Conv", x, s.weight(3, 2, 2, 3, 2), s.weight(3), pads=[1, 1, 0, 0, 1, 1]))
    y = s("MaxPool", y, kernel_shape=[2, 2, 2], strides=[1, 2, 1])
    y = s("InstanceNormalization", y, s.weight(3, shift=1), s.weight(3), epsilon=1e-4)
    return s.finish(s("ReduceMean", y, s.integers(2, 3), keepdims=0))


def _causal(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 4, 20])
    y = x
    for step in (1, 2, 4):
        padded = s("Pad", y, s.integers(0, 0, 2 * step, 0, 0, 0), s.number(0.0), mode="constant")
        y = s("Add", y, s("Tanh", s("Conv", padded, s.weight(4, 4, 3), s.weight(4), dilations=[step])))
    return s.finish(s("Softmax", y, axis=1))


def _resampled(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 2, 5, 6])
    scales, sizes = s.constant(np.array([1, 1, 1.7, 2], np.float32)), s.integers(1, 2, 8, 9)
    a = s("Resize", x, "", scales, mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    b = s("Resize", x, "", scales, mode="nearest", nearest_mode="round_prefer_ceil")
    c = s("Resize", x, "", scales, mode="cubic", coordinate_transformation_mode="align_corners", exclude_outside=0)
    shape = s("Concat", s("Shape", x, start=0, end=1), s("Slice", sizes, s.integers(1), s.integers(4)), axis=0)
    d = s("Resize", x, "", "", shape, mode="linear", coordinate_transformation_mode="asymmetric")
    return s.finish(s("Add", a, b), c, d)


def _sampled(s: Sketch) -> onnx.ModelProto:
    x, grid = s.input("x", ["N", 2, 6, 6]), s.input("grid", ["N", 4, 5, 2])
    a = s("GridSample", x, grid, mode="linear", padding_mode="border", align_corners=1)
    b = s("GridSample", x, s("Tanh", grid), mode="nearest", padding_mode="zeros")
    return s.finish(s("Sub", a, b))


def _regions(s: Sketch) -> onnx.ModelProto:
    x, boxes = s.input("x", [2, 3, 8, 8]), s.input("boxes", ["R", 4])
    low, size = s("Split", s("Abs", boxes), axis=1, num_outputs=2, outputs=2)
    corners = s("Concat", low, s("Add", low, s("Add", size, s.number(1.0))), axis=1)
    count = s("Shape", boxes, start=0, end=1)
    which = s(
        "Mod",
        s("Range", s.constant(np.int64(0)), s("Squeeze", count), s.constant(np.int64(1))),
        s.constant(np.int64(2)),
    )
    y = s("RoiAlign", x, corners, which, output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.9)
    return s.finish(s("ReduceMax", y, s.integers(2, 3), keepdims=0))


def _centered_boxes(s: Sketch) -> onnx.ModelProto:
    raw, scores = s.input("raw", [1, 10, 4]), s.input("scores", [1, 10, 3])
    center, size = s("Split", raw, s.integers(2, 2), axis=2, outputs=2)
    boxes = s("Concat", center, s("Exp", s("Clip", size, s.number(-2.0), s.number(1.0))), axis=2)
    shares = s("Transpose", s("Softmax", scores, axis=-1), perm=[0, 2, 1])
    thresholds = [s.constant(np.array([value], np.float32)) for value in (0.4, 0.25)]
    chosen = s("NonMaxSuppression", boxes, shares, s.integers(4), *thresholds, center_point_box=1)
    picked = s("Gather", chosen, s.constant(np.int64(2)), axis=1)
    return s.finish(chosen, s("Gather", s("Squeeze", boxes, s.integers(0)), picked, axis=0))


def _pixel_shuffle(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 8, 4, 4])
    a = s("DepthToSpace", x, blocksize=2, mode="DCR")
    b = s("SpaceToDepth", a, blocksize=2)
    padded = s("Pad", s("Mul", b, s.weight(8, 1, 1, shift=1)), s.integers(0, 0, 1, 2, 0, 0, 2, 1), mode="edge")
    return s.finish(a, s("LRN", padded, size=3, alpha=0.3, beta=0.6, bias=1.5))


NETS = (
    net("same_padding", _same_padding),
    net("pools", _pools),
    net("grouped", _grouped),
    net("volume", _volume),
    net("causal", _causal),
    net("resampled", _resampled),
    net("sampled", _sampled),
    net("regions", _regions, sizes=(3, 1, 2, 5)),
    net("centered_boxes", _centered_boxes),
    net("pixel_shuffle", _pixel_shuffle),
)
