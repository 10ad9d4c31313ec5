"""Operators whose parameters ONNX holds as float32 attributes: taken apart in float64, so that no digit is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, AGAINST_TERMS, accumulation, ulps
from trueport.formulas.numeric import expm1, is_double, log1p, widened
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import as_float, factor
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded
from trueport.lazy import LazyModule

__all__: list[str] = []

Value = ir.Value
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
_core = LazyModule("onnxscript.function_libs.torch_lib.ops.core", "PyTorch's exporter", "torch")
_nn = LazyModule("onnxscript.function_libs.torch_lib.ops.nn", "PyTorch's exporter", "torch")


@maps_torch("aten::leaky_relu", error=ulps(1))
@recorded
def leaky_relu(t: TorchTranslation, x: Value, negative_slope: float = 0.01) -> Value:
    if not is_double(x):
        return t.op.LeakyRelu(x, alpha=float(negative_slope))
    return _above_zero(t, x, x, t.op.Mul(x, t.op.like(negative_slope, x)))


def _above_zero(t: TorchTranslation, x: Value, above: Value, below: Value) -> Value:
    """``below`` also where ``x`` is NaN."""
    return t.op.Where(t.op.Greater(x, t.op.like(0, x)), above, below)


@maps_torch("aten::elu", error=accumulation(against=AGAINST_ONE))
@recorded
def elu(t: TorchTranslation, x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    if not is_double(x) and scale == 1 and input_scale == 1:
        return t.op.Elu(x, alpha=float(alpha))

    def formula(wide: Value) -> Value:
        below = t.op.Mul(expm1(t, t.op.Mul(wide, t.op.like(input_scale, wide))), t.op.like(alpha * scale, wide))
        return _above_zero(t, wide, t.op.Mul(wide, t.op.like(scale, wide)), below)

    return widened(t, formula, x)


@maps_torch("aten::celu", error=accumulation(against=AGAINST_ONE))
@recorded
def celu(t: TorchTranslation, x: Value, alpha: float = 1.0) -> Value:
    if not is_double(x):
        return t.op.Celu(x, alpha=float(alpha))
    number = t.op.like(alpha, x)
    return _above_zero(t, x, x, t.op.Mul(expm1(t, t.op.Div(x, number)), number))


@maps_torch("aten::selu", error=accumulation(against=AGAINST_ONE))
@recorded
def selu(t: TorchTranslation, x: Value) -> Value:
    if not is_double(x):
        return t.op.Selu(x)
    alpha, scale = _SELU
    below = t.op.Mul(expm1(t, x), t.op.like(alpha * scale, x))
    return _above_zero(t, x, t.op.Mul(x, t.op.like(scale, x)), below)


@maps_torch("aten::hardsigmoid", error=ulps(2, AGAINST_ONE))
@recorded
def hardsigmoid(t: TorchTranslation, x: Value) -> Value:
    if not is_double(x):
        return t.op.HardSigmoid(x, alpha=1 / 6, beta=0.5)
    return _hard_gate(t, x)


@maps_torch("aten::hardswish", error=ulps(4))
@recorded
def hardswish(t: TorchTranslation, x: Value) -> Value:
    return t.op.Mul(x, _hard_gate(t, x)) if is_double(x) else t.op.HardSwish(x)


def _hard_gate(t: TorchTranslation, x: Value) -> Value:
    raised = t.op.Add(x, t.op.like(3, x))
    bounded = t.op.Min(t.op.Max(raised, t.op.like(0, x)), t.op.like(6, x))
    return t.op.Div(bounded, t.op.like(6, x))


@maps_torch("aten::softplus", error=ulps(6, AGAINST_ONE))
@recorded
def softplus(t: TorchTranslation, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """log1p(exp(beta x)) / beta; above the threshold x itself, where the exponential may overflow."""

    def formula(wide: Value) -> Value:
        scaled = wide if beta == 1 else t.op.Mul(wide, t.op.like(beta, wide))
        found = log1p(t, t.op.Exp(scaled)) if is_double(wide) else t.op.Softplus(scaled)
        found = found if beta == 1 else t.op.Div(found, t.op.like(beta, wide))
        return t.op.Where(t.op.Greater(scaled, t.op.like(threshold, wide)), wide, found)

    return widened(t, formula, x)


@maps_torch("aten::sinc", error=ulps(4, AGAINST_ONE))
@maps_torch("aten::special_sinc", error=ulps(4, AGAINST_ONE))
@recorded
def sinc(t: TorchTranslation, x: Value) -> Value:
    return widened(t, lambda wide: _sinc(t, wide), as_float(t, x))


def _sinc(t: TorchTranslation, x: Value) -> Value:
    """sin(pi x) / (pi x), and one at zero."""
    zero = t.op.Equal(x, t.op.like(0, x))
    angle = t.op.Mul(t.op.like(np.pi, x), t.op.Where(zero, t.op.like(1, x), x))
    return t.op.Where(zero, t.op.like(1, x), t.op.Div(t.op.Sin(angle), angle))


@maps_torch("aten::addcdiv", error=ulps(4, AGAINST_TERMS))
@recorded
def addcdiv(t: TorchTranslation, x: Value, a: Value, b: Value, value: Any = 1.0) -> Value:
    factor = a if isinstance(value, (int, float)) and value == 1 else t.op.Mul(a, t.op.like(value, a))
    return t.op.Add(x, t.op.Div(factor, b))


@maps_torch("aten::addmm", error=accumulation(against=AGAINST_TERMS))
def addmm(x: Any, a: Any, b: Any, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    if a.dtype in (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16):
        return _core.aten_addmm(x, a, b, beta, alpha)
    return _product_and_sum(x, a, b, beta, alpha)


@maps_torch("aten::baddbmm", error=accumulation(against=AGAINST_TERMS))
def baddbmm(x: Any, a: Any, b: Any, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    return _product_and_sum(x, a, b, beta, alpha)


@recorded
def _product_and_sum(t: TorchTranslation, x: Value, a: Value, b: Value, beta: Any, alpha: Any) -> Value:
    """Factors of one are left out; with a ``beta`` of zero ``x`` counts for nothing, also where it is NaN."""
    product = t.op.MatMul(a, b)
    if alpha != 1:
        product = t.op.Mul(product, factor(t, alpha, product))
    if beta == 0:
        return product
    return t.op.Add(product, x if beta == 1 else t.op.Mul(x, t.op.like(beta, x)))


@maps_torch("aten::_native_batch_norm_legit_no_training", error=accumulation(against=AGAINST_TERMS))
def batch_norm(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float) -> Any:
    if x.dtype != ir.DataType.DOUBLE:
        return _core.aten__native_batch_norm_no_training(x, weight, bias, mean, variance, momentum, eps)
    return _batch_norm(x, weight, bias, mean, variance, eps)


@recorded
def _batch_norm(
    t: TorchTranslation, x: Value, weight: Value | None, bias: Value | None, mean: Value, variance: Value, eps: float
) -> tuple[Value, Value, Value]:
    centre, spread = (_per_channel(t, part, x) for part in (mean, variance))
    made = _scaled(t, x, t.op.Sub(x, centre), spread, weight, bias, eps)
    none = t.op.const(np.zeros(0))
    return made, none, none


def _per_channel(t: TorchTranslation, parameter: Value, x: Value) -> Value:
    return t.op.Reshape(parameter, [1, -1, *[1] * (t.rank(x) - 2)])


def _scaled(
    t: TorchTranslation, x: Value, apart: Value, spread: Value, weight: Value | None, bias: Value | None, eps: float
) -> Value:
    made: Value = t.op.Div(apart, t.op.Sqrt(t.op.Add(spread, t.op.like(eps, x))))
    made = made if weight is None else t.op.Mul(made, _per_channel(t, weight, x))
    return made if bias is None else t.op.Add(made, _per_channel(t, bias, x))


@maps_torch("aten::instance_norm", error=accumulation(against=AGAINST_TERMS))
def instance_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    variance: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = False,
) -> Any:
    if x.dtype != ir.DataType.DOUBLE:
        return _core.aten_instance_norm(x, weight, bias, mean, variance, use_input_stats, momentum, eps)
    if not use_input_stats:
        return _batch_norm(x, weight, bias, mean, variance, eps)[0]
    return _group_norm(x, 0, weight, bias, eps)


@maps_torch("aten::group_norm", error=accumulation(against=AGAINST_TERMS))
def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    if x.dtype != ir.DataType.DOUBLE:
        return _nn.aten_group_norm(x, num_groups, weight, bias, eps)
    return _group_norm(x, num_groups, weight, bias, eps)


@recorded
def _group_norm(
    t: TorchTranslation, x: Value, groups: int, weight: Value | None, bias: Value | None, eps: float
) -> Value:
    """Statistics over all but the first two axes; with ``groups`` over groups of channels as well."""
    grouped = t.op.Reshape(x, [0, groups, -1]) if groups else x
    axes = list(range(2, t.rank(grouped)))
    apart = t.op.Sub(grouped, t.op.ReduceMean(grouped, axes, keepdims=1))
    spread = t.op.ReduceMean(t.op.Mul(apart, apart), axes, keepdims=1)
    normal = t.op.Div(apart, t.op.Sqrt(t.op.Add(spread, t.op.like(eps, x))))
    made: Value = t.op.Reshape(normal, t.op.Shape(x)) if groups else normal
    made = made if weight is None else t.op.Mul(made, _per_channel(t, weight, x))
    return made if bias is None else t.op.Add(made, _per_channel(t, bias, x))
