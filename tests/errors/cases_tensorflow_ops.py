"""Operators of TensorFlow that ONNX can't express with these types, attributes or open dims."""

from __future__ import annotations

import tensorflow as tf

from tests.errors.converting import DOUBLE, FLOAT, HALF, INT, LONG, STRING, converted, operator, spec

__all__ = ["CASES"]

_SAME = {"strides": [1, 1, 1, 1], "padding": "SAME"}
_DILATED = {**_SAME, "rates": [1, 1, 1, 1]}
_BYTES = spec(tf.quint8)
_ANY = tf.TensorSpec(None, tf.float32)
_OPEN = {"indices": INT(None, None), "updates": _ANY}
_SPARSE = {"input_indices": LONG(None, None), "input_values": FLOAT(None), "input_shape": LONG(None)}
_FLOAT8 = tf.dtypes.experimental.float8_e4m3b11fnuz
_BOXES = {"max_output_size_per_class": 3, "max_total_size": 3, "iou_threshold": 0.5, "score_threshold": 0.1}
_N_GRAMS = {"separator": " ", "ngram_widths": [2], "left_pad": "", "right_pad": "", "pad_width": 0}
_ROWS = {"row_partition_types": ["ROW_SPLITS"], "default_value": 0.0}

_IMAGES = [
    operator(
        "blocks-of-vectors", "SpaceToDepth", {"input": _BYTES(1, 1, 4, 4, 4)}, block_size=2, data_format="NCHW_VECT_C"
    ),
    operator("convolves-integers", "Conv2D", {"input": INT(1, 8, 8, 3), "filter": INT(3, 3, 3, 2)}, **_SAME),
    operator(
        "depthwise-with-open-channels",
        "DepthwiseConv2dNative",
        {"input": FLOAT(1, 8, 8, None), "filter": FLOAT(3, 3, None, 1)},
        **_SAME,
    ),
    operator(
        "transposed-with-an-open-filter",
        "Conv2DBackpropInput",
        {"out_backprop": FLOAT(1, 8, 8, 2), "filter": FLOAT(None, 3, 3, 2)},
        input_sizes=[1, 8, 8, 3],
        **_SAME,
    ),
    operator(
        "transposed-with-open-channels",
        "DepthwiseConv2dNativeBackpropInput",
        {"out_backprop": FLOAT(1, 8, 8, 3), "filter": FLOAT(3, 3, None, 1)},
        input_sizes=[1, 8, 8, 3],
        **_SAME,
    ),
    operator(
        "boxes-on-open-channels",
        "DrawBoundingBoxesV2",
        {"images": FLOAT(1, 8, 8, None), "boxes": FLOAT(1, 2, 4)},
        colors=[[1.0, 0.0, 0.0]],
    ),
    operator(
        "boxes-of-open-classes",
        "CombinedNonMaxSuppression",
        {"boxes": FLOAT(1, 9, None, 4), "scores": FLOAT(1, 9, 2)},
        **_BOXES,
    ),
    operator("dilates-integers", "Dilation2D", {"input": INT(1, 8, 8, 3), "filter": INT(3, 3, 3)}, **_DILATED),
    operator(
        "dilates-with-an-open-filter",
        "Dilation2D",
        {"input": FLOAT(1, 8, 8, 3), "filter": FLOAT(None, 3, 3)},
        **_DILATED,
    ),
    operator("pools-long-integers", "MaxPool", {"input": LONG(1, 8, 8, 3)}, ksize=[1, 2, 2, 1], **_SAME),
    operator(
        "pools-along-channels",
        "MaxPool",
        {"input": FLOAT(1, 4, 8, 8)},
        ksize=[1, 2, 1, 1],
        strides=[1, 2, 1, 1],
        padding="VALID",
        data_format="NCHW",
    ),
    operator("resizes-open-images", "ResizeBicubic", {"images": FLOAT(1, None, None, 3)}, size=[4, 4]),
    operator(
        "warps-doubles",
        "ImageProjectiveTransformV3",
        {"images": DOUBLE(1, 8, 8, 3), "transforms": FLOAT(1, 8)},
        output_shape=[8, 8],
        fill_value=0.0,
        interpolation="BILINEAR",
    ),
]

_NUMBERS = [
    operator("cast-that-truncates", "Cast", {"x": FLOAT(3)}, DstT=tf.float16, Truncate=True),
    converted("type-that-onnx-lacks", lambda x: tf.cast(tf.cast(x, _FLOAT8), tf.float32), FLOAT(3)),
    converted("einsum-to-a-diagonal", lambda x: tf.raw_ops.Einsum(inputs=[x], equation="i->ii"), FLOAT(3)),
    converted(
        "einsum-over-dots",
        lambda x: tf.raw_ops.Einsum(
            inputs=[tf.raw_ops.PlaceholderWithDefault(input=x, shape=None)], equation="...i->i"
        ),
        FLOAT(2, 3),
    ),
    operator("range-of-halves", "Range", {"start": HALF(), "limit": HALF(), "delta": HALF()}),
    operator("eigenvalues-of-open-matrices", "SelfAdjointEigV2", {"input": FLOAT(None, None)}),
    operator("eigenvalues-of-large-matrices", "SelfAdjointEigV2", {"input": FLOAT(600, 600)}),
    operator("singular-values-of-open-matrices", "Svd", {"input": FLOAT(None, 3)}),
    operator("bands-of-open-length", "BandedTriangularSolve", {"matrix": FLOAT(2, None), "rhs": FLOAT(None, 1)}),
    operator(
        "tridiagonal-that-is-perturbed",
        "TridiagonalSolve",
        {"diagonals": FLOAT(3, 4), "rhs": FLOAT(4, 1)},
        perturb_singular=True,
    ),
    operator("tridiagonal-of-open-size", "TridiagonalSolve", {"diagonals": FLOAT(3, None), "rhs": FLOAT(None, 1)}),
    operator("quantizes-to-32-bits", "QuantizeV2", {"input": FLOAT(3)}, min_range=-1.0, max_range=1.0, T=tf.qint32),
    operator(
        "quantizes-by-a-computed-range",
        "QuantizeV2",
        {"input": FLOAT(3), "min_range": FLOAT()},
        max_range=1.0,
        T=tf.quint8,
    ),
    operator(
        "quantizes-an-empty-range",
        "QuantizeV2",
        {"input": FLOAT(3)},
        min_range=0.0,
        max_range=0.0,
        T=tf.qint8,
        mode="MIN_FIRST",
        ensure_minimum_range=0.0,
    ),
    converted(
        "joins-two-ranges",
        lambda x: tf.raw_ops.QuantizedConcat(
            concat_dim=0, values=[x, x], input_mins=[0.0, -1.0], input_maxes=[1.0, 1.0]
        ),
        _BYTES(3),
    ),
    operator("bitcast-to-another-size", "Bitcast", {"input": FLOAT(3)}, type=tf.int16),
    operator("transform-of-open-axes", "RFFT", {"input": FLOAT(8), "fft_length": INT(None)}),
]

_PLACES = [
    operator("axes-that-are-computed", "ReverseV2", {"tensor": FLOAT(2, 3), "axis": INT(1)}),
    operator(
        "gathers-by-open-indices",
        "GatherNd",
        {"params": FLOAT(3, 3), "indices": INT(None, None)},
        bad_indices_policy="IGNORE",
    ),
    operator(
        "scatters-by-open-indices", "TensorScatterUpdate", {"tensor": FLOAT(3, 3), **_OPEN}, bad_indices_policy="IGNORE"
    ),
    operator("adds-by-open-indices", "TensorScatterAdd", {"tensor": FLOAT(3, 3), **_OPEN}),
    operator("scatters-strings", "ScatterNd", {"indices": INT(2, 1), "updates": STRING(2)}, shape=[5]),
    operator("broadcasts-open-shapes", "BroadcastArgs", {"s0": INT(None), "s1": INT(2)}),
    converted(
        "offsets-of-open-shapes", lambda a, b: tf.raw_ops.ConcatOffset(concat_dim=0, shape=[a, b]), INT(None), INT(None)
    ),
    operator(
        "slices-open-axes",
        "StridedSlice",
        {"input": FLOAT(3, 3), "begin": INT(None), "end": INT(None), "strides": INT(None)},
    ),
    operator("rolls-open-axes", "Roll", {"input": FLOAT(3, 3), "shift": INT(None)}, axis=[0, 1]),
    operator(
        "sparse-to-an-open-rank",
        "SparseReshape",
        {"input_indices": LONG(None, 2), "input_shape": LONG(2), "new_shape": LONG(None)},
    ),
    operator("sparse-of-an-open-rank", "SparseReduceSum", _SPARSE, reduction_axes=[0]),
    converted(
        "ragged-to-a-computed-shape",
        lambda n, v, s: tf.raw_ops.RaggedTensorToTensor(shape=n, values=v, row_partition_tensors=[s], **_ROWS),
        LONG(2),
        FLOAT(None),
        LONG(None),
    ),
]

_TEXT = [
    operator(
        "n-grams-of-short-rows",
        "StringNGrams",
        {"data": STRING(None), "data_splits": LONG(None)},
        preserve_short_sequences=True,
        **_N_GRAMS,
    ),
    operator("case-of-unicode", "StringLower", {"input": STRING(3)}, encoding="utf-8"),
    operator("replaces-by-a-pattern", "StaticRegexReplace", {"input": STRING(3)}, pattern="a.*b", rewrite="c"),
    operator("writes-floats", "AsString", {"input": FLOAT(3)}),
    operator("splits-at-a-few-spaces", "StringSplitV2", {"input": STRING(3)}, sep="", maxsplit=1),
]

CASES = [*_IMAGES, *_NUMBERS, *_PLACES, *_TEXT]
