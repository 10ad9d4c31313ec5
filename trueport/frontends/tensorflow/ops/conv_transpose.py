"""Transposed convolutions: TensorFlow has them as the gradients of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.spatial import (
    as_line,
    channel_axis,
    channels_first,
    is_channels_first,
    kernel_first,
    restored,
    size_at,
    spatial,
)
from trueport.frontends.tensorflow.windows import extents
from trueport.mapping.declare import maps

__all__: list[str] = []

_Shape = tuple[int | None, ...] | None
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


@maps("Conv2DBackpropInput", domain=TF, error=accumulation(), ignores=_DEVICES)
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
    line = as_line(t, out_backprop, filter, data_format) if padding != "EXPLICIT" else None
    shape = t.output_shape()
    if line is None or shape is None or shape[line.axis] != 1:
        forward = _forward(t, filter, strides, dilations, padding, explicit_paddings, data_format)
        return _transposed(t, input_sizes, filter, out_backprop, shape, forward, data_format)
    steps, gaps = line.entries(strides), line.entries(dilations)
    sizes = t.op.Gather(input_sizes, [axis for axis in range(4) if axis != line.axis])
    left = (*shape[: line.axis], *shape[line.axis + 1 :])
    forward = _forward(t, line.kernel, steps, gaps, padding, [], line.data_format)
    made = _transposed(t, sizes, line.kernel, line.data, left, forward, line.data_format)
    return t.op.Unsqueeze(made, [line.axis])


@maps("Conv3DBackpropInputV2", domain=TF, error=accumulation())
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
    return _transposed(t, input_sizes, filter, out_backprop, t.output_shape(), forward, data_format)


@maps("DepthwiseConv2dNativeBackpropInput", domain=TF, error=accumulation())
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
        raise t.fail("the number of channels is not known; ONNX has it as an attribute", "fix the channels' dim")
    kernel = t.op.Reshape(kernel_first(t, filter, (-2, -1)), [-1, 1, *forward.kernel])
    return _applied(t, input_sizes, kernel, out_backprop, t.output_shape(), forward, data_format, channels)


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
        raise t.fail("the kernel's size is not known; the paddings hang on it", "give the kernel a static shape")
    steps, gaps = spatial(strides, data_format), spatial(dilations, data_format)
    ends = [spatial(explicit[end::2], data_format) if padding == "EXPLICIT" else [0] * len(shape) for end in (0, 1)]
    return _Forward(steps, gaps, shape, padding, *ends)


def _transposed(
    t: Translation,
    sizes: ir.Value,
    kernel: ir.Value,
    data: ir.Value,
    shape: _Shape,
    forward: _Forward,
    data_format: str,
) -> ir.Value:
    made, per_group = shape[channel_axis(data_format, len(shape))] if shape else None, t.dims(kernel)[-2]
    group = made // per_group if made and per_group else 1
    return _applied(t, sizes, kernel_first(t, kernel, (-1, -2)), data, shape, forward, data_format, group)


def _applied(
    t: Translation,
    sizes: ir.Value,
    weights: ir.Value,
    data: ir.Value,
    shape: _Shape,
    forward: _Forward,
    data_format: str,
    group: int,
) -> ir.Value:
    first = channels_first(t, data, data_format)
    dims = shape or (None,) * t.rank(data)
    wanted = dims[2:] if is_channels_first(data_format) else dims[1:-1]
    attributes = {
        "strides": forward.strides,
        "dilations": _unless_ones(forward.dilations),
        "group": group if group > 1 else None,
    }
    known = [size for size in (*wanted, *t.dims(first)[2:]) if size is not None]
    if len(known) == 2 * len(forward.kernel):
        fixed = _paddings(forward, known[: len(forward.kernel)], known[len(forward.kernel) :])
        return restored(t, t.op.ConvTranspose(first, weights, **attributes, **fixed), data_format)
    full = t.op.ConvTranspose(first, weights, **attributes, output_padding=_most_extra(forward))
    return restored(t, _cut(t, full, first, sizes, forward, data_format), data_format)


def _unless_ones(values: list[int]) -> list[int] | None:
    return values if any(value != 1 for value in values) else None


def _paddings(forward: _Forward, made: Sequence[int], given: Sequence[int]) -> dict[str, list[int]]:
    """Pads, and what is added at the end, that lead from the given sizes to those that are to be made."""
    before, after, extra = [], [], []
    for axis, (size, count) in enumerate(zip(made, given, strict=True)):
        full = (count - 1) * forward.strides[axis] + forward.extents[axis]
        if forward.padding == "SAME":
            total = max(full - size, 0)
            before.append(total // 2)
            after.append(total - total // 2)
        else:
            before.append(forward.before[axis])
            after.append(forward.after[axis])
        extra.append(size - (full - before[-1] - after[-1]))
    return {name: found for name, found in (("pads", [*before, *after]), ("output_padding", extra)) if any(found)}


def _most_extra(forward: _Forward) -> list[int]:
    """As much as the result can reach beyond the last window."""
    if forward.padding == "SAME":
        return [max(s - e, 0) for s, e in zip(forward.strides, forward.extents, strict=True)]
    return [stride - 1 for stride in forward.strides]


def _cut(
    t: Translation, full: ir.Value, given: ir.Value, sizes: ir.Value, forward: _Forward, data_format: str
) -> ir.Value:
    """The part of the unpadded result that is asked for, where sizes are known only when the model runs."""
    rank = t.rank(given)
    places = list(range(2, rank)) if is_channels_first(data_format) else list(range(1, rank - 1))
    asked = t.int64(sizes)
    spatial_only = rank - 2 == (t.dims(asked)[0] or rank)
    wanted = asked if spatial_only else t.op.Gather(asked, places)
    starts = t.op.const(np.array(forward.before, np.int64))
    if forward.padding == "SAME":
        counts = t.op.Concat(*(size_at(t, given, axis) for axis in range(2, rank)), axis=0)
        reach = t.op.Add(
            t.op.Mul(t.op.Sub(counts, [1]), np.array(forward.strides)), np.array(forward.extents, np.int64)
        )
        starts = t.op.Div(t.op.Max(t.op.Sub(reach, wanted), [0]), [2])
    return t.op.Slice(full, starts, t.op.Add(starts, wanted), list(range(2, rank)))
