"""Transposed convolutions: TensorFlow has them as the gradients of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, accumulation
from trueport.formulas.images.spatial import (
    as_line,
    channel_axis,
    channels_first,
    is_channels_first,
    kernel_first,
    restored,
    size_at,
    spatial,
)
from trueport.formulas.images.windows import extents
from trueport.frontends.tensorflow.shared.affine_sizes import element_of
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_DEVICES = {"use_cudnn_on_gpu": "chooses a kernel on GPUs, not what it computes"}


@dataclass(frozen=True)
class _Forward:
    """The convolution whose gradient is taken, along its spatial axes."""

    strides: list[int]
    dilations: list[int]
    kernel: list[int]
    padding: str
    before: list[int]
    after: list[int]

    @property
    def extents(self) -> list[int]:
        return extents(self.kernel, self.dilations)


@dataclass(frozen=True)
class _Result:
    """What is to be made."""

    sizes: ir.Value
    """the vector that TensorFlow is given, and where in it the spatial sizes stand"""
    places: list[int]
    dims: list[int | None]
    """the spatial sizes as far as they are known"""
    channels: int | None

    def without(self, axis: int) -> _Result:
        """With a spatial axis left out."""
        kept = [place for place in range(len(self.places)) if place != axis]
        return _Result(self.sizes, [self.places[i] for i in kept], [self.dims[i] for i in kept], self.channels)


@maps("Conv2DBackpropInput", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_DEVICES)
def conv2d_backprop_input(
    t: Translation,
    input_sizes: ir.Value,
    filter: ir.Value,
    out_backprop: ir.Value,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
) -> ir.Value:
    result = _result(t, input_sizes, data_format)
    line = as_line(t, out_backprop, filter, data_format) if padding != "EXPLICIT" else None
    added = line.axis - (2 if is_channels_first(data_format) else 1) if line else 0
    if line is None or result.dims[added] != 1:
        forward = _forward(t, filter, strides, dilations, padding, explicit_paddings, data_format)
        return _transposed(t, result, filter, out_backprop, forward, data_format)
    steps, gaps = line.entries(strides), line.entries(dilations)
    forward = _forward(t, line.kernel, steps, gaps, padding, [], line.data_format)
    made = _transposed(t, result.without(added), line.kernel, line.data, forward, line.data_format)
    return t.op.Unsqueeze(made, [line.axis])


@maps("Conv3DBackpropInputV2", domain=TF, error=accumulation(against=AGAINST_TERMS))
def conv3d_backprop_input(
    t: Translation,
    input_sizes: ir.Value,
    filter: ir.Value,
    out_backprop: ir.Value,
    *,
    strides: list[int],
    padding: str,
    data_format: str,
    dilations: list[int],
) -> ir.Value:
    forward = _forward(t, filter, strides, dilations, padding, [], data_format)
    return _transposed(t, _result(t, input_sizes, data_format), filter, out_backprop, forward, data_format)


@maps("DepthwiseConv2dNativeBackpropInput", domain=TF, error=accumulation(against=AGAINST_TERMS))
def depthwise_conv2d_backprop_input(
    t: Translation,
    input_sizes: ir.Value,
    filter: ir.Value,
    out_backprop: ir.Value,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
) -> ir.Value:
    forward = _forward(t, filter, strides, dilations, padding, explicit_paddings, data_format)
    channels = t.dims(filter)[2]
    if channels is None:
        raise t.fail(
            "the filter's number of channels is not known; ONNX has it as an attribute",
            "fix it (tf.ensure_shape, or --shape NAME=DIMS of an input)",
        )
    kernel = t.op.Reshape(kernel_first(t, filter, (-2, -1)), [-1, 1, *forward.kernel])
    return _applied(t, _result(t, input_sizes, data_format), kernel, out_backprop, forward, data_format, channels)


def _forward(
    t: Translation,
    kernel: ir.Value,
    strides: list[int],
    dilations: list[int],
    padding: str,
    explicit: list[int],
    data_format: str,
) -> _Forward:
    shape = [size for size in t.dims(kernel)[:-2] if size is not None]
    if len(shape) < t.rank(kernel) - 2:
        raise t.fail(
            "the filter's size is not known; ONNX's paddings, which are constants, hang on it",
            "fix it (tf.ensure_shape, or --shape NAME=DIMS of an input)",
        )
    steps, gaps = spatial(strides, data_format), spatial(dilations, data_format)
    ends = [spatial(explicit[end::2], data_format) if padding == "EXPLICIT" else [0] * len(shape) for end in (0, 1)]
    return _Forward(steps, gaps, shape, padding, *ends)


def _result(t: Translation, sizes: ir.Value, data_format: str) -> _Result:
    shape = t.output_shape()
    assert shape is not None, "the operator fixes the rank, whatever is known of the sizes"
    axes = list(range(2, len(shape))) if is_channels_first(data_format) else list(range(1, len(shape) - 1))
    # TensorFlow may be given the spatial sizes alone.
    alone = t.dims(sizes)[0] == len(axes)
    places = list(range(len(axes))) if alone else axes
    return _Result(sizes, places, [shape[axis] for axis in axes], shape[channel_axis(data_format, len(shape))])


def _transposed(
    t: Translation, result: _Result, kernel: ir.Value, data: ir.Value, forward: _Forward, data_format: str
) -> ir.Value:
    per_group = t.dims(kernel)[-2]
    group = result.channels // per_group if result.channels and per_group else 1
    return _applied(t, result, kernel_first(t, kernel, (-1, -2)), data, forward, data_format, group)


def _applied(
    t: Translation,
    result: _Result,
    weights: ir.Value,
    data: ir.Value,
    forward: _Forward,
    data_format: str,
    group: int,
) -> ir.Value:
    first = channels_first(t, data, data_format)
    attributes = {
        "strides": forward.strides,
        "dilations": forward.dilations if any(gap != 1 for gap in forward.dilations) else None,
        "group": group if group > 1 else None,
    }
    surplus = [_surplus(t, result, data, forward, data_format, axis) for axis in range(len(forward.kernel))]
    known = [rest for rest in surplus if rest is not None]
    if len(known) == len(surplus):
        made = t.op.ConvTranspose(first, weights, **attributes, **_paddings(forward, known))
    else:
        extra = _most_extra(forward)
        full = t.op.ConvTranspose(first, weights, **attributes, output_padding=extra if any(extra) else None)
        made = _cut(t, full, first, result, forward)
    return restored(t, made, data_format)


def _surplus(
    t: Translation, result: _Result, data: ir.Value, forward: _Forward, data_format: str, axis: int
) -> int | None:
    """By how much all windows together reach beyond what is to be made; None where that is not fixed."""
    at = axis + (2 if is_channels_first(data_format) else 1)
    stride, reach = forward.strides[axis], forward.extents[axis]
    count, size = t.dims(data)[at], result.dims[axis]
    if count is not None and size is not None:
        return (count - 1) * stride + reach - size
    found = element_of(result.sizes, result.places[axis])
    follows = found is not None and found.data is data and found.axis == at and found.factor == stride
    return reach - stride - found.offset if found is not None and follows else None


def _paddings(forward: _Forward, surplus: Sequence[int]) -> dict[str, list[int]]:
    """Pads, and what is added at the end, that leave what is to be made."""
    if forward.padding == "SAME":
        before = [max(rest, 0) // 2 for rest in surplus]
        after = [max(rest, 0) - begin for rest, begin in zip(surplus, before, strict=True)]
    else:
        before, after = forward.before, forward.after
    extra = [b + a - rest for b, a, rest in zip(before, after, surplus, strict=True)]
    return {name: found for name, found in (("pads", [*before, *after]), ("output_padding", extra)) if any(found)}


def _most_extra(forward: _Forward) -> list[int]:
    """As much as the result can reach beyond the last window."""
    if forward.padding == "SAME":
        return [max(s - e, 0) for s, e in zip(forward.strides, forward.extents, strict=True)]
    return [stride - 1 for stride in forward.strides]


def _cut(t: Translation, full: ir.Value, given: ir.Value, result: _Result, forward: _Forward) -> ir.Value:
    """The part of the unpadded result that is asked for, where sizes are known only when the model runs."""
    axes = list(range(2, t.rank(given)))
    wanted = t.op.Gather(t.int64(result.sizes), result.places)
    starts = t.op.const(np.array(forward.before, np.int64))
    if forward.padding == "SAME":
        counts = t.op.Concat(*(size_at(t, given, axis) for axis in axes), axis=0)
        steps, reach = np.array(forward.strides), np.array(forward.extents)
        whole = t.op.Add(t.op.Mul(t.op.Sub(counts, [1]), steps), reach)
        starts = t.op.Div(t.op.Max(t.op.Sub(whole, wanted), [0]), [2])
    return t.op.Slice(full, starts, t.op.Add(starts, wanted), axes)
