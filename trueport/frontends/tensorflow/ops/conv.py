"""Convolutions."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.spatial import channels_first, restored, spatial
from trueport.frontends.tensorflow.windows import padding_attributes
from trueport.mapping.declare import maps

__all__: list[str] = []

_DEVICES = {"use_cudnn_on_gpu": "chooses a kernel on GPUs, not what it computes"}


@maps("Conv2D", domain=TF, error=accumulation(), ignores=_DEVICES)
def conv2d(
    t: Translation,
    input: ir.Value,
    filter: ir.Value,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
) -> ir.Value:
    kernel = t.op.Transpose(filter, perm=[3, 2, 0, 1])
    data = channels_first(t, input, data_format)
    in_channels, per_group = t.dims(data)[1], t.dims(filter)[2]
    group = in_channels // per_group if in_channels and per_group else 1
    made = t.op.Conv(
        data,
        kernel,
        strides=spatial(strides, data_format),
        dilations=spatial(dilations, data_format),
        group=group,
        kernel_shape=None if None in t.dims(filter)[:2] else list(t.dims(filter)[:2]),
        **padding_attributes(padding, explicit_paddings, data_format),
    )
    return restored(t, made, data_format)
