"""Complex numbers as the exporter carries them: pairs of reals in a last axis."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.frontends.torch.recording import TorchTranslation

__all__ = ["joined", "parts"]


def parts(t: TorchTranslation, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The real and the imaginary ones."""
    axis = t.rank(value) - 1
    real, imaginary = (t.op.Gather(value, np.array(index), axis=axis) for index in (0, 1))
    return real, imaginary


def joined(t: TorchTranslation, real: ir.Value, imaginary: ir.Value) -> ir.Value:
    """Both parts as one value."""
    last = [t.rank(real)]
    made: ir.Value = t.op.Concat(t.op.Unsqueeze(real, last), t.op.Unsqueeze(imaginary, last), axis=last[0])
    return made
