"""Windows of images as columns; the exporter's own translation does not run for an empty batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.indices import joined, size_of
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []


@maps_torch("aten::im2col", fidelity=BITWISE)
@recorded
def im2col(
    t: TorchTranslation,
    x: ir.Value,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> ir.Value:
    """``[N, C, H, W]`` to ``[N, C × kernel, windows]``; without N as well."""
    batched = x if t.rank(x) == 4 else t.op.Unsqueeze(x, [0])
    image = t.op.Pad(batched, [0, 0, *padding, 0, 0, *padding]) if any(padding) else batched
    rows, columns = (_indices(t, image, 2 + axis, kernel_size[axis], dilation[axis], stride[axis]) for axis in (0, 1))
    windows = t.op.Gather(t.op.Gather(image, rows, axis=2), columns, axis=4)
    ordered = t.op.Transpose(windows, perm=[0, 1, 2, 4, 3, 5])
    area = int(np.prod(kernel_size))
    shape = [size_of(t, batched, 0), _times(t, size_of(t, batched, 1), area), _count(t, rows, columns)]
    made: ir.Value = t.op.Reshape(ordered, joined(t, shape))
    return made if batched is x else t.op.Squeeze(made, [0])


def _indices(t: TorchTranslation, image: ir.Value, axis: int, kernel: int, dilation: int, stride: int) -> ir.Value:
    """``[kernel, windows]``: the positions along one axis that each window takes."""
    offsets = np.arange(kernel, dtype=np.int64)[:, None] * dilation
    reach = dilation * (kernel - 1)
    size = t.dims(image)[axis]
    if size is not None:
        return t.op.const(np.arange(0, size - reach, stride, dtype=np.int64)[None] + offsets)
    end = t.op.Sub(t.op.Squeeze(t.op.Shape(image, start=axis, end=axis + 1), [0]), np.int64(reach))
    starts = t.op.Range(np.int64(0), end, np.int64(stride))
    return t.op.Add(t.op.Unsqueeze(starts, [0]), offsets)


def _times(t: TorchTranslation, size: ir.Value, factor: int) -> ir.Value:
    known = t.static(size)
    return t.op.const(known * factor) if known is not None else t.op.Mul(size, np.array([factor], np.int64))


def _count(t: TorchTranslation, rows: ir.Value, columns: ir.Value) -> ir.Value:
    """The number of windows, as a vector of one."""
    sizes = [size_of(t, indices, 1) for indices in (rows, columns)]
    known = [t.static(size) for size in sizes]
    if known[0] is not None and known[1] is not None:
        return t.op.const(known[0] * known[1])
    return t.op.Mul(*sizes)
