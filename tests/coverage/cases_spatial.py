"""Convolutions, pooling, normalization, images, and model families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.coverage.case import AnyCase, Cannot, Case, Elsewhere, NoGraph

__all__ = ["CASES"]

LINE, PLANE, VOLUME = (8, 4), (8, 6, 4), (4, 6, 4, 2)
IMAGE = (8, 6, 3)


def values(*shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(low, high, size=shape).astype(np.float32)


def batches(shape: Sequence[int], low: float = -1.0, high: float = 1.0) -> list[list[np.ndarray]]:
    return [[values(count, *shape, low=low, high=high)] for count in (2, 3)]


def layer(name: str, shape: Sequence[int], *arguments: Any, label: str = "", high: float = 1.0, **options: Any) -> Case:
    def make() -> keras.Model:
        model = keras.Sequential([keras.Input(shape), getattr(keras.layers, name)(*arguments, **options)])
        rng = np.random.default_rng(0)
        for weight in model.weights:
            if "float" in weight.dtype:
                weight.assign(rng.uniform(0.5, 1.5, weight.shape))
        return model

    low = -1.0 if high == 1.0 else 0.0
    return Case(f"keras.layers.{name}", make, batches(shape, low, high), label=label)


def function(
    name: str, call: Callable[..., Any], samples: Sequence[Sequence[Any]], label: str = "", **options: Any
) -> Case:
    return Case(name, lambda: call, samples, options, label)


def _undilated(layer: Any) -> keras.Model:
    """Return the model of a dilated layer as one with zeros in a larger kernel, whose kernel every CPU has."""
    model = keras.Sequential([keras.Input(PLANE), layer])
    rng = np.random.default_rng(0)
    kernel, bias = layer.weights
    small = rng.uniform(0.5, 1.5, ((kernel.shape[0] + 1) // 2, (kernel.shape[1] + 1) // 2, *kernel.shape[2:]))
    large = np.zeros(kernel.shape)
    large[::2, ::2] = small
    kernel.assign(large)
    bias.assign(rng.uniform(0.5, 1.5, bias.shape))
    return model


_LAYERS = [
    *(
        layer(f"{prefix}Conv{tail}", shape, 3, 3, label="" if padding == "valid" else padding, padding=padding)
        for prefix, tail, shape in (("", "1D", LINE), ("", "2D", PLANE), ("", "3D", VOLUME))
        for padding in ("valid", "same")
        if not (tail == "3D" and padding == "valid")
    ),
    layer("Convolution1D", LINE, 3, 3, strides=2),
    layer("Convolution2D", PLANE, 3, 3, dilation_rate=2),
    layer("Convolution3D", VOLUME, 3, 2, strides=2),
    layer("Conv2D", PLANE, 4, 3, groups=2, label="groups"),
    layer("Conv1D", LINE, 4, 3, padding="causal", dilation_rate=2, label="causal"),
    *(
        layer(f"Conv{tail}DTranspose", shape, 3, 3, strides=2, padding=padding, label=padding)
        for tail, shape in ((1, LINE), (2, PLANE), (3, VOLUME))
        for padding in ("valid", "same")
    ),
    *(layer(f"Convolution{tail}DTranspose", shape, 3, 2) for tail, shape in ((1, LINE), (2, PLANE), (3, VOLUME))),
    replace(
        layer("Conv2DTranspose", PLANE, 3, 3, dilation_rate=2, label="dilated"),
        make_referee=lambda: _undilated(keras.layers.Conv2DTranspose(3, 5)),
    ),
    layer("DepthwiseConv1D", LINE, 3, depth_multiplier=2),
    layer("DepthwiseConv2D", PLANE, 3, padding="same"),
    layer("DepthwiseConv2D", PLANE, 3, dilation_rate=2, label="dilated"),
    *(layer(f"{name}1D", LINE, 5, 3) for name in ("SeparableConv", "SeparableConvolution")),
    *(layer(f"{name}2D", PLANE, 5, 3, padding="same") for name in ("SeparableConv", "SeparableConvolution")),
    *(
        layer(f"{kind}{tail}D", shape, 2, padding=padding, label=padding)
        for kind in ("MaxPool", "MaxPooling", "AvgPool", "AveragePooling")
        for tail, shape in ((1, LINE), (2, PLANE), (3, VOLUME))
        for padding in ("valid", "same")
    ),
    *(
        layer(f"Global{kind}{tail}D", shape, keepdims=kept, label="kept" if kept else "")
        for kind in ("MaxPool", "MaxPooling", "AvgPool", "AveragePooling")
        for tail, shape in ((1, LINE), (2, PLANE), (3, VOLUME))
        for kept in (False, True)
    ),
    *(
        layer(f"Adaptive{kind}Pooling{tail}D", shape, 3)
        for kind in ("Max", "Average")
        for tail, shape in ((1, LINE), (2, PLANE), (3, VOLUME))
    ),
    layer("BatchNormalization", PLANE),
    layer("BatchNormalization", LINE, axis=1, label="first"),
    layer("LayerNormalization", PLANE),
    layer("GroupNormalization", PLANE, groups=2),
    layer("RMSNormalization", PLANE),
    layer("UnitNormalization", PLANE),
    Case(
        "keras.layers.SpectralNormalization",
        lambda: keras.Sequential([keras.Input(PLANE), keras.layers.SpectralNormalization(keras.layers.Conv2D(3, 3))]),
        batches(PLANE),
    ),
    *(layer(f"ZeroPadding{tail}D", shape, 2) for tail, shape in ((1, LINE), (2, PLANE), (3, VOLUME))),
    *(layer(f"Cropping{tail}D", shape, 1) for tail, shape in ((1, LINE), (2, PLANE), (3, VOLUME))),
    *(layer(f"UpSampling{tail}D", shape, 2) for tail, shape in ((1, LINE), (2, PLANE), (3, VOLUME))),
    *(
        layer("UpSampling2D", PLANE, 2, interpolation=mode, label=mode)
        for mode in ("bilinear", "bicubic", "lanczos3", "lanczos5")
    ),
    layer("CenterCrop", IMAGE, 5, 4),
    layer("CenterCrop", IMAGE, 12, 5, label="enlarged"),
    *(
        layer("Resizing", IMAGE, 5, 9, interpolation=mode, label=mode)
        for mode in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5")
    ),
    layer("Resizing", IMAGE, 5, 9, antialias=True, label="antialias"),
    layer("Resizing", IMAGE, 5, 9, crop_to_aspect_ratio=True, label="cropped"),
    layer("Resizing", IMAGE, 5, 9, pad_to_aspect_ratio=True, label="padded"),
    *(
        layer(name, IMAGE, *arguments, high=255.0)
        for name, *arguments in (
            ("AugMix",),
            ("AutoContrast",),
            ("CutMix",),
            ("MixUp",),
            ("RandAugment",),
            ("RandomBrightness", 0.2),
            ("RandomColorDegeneration", 0.2),
            ("RandomColorJitter",),
            ("RandomContrast", 0.2),
            ("RandomCrop", 5, 4),
            ("RandomElasticTransform",),
            ("RandomErasing",),
            ("RandomFlip",),
            ("RandomGaussianBlur",),
            ("RandomGrayscale",),
            ("RandomHue", 0.2),
            ("RandomInvert",),
            ("RandomPerspective",),
            ("RandomPosterization", 4),
            ("RandomRotation", 0.2),
            ("RandomSaturation", 0.2),
            ("RandomSharpness", 0.2),
            ("RandomShear", 0.2, 0.2),
            ("RandomTranslation", 0.2, 0.2),
            ("RandomZoom", 0.2),
            ("Solarization", 0.1, 0.4),
            ("ContrastLimitedAdaptiveHistogramEqualization",),
        )
    ),
    function("keras.layers.Equalization", lambda x: keras.layers.Equalization()(x), batches(IMAGE, 0, 255)),
    layer("Pipeline", IMAGE, [keras.layers.CenterCrop(5, 4), keras.layers.RandomFlip()]),
    NoGraph("keras.layers.MaxNumBoundingBoxes", "changes labels of boxes while data are prepared; images pass through"),
]

K = keras.ops
_KERAS_OPS = [
    function("keras.ops.adaptive_average_pool", lambda x: K.adaptive_average_pool(x, 3), batches(PLANE)),
    function("keras.ops.adaptive_max_pool", lambda x: K.adaptive_max_pool(x, 3), batches(PLANE)),
    function("keras.ops.average_pool", lambda x: K.average_pool(x, 3, 2, "same"), batches(PLANE)),
    function("keras.ops.max_pool", lambda x: K.max_pool(x, 3, 2, "same"), batches(PLANE)),
    function(
        "keras.ops.batch_normalization",
        lambda x: K.batch_normalization(x, values(4), values(4, low=0.5), -1, values(4), values(4)),
        batches(PLANE),
    ),
    function("keras.ops.layer_normalization", lambda x: K.layer_normalization(x, values(4), values(4)), batches(PLANE)),
    function("keras.ops.rms_normalization", lambda x: K.rms_normalization(x, values(4)), batches(PLANE)),
    function("keras.ops.conv", lambda x: K.conv(x, values(3, 3, 4, 2), 2, "same"), batches(PLANE)),
    function("keras.ops.conv_transpose", lambda x: K.conv_transpose(x, values(3, 3, 2, 4), 2, "same"), batches(PLANE)),
    function("keras.ops.depthwise_conv", lambda x: K.depthwise_conv(x, values(3, 3, 4, 2)), batches(PLANE)),
    function(
        "keras.ops.separable_conv",
        lambda x: K.separable_conv(x, values(3, 3, 4, 2), values(1, 1, 8, 3)),
        batches(PLANE),
    ),
    function("keras.ops.unfold", lambda x: K.unfold(x, 2, stride=2), [[values(2, 3, 6, 4)]]),
    function("keras.ops.fold", lambda x: K.fold(x, (4, 4), 2, stride=2), [[values(1, 8, 4)]]),
]

P = keras.ops.image
_TURN = np.array([0.9, 0.3, -1.25, -0.2, 1.1, 0.5, 0.0, 0.0], np.float32)
_CORNERS = np.array([[0, 0], [0, 7], [5, 0], [5, 7]], np.float32)
_KERAS_IMAGE = [
    function("keras.ops.image.affine_transform", lambda x: P.affine_transform(x, _TURN), batches(IMAGE)),
    function(
        "keras.ops.image.affine_transform",
        lambda x: P.affine_transform(x, _TURN, "nearest", "reflect"),
        batches(IMAGE),
        label="reflect",
    ),
    function("keras.ops.image.crop_images", lambda x: P.crop_images(x, 1, 2, 3, 1), batches(IMAGE)),
    function("keras.ops.image.pad_images", lambda x: P.pad_images(x, 1, 2, 3, 1), batches(IMAGE)),
    function("keras.ops.image.extract_patches", lambda x: P.extract_patches(x, (3, 2)), batches(IMAGE)),
    function("keras.ops.image.extract_patches_3d", lambda x: P.extract_patches_3d(x, 2), batches(VOLUME)),
    function("keras.ops.image.gaussian_blur", lambda x: P.gaussian_blur(x), batches(IMAGE)),
    function("keras.ops.image.hsv_to_rgb", lambda x: P.hsv_to_rgb(x), batches(IMAGE, 0, 1)),
    function("keras.ops.image.rgb_to_hsv", lambda x: P.rgb_to_hsv(x), batches(IMAGE, 0, 1)),
    function("keras.ops.image.rgb_to_grayscale", lambda x: P.rgb_to_grayscale(x), batches(IMAGE, 0, 1)),
    *(
        function(
            "keras.ops.image.map_coordinates",
            lambda x, order=order: P.map_coordinates(x, values(2, 5, low=-1, high=7), order, "constant"),
            [[values(8, 6)]],
            label=str(order),
        )
        for order in (0, 1)
    ),
    function(
        "keras.ops.image.perspective_transform",
        lambda x: P.perspective_transform(x, _CORNERS[None].repeat(2, 0), _CORNERS[None].repeat(2, 0) * 0.8 + 0.3),
        [[values(2, *IMAGE)]],
    ),
    function("keras.ops.image.resize", lambda x: P.resize(x, (5, 9)), batches(IMAGE)),
    function("keras.ops.image.resize", lambda x: P.resize(x, (5, 9), "bicubic"), batches(IMAGE), label="bicubic"),
    function(
        "keras.ops.image.scale_and_translate",
        lambda x: P.scale_and_translate(
            x, (5, 9, 3), np.array([0.7, 1.4], np.float32), np.array([0.3, -0.2], np.float32), (0, 1), "cubic"
        ),
        [[values(8, 6, 3)]],
    ),
    function("keras.ops.image.sobel_edges", lambda x: P.sobel_edges(x), batches(IMAGE)),
    function(
        "keras.ops.image.ssim",
        lambda x, y: P.ssim(x, y, 1.0),
        [[values(2, 16, 16, 3, low=0), values(2, 16, 16, 3, low=0, high=0.9)]],
    ),
    function(
        "keras.ops.image.elastic_transform",
        lambda x: P.elastic_transform(x, seed=1),
        batches(IMAGE),
        ignore_values=True,
    ),
]

N = tf.nn
_TF_NN = [
    function("tf.nn.atrous_conv2d", lambda x: N.atrous_conv2d(x, values(3, 3, 4, 2), 2, "SAME"), batches(PLANE)),
    function(
        "tf.nn.atrous_conv2d_transpose",
        lambda x: N.atrous_conv2d_transpose(x, values(3, 3, 2, 4), [tf.shape(x)[0], 8, 6, 2], 2, "SAME"),
        batches(PLANE),
    ),
    *(
        function(
            f"tf.nn.{kind}_pool{tail}",
            lambda x, name=f"{kind}_pool{tail}": getattr(N, name)(x, 2, 2, "SAME"),
            batches(shape),
        )
        for kind in ("avg", "max")
        for tail, shape in (("1d", LINE), ("2d", PLANE), ("3d", VOLUME), ("", PLANE))
    ),
    function("tf.nn.max_pool_with_argmax", lambda x: N.max_pool_with_argmax(x, 2, 2, "SAME"), batches(PLANE)),
    function("tf.nn.pool", lambda x: N.pool(x, [2, 2], "MAX", [1, 1], "VALID", None, [2, 2]), batches(PLANE)),
    function(
        "tf.nn.batch_norm_with_global_normalization",
        lambda x: N.batch_norm_with_global_normalization(
            x, values(4), values(4, low=0.5), values(4), values(4), 1e-3, True
        ),
        batches(PLANE),
    ),
    function(
        "tf.nn.batch_normalization",
        lambda x: N.batch_normalization(x, values(4), values(4, low=0.5), values(4), values(4), 1e-3),
        batches(PLANE),
    ),
    function("tf.nn.conv1d", lambda x: N.conv1d(x, values(3, 4, 2), 2, "SAME"), batches(LINE)),
    function("tf.nn.conv2d", lambda x: N.conv2d(x, values(3, 3, 4, 2), 2, "SAME"), batches(PLANE)),
    function("tf.nn.conv3d", lambda x: N.conv3d(x, values(2, 2, 2, 2, 3), [1] * 5, "SAME"), batches(VOLUME)),
    function("tf.nn.convolution", lambda x: N.convolution(x, values(3, 3, 4, 2), dilations=2), batches(PLANE)),
    function(
        "tf.nn.conv1d_transpose",
        lambda x: N.conv1d_transpose(x, values(3, 2, 4), [tf.shape(x)[0], 16, 2], 2),
        batches(LINE),
    ),
    function(
        "tf.nn.conv2d_transpose",
        lambda x: N.conv2d_transpose(x, values(3, 3, 2, 4), [tf.shape(x)[0], 16, 12, 2], 2),
        batches(PLANE),
    ),
    function(
        "tf.nn.conv3d_transpose",
        lambda x: N.conv3d_transpose(x, values(3, 3, 3, 3, 2), [tf.shape(x)[0], 8, 12, 8, 3], 2),
        batches(VOLUME),
    ),
    function(
        "tf.nn.conv_transpose",
        lambda x: N.conv_transpose(x, values(3, 3, 2, 4), [tf.shape(x)[0], 16, 12, 2], 2),
        batches(PLANE),
    ),
    function(
        "tf.nn.depthwise_conv2d",
        lambda x: N.depthwise_conv2d(x, values(3, 3, 4, 2), [1, 1, 1, 1], "SAME"),
        batches(PLANE),
    ),
    function(
        "tf.nn.depthwise_conv2d_backprop_input",
        lambda x: N.depthwise_conv2d_backprop_input([2, 8, 6, 4], values(3, 3, 4, 1), x, [1, 1, 1, 1], "SAME"),
        [[values(2, *PLANE)]],
    ),
    Cannot(
        "tf.nn.depthwise_conv2d_backprop_filter",
        lambda: lambda x, y: N.depthwise_conv2d_backprop_filter(x, [3, 3, 4, 1], y, [1, 1, 1, 1], "SAME"),
        [[values(2, *PLANE), values(2, *PLANE)]],
        "the gradient of a kernel belongs to training; ONNX has no such operator",
        "DepthwiseConv2dNativeBackpropFilter",
    ),
    function(
        "tf.nn.dilation2d", lambda x: N.dilation2d(x, values(3, 3, 4), [1] * 4, "SAME", "NHWC", [1] * 4), batches(PLANE)
    ),
    function(
        "tf.nn.erosion2d", lambda x: N.erosion2d(x, values(3, 3, 4), [1] * 4, "SAME", "NHWC", [1] * 4), batches(PLANE)
    ),
    *(
        Cannot(
            f"tf.nn.fractional_{kind}_pool",
            lambda name=f"fractional_{kind}_pool": lambda x: getattr(N, name)(x, [1.0, 1.4, 1.4, 1.0], seed=1)[0],
            batches(PLANE),
            "its windows are drawn at random each time; ONNX's pools have fixed windows",
            f"Fractional{kind.title()}Pool",
        )
        for kind in ("max", "avg")
    ),
    *(
        function(f"tf.nn.{name}", lambda x, name=name: getattr(N, name)(x, 2, 1.0, 0.5, 0.75), batches(PLANE))
        for name in ("local_response_normalization", "lrn")
    ),
    function(
        "tf.nn.separable_conv2d",
        lambda x: N.separable_conv2d(x, values(3, 3, 4, 2), values(1, 1, 8, 3), [1] * 4, "SAME"),
        batches(PLANE),
    ),
    function(
        "tf.nn.with_space_to_batch",
        lambda x: N.with_space_to_batch(
            x,
            [2, 2],
            "SAME",
            lambda y, spatial, pads: N.conv2d(y, values(3, 3, 4, 2), 1, "VALID"),
            filter_shape=[3, 3, 4, 2],
        ),
        batches(PLANE),
    ),
]

_STATISTICS = [
    function("tf.nn.moments", lambda x: N.moments(x, [1, 2]), batches(PLANE), label="planes"),
    function("tf.nn.weighted_moments", lambda x: N.weighted_moments(x, [1, 2], 0.5), batches(PLANE), label="planes"),
    function("tf.nn.sufficient_statistics", lambda x: N.sufficient_statistics(x, [1, 2])[:3], batches(PLANE)),
    function(
        "tf.nn.normalize_moments",
        lambda x: N.normalize_moments(48.0, tf.reduce_sum(x, [1, 2]), tf.reduce_sum(x * x, [1, 2]), None),
        batches(PLANE),
    ),
]

T = tf.image
_UNIT = batches(IMAGE, 0, 1)
_LARGE = [[values(2, 16, 16, 3, low=0), values(2, 16, 16, 3, low=0, high=0.9)]]
_SCALED = [[values(1, 180, 180, 1, low=0), values(1, 180, 180, 1, low=0, high=0.9)]]
_BOXES = values(9, 4, low=0)
_SCORES = values(9, low=0)
_PNG = tf.io.encode_png(np.zeros((2, 2, 3), np.uint8)).numpy()
_CODEC = "ONNX's ImageDecoder has no kernel in ONNX Runtime, and nothing in ONNX writes a file format"
_CODED = np.array(_PNG, dtype=object)
_PIXELS = (values(4, 4, 3, low=0) * 255).astype(np.uint8)


def codec(name: str, call: Callable[[Any], Any], sample: Any) -> Cannot:
    return Cannot(f"tf.image.{name}", lambda: call, [[sample]], _CODEC, "no mapping")


def drawn(name: str, call: Callable[[Any], Any]) -> Case:
    return function(f"tf.image.{name}", call, batches(IMAGE, 0, 1), ignore_values=True)


_TF_IMAGE = [
    NoGraph("tf.image.ResizeMethod", "names of ways to resize"),
    function("tf.image.adjust_brightness", lambda x: T.adjust_brightness(x, 0.2), _UNIT),
    function("tf.image.adjust_contrast", lambda x: T.adjust_contrast(x, 1.5), _UNIT),
    function("tf.image.adjust_gamma", lambda x: T.adjust_gamma(x, 1.5, 2.0), _UNIT),
    function("tf.image.adjust_hue", lambda x: T.adjust_hue(x, 0.3), _UNIT),
    function("tf.image.adjust_saturation", lambda x: T.adjust_saturation(x, 1.5), _UNIT),
    codec("adjust_jpeg_quality", lambda x: T.adjust_jpeg_quality(x, 50), _PIXELS),
    function("tf.image.central_crop", lambda x: T.central_crop(x, 0.5), _UNIT),
    function(
        "tf.image.combined_non_max_suppression",
        lambda b, s: T.combined_non_max_suppression(b, s, 4, 9, 0.4, 0.2),
        [[values(n, 9, 1, 4, low=0), values(n, 9, 3, low=0)] for n in (1, 2)],
    ),
    function("tf.image.convert_image_dtype", lambda x: T.convert_image_dtype(x, tf.uint8), _UNIT),
    function(
        "tf.image.crop_and_resize",
        lambda x, b: T.crop_and_resize(x, b, [0, 1], (3, 4)),
        [[values(2, *IMAGE), values(2, 4, low=0)]],
    ),
    function("tf.image.crop_to_bounding_box", lambda x: T.crop_to_bounding_box(x, 1, 2, 4, 3), _UNIT),
    codec("decode_and_crop_jpeg", lambda x: T.decode_and_crop_jpeg(x, [0, 0, 1, 1]), _CODED),
    *(
        codec(f"decode_{kind}", lambda x, name=f"decode_{kind}": getattr(T, name)(x), _CODED)
        for kind in ("bmp", "gif", "image", "jpeg", "jxl", "png", "webp")
    ),
    function(
        "tf.image.draw_bounding_boxes",
        lambda x, b: T.draw_bounding_boxes(x, b, values(2, 3, low=0)),
        [[values(n, *IMAGE), values(n, 2, 4, low=0)] for n in (1, 2)],
    ),
    codec("encode_jpeg", lambda x: T.encode_jpeg(x), _PIXELS),
    codec("encode_png", lambda x: T.encode_png(x), _PIXELS),
    Cannot(
        "tf.image.extract_glimpse",
        lambda: lambda x: T.extract_glimpse(x, [3, 3], [[0.0, 0.0], [0.1, 0.2]]),
        [[values(2, *IMAGE)]],
        "what lies outside of the image is drawn at random",
        "ExtractGlimpse",
    ),
    codec("extract_jpeg_shape", lambda x: T.extract_jpeg_shape(x), _CODED),
    function(
        "tf.image.extract_patches",
        lambda x: T.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1] * 4, "VALID"),
        _UNIT,
    ),
    function("tf.image.flip_left_right", T.flip_left_right, _UNIT),
    function("tf.image.flip_up_down", T.flip_up_down, _UNIT),
    Cannot(
        "tf.image.generate_bounding_box_proposals",
        lambda: lambda s, d: T.generate_bounding_box_proposals(s, d, values(1, 5), values(2, 3, 4), pre_nms_topn=5),
        [[values(1, 2, 2, 3), values(1, 2, 2, 12)]],
        "TensorFlow itself has no kernel for it on CPUs, so that there is nothing to compare with",
        "GenerateBoundingBoxProposals",
    ),
    function("tf.image.grayscale_to_rgb", T.grayscale_to_rgb, batches((8, 6, 1))),
    function("tf.image.hsv_to_rgb", T.hsv_to_rgb, _UNIT),
    function("tf.image.rgb_to_hsv", T.rgb_to_hsv, _UNIT),
    function("tf.image.image_gradients", T.image_gradients, _UNIT),
    Cannot(
        "tf.image.is_jpeg",
        lambda: lambda x: T.is_jpeg(x),
        [[_CODED]],
        "it compares with bytes that are no text; ONNX's strings are UTF-8",
        "is_jpeg",
    ),
    function("tf.image.non_max_suppression", lambda b, s: T.non_max_suppression(b, s, 5, 0.4), [[_BOXES, _SCORES]]),
    function(
        "tf.image.non_max_suppression_overlaps",
        lambda o, s: T.non_max_suppression_overlaps(o, s, 5, 0.4),
        [[values(9, 9, low=0), _SCORES]],
    ),
    function(
        "tf.image.non_max_suppression_padded",
        lambda b, s: T.non_max_suppression_padded(b, s, 5, 0.4, pad_to_max_output_size=True),
        [[_BOXES, _SCORES]],
    ),
    function(
        "tf.image.non_max_suppression_with_scores",
        lambda b, s: T.non_max_suppression_with_scores(b, s, 5, 0.4, soft_nms_sigma=0.5),
        [[_BOXES, _SCORES]],
    ),
    function("tf.image.pad_to_bounding_box", lambda x: T.pad_to_bounding_box(x, 1, 2, 12, 11), _UNIT),
    function("tf.image.per_image_standardization", T.per_image_standardization, _UNIT),
    function("tf.image.psnr", lambda x, y: T.psnr(x, y, 1.0), _LARGE),
    function("tf.image.ssim", lambda x, y: T.ssim(x, y, 1.0), _LARGE),
    function("tf.image.ssim_multiscale", lambda x, y: T.ssim_multiscale(x, y, 1.0), _SCALED),
    drawn("random_brightness", lambda x: T.random_brightness(x, 0.2)),
    drawn("random_contrast", lambda x: T.random_contrast(x, 0.5, 1.5)),
    drawn("random_crop", lambda x: T.random_crop(x, [2, 4, 3, 3])),
    drawn("random_flip_left_right", T.random_flip_left_right),
    drawn("random_flip_up_down", T.random_flip_up_down),
    drawn("random_hue", lambda x: T.random_hue(x, 0.2)),
    drawn("random_saturation", lambda x: T.random_saturation(x, 0.5, 1.5)),
    codec("random_jpeg_quality", lambda x: T.random_jpeg_quality(x, 50, 90), _PIXELS),
    codec("stateless_random_jpeg_quality", lambda x: T.stateless_random_jpeg_quality(x, 50, 90, (1, 2)), _PIXELS),
    *(
        function("tf.image.resize", lambda x, mode=mode: T.resize(x, (5, 9), mode), _UNIT, label=mode)
        for mode in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian", "mitchellcubic")
    ),
    function("tf.image.resize_with_crop_or_pad", lambda x: T.resize_with_crop_or_pad(x, 5, 9), _UNIT),
    function("tf.image.resize_with_pad", lambda x: T.resize_with_pad(x, 5, 9), _UNIT),
    function("tf.image.rgb_to_grayscale", T.rgb_to_grayscale, _UNIT),
    function("tf.image.rgb_to_yiq", T.rgb_to_yiq, _UNIT),
    function("tf.image.rgb_to_yuv", T.rgb_to_yuv, _UNIT),
    function("tf.image.yiq_to_rgb", T.yiq_to_rgb, _UNIT),
    function("tf.image.yuv_to_rgb", T.yuv_to_rgb, _UNIT),
    function("tf.image.rot90", T.rot90, _UNIT),
    function("tf.image.sobel_edges", T.sobel_edges, _UNIT),
    function("tf.image.total_variation", T.total_variation, _UNIT),
    function("tf.image.transpose", T.transpose, _UNIT),
    *(
        Cannot(
            f"tf.image.{name}",
            lambda name=name, seed=seed: lambda b: getattr(T, name)([20, 20, 3], b, seed, min_object_covered=0.1),
            [[values(1, 2, 4, low=0)]],
            "it draws boxes until one covers enough of an object; ONNX has no such operator",
            "SampleDistortedBoundingBox",
        )
        for name, seed in (("sample_distorted_bounding_box", 1), ("stateless_sample_distorted_bounding_box", (1, 2)))
    ),
    drawn("stateless_random_brightness", lambda x: T.stateless_random_brightness(x, 0.2, (1, 2))),
    drawn("stateless_random_contrast", lambda x: T.stateless_random_contrast(x, 0.5, 1.5, (1, 2))),
    drawn("stateless_random_crop", lambda x: T.stateless_random_crop(x, [2, 4, 3, 3], (1, 2))),
    drawn("stateless_random_flip_left_right", lambda x: T.stateless_random_flip_left_right(x, (1, 2))),
    drawn("stateless_random_flip_up_down", lambda x: T.stateless_random_flip_up_down(x, (1, 2))),
    drawn("stateless_random_hue", lambda x: T.stateless_random_hue(x, 0.2, (1, 2))),
    drawn("stateless_random_saturation", lambda x: T.stateless_random_saturation(x, 0.5, 1.5, (1, 2))),
]

_APPLICATIONS = [
    Elsewhere(f"keras.applications.{name}", "tests/frontends/test_applications.py")
    for name in sorted(vars(keras.applications))
    if callable(getattr(keras.applications, name))
]

CASES: list[AnyCase] = [
    *_LAYERS,
    *_KERAS_OPS,
    *_KERAS_IMAGE,
    *_TF_NN,
    *_STATISTICS,
    *_TF_IMAGE,
    *_APPLICATIONS,
]
