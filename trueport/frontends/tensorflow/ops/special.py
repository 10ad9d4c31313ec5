"""Special functions: ONNX has only Erf, the others are series and integrals computed in doubles."""

from __future__ import annotations

import functools

import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, ulps
from trueport.formulas.numeric import in_double, is_double
from trueport.formulas.special import bessel, error_function, gamma, incomplete, integrals
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.marks import mark
from trueport.mapping.declare import maps

__all__: list[str] = []

# Bounds are of doubles, measured against 40 digits; what is rounded to float32 from them lies within one unit.


@maps("Erf", domain=TF, error=ulps(3, against=AGAINST_ONE))
def erf(t: Translation, x: ir.Value) -> ir.Value:
    return error_function.erf(t, x) if is_double(x) else t.op.Erf(x)


@maps("Erfc", domain=TF, error=ulps(8, against=AGAINST_ONE))
def erfc(t: Translation, x: ir.Value) -> ir.Value:
    # A GELU is found by it, which ONNX has as one operator.
    return mark(in_double(t, functools.partial(error_function.erfc, t), x), "Erfc", x)


@maps("Erfinv", domain=TF, error=error_function.INVERSE)
def erfinv(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(error_function.erf_inverse, t), x)


@maps("Ndtri", domain=TF, error=error_function.INVERSE)
def ndtri(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(error_function.normal_quantile, t), x)


@maps("Lgamma", domain=TF, error=gamma.LGAMMA)
def lgamma(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(gamma.lgamma, t), x)


@maps("Digamma", domain=TF, error=gamma.DIGAMMA)
def digamma(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(gamma.digamma, t), x)


@maps("Polygamma", domain=TF, error=gamma.POLYGAMMA)
def polygamma(t: Translation, a: ir.Value, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(gamma.polygamma, t), a, x)


@maps("Zeta", domain=TF, error=gamma.ZETA)
def zeta(t: Translation, x: ir.Value, q: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(gamma.zeta, t), x, q)


@maps("Igamma", domain=TF, error=incomplete.IGAMMA)
def igamma(t: Translation, a: ir.Value, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(incomplete.igamma, t), a, x)


@maps("Igammac", domain=TF, error=ulps(1024, against=AGAINST_ONE))
def igammac(t: Translation, a: ir.Value, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(incomplete.igammac, t), a, x)


@maps("Betainc", domain=TF, error=incomplete.BETAINC)
def betainc(t: Translation, a: ir.Value, b: ir.Value, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(incomplete.betainc, t), a, b, x)


@maps("Expint", domain=TF, error=integrals.EXPONENTIAL)
def expint(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.exponential, t), x)


@maps("FresnelSin", domain=TF, error=integrals.FRESNEL)
def fresnel_sin(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.fresnel, t, sine=True), x)


@maps("FresnelCos", domain=TF, error=integrals.FRESNEL)
def fresnel_cos(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.fresnel, t, sine=False), x)


@maps("Dawsn", domain=TF, error=integrals.DAWSON)
def dawsn(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.dawson, t), x)


@maps("Spence", domain=TF, error=integrals.SPENCE)
def spence(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.spence, t), x)


@maps("BesselI0e", domain=TF, error=bessel.I_SCALED_BOUND)
def bessel_i0e(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.i_scaled(t, v, 0), x)


@maps("BesselI0", domain=TF, error=bessel.I_BOUND)
def bessel_i0(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.i(t, v, 0), x)


@maps("BesselJ0", domain=TF, error=bessel.J_BOUND)
def bessel_j0(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.j(t, v, 0), x)


@maps("BesselY0", domain=TF, error=bessel.Y_BOUND)
def bessel_y0(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.y(t, v, 0), x)


@maps("BesselK0e", domain=TF, error=bessel.K_SCALED_BOUND)
def bessel_k0e(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.k_scaled(t, v, 0), x)


@maps("BesselK0", domain=TF, error=bessel.K_BOUND)
def bessel_k0(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(
        t, lambda v: t.op.Mul(bessel.k_scaled(t, v, 0), t.op.Exp(t.op.Neg(t.op.Max(v, t.op.like(0, v))))), x
    )


@maps("BesselI1e", domain=TF, error=bessel.I_SCALED_BOUND)
def bessel_i1e(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.i_scaled(t, v, 1), x)


@maps("BesselI1", domain=TF, error=bessel.I_BOUND)
def bessel_i1(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.i(t, v, 1), x)


@maps("BesselJ1", domain=TF, error=bessel.J_BOUND)
def bessel_j1(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.j(t, v, 1), x)


@maps("BesselY1", domain=TF, error=bessel.Y_BOUND)
def bessel_y1(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.y(t, v, 1), x)


@maps("BesselK1e", domain=TF, error=bessel.K_SCALED_BOUND)
def bessel_k1e(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.k_scaled(t, v, 1), x)


@maps("BesselK1", domain=TF, error=bessel.K_BOUND)
def bessel_k1(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(
        t, lambda v: t.op.Mul(bessel.k_scaled(t, v, 1), t.op.Exp(t.op.Neg(t.op.Max(v, t.op.like(0, v))))), x
    )
