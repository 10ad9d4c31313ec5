"""A TorchScript module as ONNX, by PyTorch's older exporter: the only one that takes it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import onnx
import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import inference
from trueport.frontends.torch.source.capture import TorchCaptured
from trueport.frontends.torch.source.exporter_output import quiet
from trueport.quoting import one_line
from trueport.versions.torch import script_exporter, without_triton

__all__ = ["translate_script"]

_OPSET = 17
"""The newest that the older exporter writes without losing operators to newer forms it does not know."""


def translate_script(captured: TorchCaptured) -> ir.Model:
    """Names and open dims as captured; branches and loops of a scripted module become If and Loop."""
    axes: dict[str, dict[int, str]] = {}
    for dim in captured.dims:
        axes.setdefault(dim.input, {})[dim.axis] = dim.name
    written = io.BytesIO()
    args, kwargs = captured.call.filled([tensor.clone() for tensor in captured.call.tensors])
    try:
        with without_triton(), inference(captured.module), quiet(), _unlogged():
            torch.onnx.export(
                captured.module,
                (*args, *kwargs.values()),
                written,
                dynamo=False,
                opset_version=_OPSET,
                input_names=[port.name for port in captured.inputs],
                output_names=[port.name for port in captured.outputs],
                dynamic_axes=axes or None,
                do_constant_folding=False,
            )
    except Exception as error:  # the exporter raises RuntimeError, and types of its own
        raise ConversionError(
            f"PyTorch's older exporter fails: {one_line(error, 300)}",
            where="the scripted module",
            remedy="convert the nn.Module that it was scripted from, or a torch.export.save file (.pt2)",
        ) from error
    return ir.from_proto(onnx.load_from_string(written.getvalue()))


@contextmanager
def _unlogged() -> Iterator[None]:
    """Within it the exporter does not print its graph: it would, for it asks a function whether to, uncalled."""
    exporter = script_exporter()
    kept = exporter.setup_onnx_logging
    exporter.setup_onnx_logging = nullcontext
    try:
        yield
    finally:
        exporter.setup_onnx_logging = kept
