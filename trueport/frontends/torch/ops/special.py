"""Special functions: ONNX has only Erf, the others are series and integrals computed in doubles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.numeric import in_double, is_double
from trueport.formulas.special import bessel, error_function, gamma, incomplete
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import as_float, promoted
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

# Bounds are of doubles; what is rounded to float32 from them lies within one unit.
Formula = Callable[..., ir.Value]


def _of_double(t: TorchTranslation, formula: Formula, *values: Any) -> ir.Value:
    """A formula of values and numbers, promoted as PyTorch promotes them, computed in doubles."""
    return in_double(t, lambda *wide: formula(t, *wide), *(as_float(t, value) for value in promoted(t, *values)))


@maps_torch("aten::digamma", error=gamma.DIGAMMA)
@recorded
def digamma(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _digamma, x)


def _digamma(t: TorchTranslation, x: ir.Value) -> ir.Value:
    """At zero minus infinity of its sign, as PyTorch has it."""
    zero = t.op.Equal(x, t.op.like(0, x))
    ended: ir.Value = t.op.Neg(t.op.Reciprocal(x))
    return t.op.Where(zero, ended, gamma.digamma(t, x))


@maps_torch("aten::lgamma", error=gamma.LGAMMA)
@recorded
def lgamma(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, gamma.lgamma, x)


@maps_torch("aten::polygamma", error=gamma.POLYGAMMA)
@recorded
def polygamma(t: TorchTranslation, n: int, x: ir.Value) -> ir.Value:
    if n == 0:
        return _of_double(t, _digamma, x)
    if n == 1:
        return _of_double(t, _trigamma, x)
    return _of_double(t, lambda t, wide: gamma.polygamma(t, t.op.like(n, wide), wide), x)


def _trigamma(t: TorchTranslation, x: ir.Value) -> ir.Value:
    """Below one half by reflection, as PyTorch has it."""
    low = t.op.Less(x, t.op.like(0.5, x))
    upper = t.op.Where(low, t.op.Sub(t.op.like(1, x), x), x)
    found = gamma.polygamma(t, t.op.like(1, x), t.op.Where(t.op.IsInf(upper), t.op.like(1, x), upper))
    right = t.op.Where(t.op.IsInf(upper), t.op.like(0, x), found)
    # PyTorch's pi is rounded, so that at whole numbers but zero the sine is not quite none.
    least = t.op.Where(t.op.Equal(x, t.op.like(0, x)), t.op.like(0, x), t.op.like(1e-16, x))
    sine = t.op.Max(t.op.Abs(t.op.Sin(t.op.Mul(x, t.op.like(np.pi, x)))), least)
    mirrored = t.op.Sub(t.op.Div(t.op.like(np.pi**2, x), t.op.Mul(sine, sine)), right)
    found = t.op.Where(low, mirrored, right)
    odd = t.op.Or(t.op.IsNaN(x), t.op.IsInf(x, detect_positive=0))
    return t.op.Where(odd, t.op.like(np.nan, x), found)


@maps_torch("aten::special_zeta", error=gamma.ZETA)
@maps_torch("aten::special_zeta.other_scalar", error=gamma.ZETA)
@maps_torch("aten::special_zeta.self_scalar", error=gamma.ZETA)
@recorded
def zeta(t: TorchTranslation, x: Any, q: Any) -> ir.Value:
    return _of_double(t, _zeta, x, q)


def _zeta(t: TorchTranslation, x: ir.Value, q: ir.Value) -> ir.Value:
    """At poles infinite for odd powers, too; of infinity NaN, where PyTorch's sum has terms of infinity times zero."""
    one = t.op.like(1, x)
    pole = t.op.And(t.op.LessOrEqual(q, t.op.like(0, q)), t.op.Equal(q, t.op.Floor(q)))
    pole = t.op.And(pole, t.op.Not(t.op.Less(x, one)))
    endless = t.op.And(t.op.Or(t.op.IsInf(x), t.op.IsInf(q)), t.op.And(t.op.Greater(x, one), t.op.Greater(q, one)))
    found = t.op.Where(endless, t.op.like(np.nan, x), gamma.zeta(t, x, q))
    return t.op.Where(pole, t.op.like(np.inf, x), found)


@maps_torch("aten::igamma", error=incomplete.IGAMMA)
@recorded
def igamma(t: TorchTranslation, a: ir.Value, x: ir.Value) -> ir.Value:
    return _of_double(t, lambda t, *wide: _at_ends(t, incomplete.igamma(t, *wide), *wide, near=0, far=1), a, x)


@maps_torch("aten::igammac", error=incomplete.IGAMMA)
@recorded
def igammac(t: TorchTranslation, a: ir.Value, x: ir.Value) -> ir.Value:
    return _of_double(t, lambda t, *wide: _at_ends(t, incomplete.igammac(t, *wide), *wide, near=1, far=0), a, x)


def _at_ends(t: TorchTranslation, found: ir.Value, a: ir.Value, x: ir.Value, *, near: int, far: int) -> ir.Value:
    """An incomplete integral up to zero or infinity, of an order that is zero or infinite, as PyTorch's kernel asks."""
    zero, nan = t.op.like(0, x), t.op.like(np.nan, x)
    low, high = t.op.like(near, x), t.op.like(far, x)
    made = t.op.Where(t.op.Or(t.op.IsNaN(x), t.op.IsNaN(a)), nan, found)
    made = t.op.Where(t.op.IsInf(x), high, made)
    made = t.op.Where(t.op.IsInf(a), t.op.Where(t.op.IsInf(x), nan, low), made)
    made = t.op.Where(t.op.Equal(x, zero), low, made)
    made = t.op.Where(t.op.Equal(a, zero), t.op.Where(t.op.Greater(x, zero), high, nan), made)
    outside = t.op.Or(t.op.Less(x, zero), t.op.Less(a, zero))
    return t.op.Where(outside, nan, made)


@maps_torch("aten::erf", error=error_function.ERF)
@maps_torch("aten::special_erf", error=error_function.ERF)
@recorded
def erf(t: TorchTranslation, x: ir.Value) -> ir.Value:
    value = as_float(t, x)
    return error_function.erf(t, value) if is_double(value) else t.op.Erf(value)


@maps_torch("aten::erfc", error=error_function.ERFC)
@maps_torch("aten::special_erfc", error=error_function.ERFC)
@recorded
def erfc(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, error_function.erfc, x)


@maps_torch("aten::erfinv", error=error_function.INVERSE)
@recorded
def erfinv(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, error_function.erf_inverse, x)


@maps_torch("aten::special_ndtri", error=error_function.INVERSE)
@recorded
def ndtri(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, error_function.normal_quantile, x)


@maps_torch("aten::special_ndtr", error=ulps(8))
@recorded
def ndtr(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _normal_share, x)


def _normal_share(t: TorchTranslation, x: ir.Value) -> ir.Value:
    half = t.op.like(0.5, x)
    return t.op.Mul(half, error_function.erfc(t, t.op.Mul(x, t.op.like(-np.sqrt(0.5), x))))


@maps_torch("aten::special_log_ndtr", error=ulps(16))
@recorded
def log_ndtr(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _log_normal_share, x)


def _log_normal_share(t: TorchTranslation, x: ir.Value) -> ir.Value:
    """Below -1 by the scaled function, which does not vanish."""
    low = t.op.Less(x, t.op.like(-1, x))
    turned = t.op.Mul(x, t.op.like(-np.sqrt(0.5), x))
    tail = t.op.Mul(_erfcx(t, t.op.Max(turned, t.op.like(0, x))), t.op.like(0.5, x))
    below = t.op.Sub(t.op.Log(tail), t.op.Mul(t.op.Mul(x, x), t.op.like(0.5, x)))
    upper = t.op.Mul(error_function.erfc(t, t.op.Neg(turned)), t.op.like(-0.5, x))
    return t.op.Where(low, below, _log1p(t, upper))


def _log1p(t: TorchTranslation, x: ir.Value) -> ir.Value:
    """Small numbers keep their digits: log(u) x / (u - 1) with u = 1 + x as it is rounded."""
    one = t.op.like(1, x)
    raised = t.op.Add(one, x)
    step = t.op.Sub(raised, one)
    same = t.op.Equal(step, t.op.like(0, x))
    whole = t.op.IsInf(raised)
    quotient = t.op.Div(t.op.Mul(t.op.Log(raised), x), t.op.Where(same, one, step))
    return t.op.Where(same, x, t.op.Where(whole, t.op.Log(raised), quotient))


@maps_torch("aten::log1p", error=ulps(3))
@maps_torch("aten::special_log1p", error=ulps(3))
@recorded
def log1p(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _log1p, x)


@maps_torch("aten::special_erfcx", error=ulps(32))
@recorded
def erfcx(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _erfcx, x)


def _erfcx(t: TorchTranslation, x: ir.Value) -> ir.Value:
    """exp(x^2) erfc(x): near zero as it stands, above by its continued fraction."""
    near = t.op.Min(x, t.op.like(2, x))
    small = t.op.Mul(t.op.Exp(t.op.Mul(near, near)), error_function.erfc(t, near))
    far = t.op.Max(x, t.op.like(2, x))
    fraction = far
    for k in range(60, 0, -1):
        fraction = t.op.Add(far, t.op.Div(t.op.like(k / 2, x), fraction))
    large = t.op.Div(t.op.like(1 / np.sqrt(np.pi), x), fraction)
    return t.op.Where(t.op.Less(x, t.op.like(2, x)), small, large)


def _bessel(formula: Formula, order: int) -> Formula:
    return lambda t, x: formula(t, x, order)


@maps_torch("aten::special_bessel_j0", error=bessel.J_BOUND)
@recorded
def bessel_j0(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _bessel(bessel.j, 0), x)


@maps_torch("aten::special_bessel_j1", error=bessel.J_BOUND)
@recorded
def bessel_j1(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _bessel(bessel.j, 1), x)


@maps_torch("aten::special_bessel_y0", error=bessel.Y_BOUND)
@recorded
def bessel_y0(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _bessel(bessel.y, 0), x)


@maps_torch("aten::special_bessel_y1", error=bessel.Y_BOUND)
@recorded
def bessel_y1(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _bessel(bessel.y, 1), x)


@maps_torch("aten::special_i0e", error=bessel.I_SCALED_BOUND)
@recorded
def i0e(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _bessel(bessel.i_scaled, 0), x)


@maps_torch("aten::special_i1e", error=bessel.I_SCALED_BOUND)
@recorded
def i1e(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _bessel(bessel.i_scaled, 1), x)


@maps_torch("aten::i0", error=bessel.I_BOUND)
@maps_torch("aten::special_modified_bessel_i0", error=bessel.I_BOUND)
@recorded
def i0(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _bessel(bessel.i, 0), x)


@maps_torch("aten::special_i1", error=bessel.I_BOUND)
@maps_torch("aten::special_modified_bessel_i1", error=bessel.I_BOUND)
@recorded
def i1(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _bessel(bessel.i, 1), x)


@maps_torch("aten::special_scaled_modified_bessel_k0", error=bessel.K_SCALED_BOUND)
@recorded
def scaled_k0(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _scaled_k(0), x)


@maps_torch("aten::special_scaled_modified_bessel_k1", error=bessel.K_SCALED_BOUND)
@recorded
def scaled_k1(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _scaled_k(1), x)


def _scaled_k(order: int) -> Formula:
    """Below zero PyTorch has NaN."""

    def formula(t: TorchTranslation, x: ir.Value) -> ir.Value:
        below = t.op.Less(x, t.op.like(0, x))
        return t.op.Where(below, t.op.like(np.nan, x), bessel.k_scaled(t, x, order))

    return formula


def _unscaled_k(order: int) -> Formula:
    def formula(t: TorchTranslation, x: ir.Value) -> ir.Value:
        return t.op.Mul(_scaled_k(order)(t, x), t.op.Exp(t.op.Neg(x)))

    return formula


@maps_torch("aten::special_modified_bessel_k0", error=bessel.K_BOUND)
@recorded
def k0(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _unscaled_k(0), x)


@maps_torch("aten::special_modified_bessel_k1", error=bessel.K_BOUND)
@recorded
def k1(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _unscaled_k(1), x)


@maps_torch("aten::special_spherical_bessel_j0", error=ulps(4))
@recorded
def spherical_j0(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _of_double(t, _sine_over, x)


def _sine_over(t: TorchTranslation, x: ir.Value) -> ir.Value:
    """sin(x) / x; zero at infinity, as PyTorch has it."""
    small = t.op.Equal(x, t.op.like(0, x))
    found = t.op.Div(t.op.Sin(x), t.op.Where(small, t.op.like(1, x), x))
    ended = t.op.Where(t.op.IsInf(x), t.op.like(0, x), found)
    return t.op.Where(small, t.op.like(1, x), ended)
