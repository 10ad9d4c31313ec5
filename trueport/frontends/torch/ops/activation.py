"""Activations that the exporter lacks, or computes in a form that loses what PyTorch's keeps."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.numeric import is_double, log1p, widened
from trueport.formulas.special import error_function
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import as_float
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value


@maps_torch("aten::log_sigmoid", error=ulps(4))
@recorded
def log_sigmoid(t: TorchTranslation, x: Value) -> Value:
    return widened(t, lambda wide: _log_sigmoid(t, wide), x)


def _log_sigmoid(t: TorchTranslation, x: Value) -> Value:
    """min(x, 0) - log(1 + exp(-|x|)): the exporter's log of a sigmoid is minus infinity from -104 down."""
    rest = log1p(t, t.op.Exp(t.op.Neg(t.op.Abs(x))))
    return t.op.Sub(t.op.Min(x, t.op.like(0, x)), rest)


@maps_torch("aten::rrelu_with_noise_functional", error=ulps(1))
@recorded
def rrelu(
    t: TorchTranslation,
    x: Value,
    noise: Value,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: object = None,
) -> tuple[Value, Value]:
    if training:
        raise t.fail("draws its slopes anew each time", "pass training=self.training, and call .eval() on the module")
    slope = t.op.like((lower + upper) / 2, x)
    return t.op.Where(t.op.Less(x, t.op.like(0, x)), t.op.Mul(x, slope), x), t.op.Identity(noise)


@maps_torch("aten::gelu", error=ulps(8))
@recorded
def gelu(t: TorchTranslation, x: Value, approximate: str = "none") -> Value:
    formula = _gelu_tanh if approximate == "tanh" else _gelu
    return widened(t, lambda wide: formula(t, wide), as_float(t, x))


def _gelu(t: TorchTranslation, x: Value) -> Value:
    turned = t.op.Mul(x, t.op.like(np.sqrt(0.5), x))
    share = error_function.erf(t, turned) if is_double(x) else t.op.Erf(turned)
    return t.op.Mul(t.op.Mul(x, t.op.like(0.5, x)), t.op.Add(t.op.like(1, x), share))


def _gelu_tanh(t: TorchTranslation, x: Value) -> Value:
    cube = t.op.Mul(t.op.Mul(x, x), x)
    inner = t.op.Mul(t.op.like(np.sqrt(2 / np.pi), x), t.op.Add(x, t.op.Mul(t.op.like(0.044715, x), cube)))
    return t.op.Mul(t.op.Mul(t.op.like(0.5, x), x), t.op.Add(t.op.like(1, x), t.op.Tanh(inner)))
