"""Special functions: ONNX has only Erf, the others are series and integrals computed in doubles."""

from __future__ import annotations

import functools

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, ulps
from trueport.formulas.numeric import in_double, is_double
from trueport.formulas.special import bessel, error_function, gamma, incomplete, integrals
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
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


@maps("Erfinv", domain=TF, error=ulps(8))
def erfinv(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(_erf_inverse, t), x)


def _erf_inverse(t: Translation, x: ir.Value) -> ir.Value:
    size = t.op.Abs(x)
    found = error_function.erfc_inverse(t, t.op.Sub(t.op.like(1, x), size), size)
    # At the ends the steps are infinite; near zero, where they would divide what is rounded, it is a line.
    ended = t.op.Where(t.op.Equal(size, t.op.like(1, x)), t.op.like(np.inf, x), found)
    line = t.op.Mul(size, t.op.like(np.sqrt(np.pi) / 2, x))
    return t.op.Mul(t.op.Sign(x), t.op.Where(t.op.Less(size, t.op.like(1e-8, x)), line, ended))


@maps("Ndtri", domain=TF, error=ulps(8))
def ndtri(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(_normal_quantile, t), x)


def _normal_quantile(t: Translation, x: ir.Value) -> ir.Value:
    one, two = t.op.like(1, x), t.op.like(2, x)
    upper = t.op.Greater(x, t.op.like(0.5, x))
    complement = t.op.Mul(t.op.Where(upper, t.op.Sub(one, x), x), two)
    found = error_function.erfc_inverse(t, complement, t.op.Sub(one, complement))
    ended = t.op.Where(t.op.Equal(complement, t.op.like(0, x)), t.op.like(np.inf, x), found)
    sign = t.op.Where(upper, t.op.like(np.sqrt(2), x), t.op.like(-np.sqrt(2), x))
    return t.op.Mul(sign, ended)


@maps("Lgamma", domain=TF, error=ulps(16))
def lgamma(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(gamma.lgamma, t), x)


@maps("Digamma", domain=TF, error=ulps(32))
def digamma(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(gamma.digamma, t), x)


@maps("Polygamma", domain=TF, error=ulps(64))
def polygamma(t: Translation, a: ir.Value, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(gamma.polygamma, t), a, x)


@maps("Zeta", domain=TF, error=ulps(16))
def zeta(t: Translation, x: ir.Value, q: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(gamma.zeta, t), x, q)


@maps("Igamma", domain=TF, error=ulps(1024))
def igamma(t: Translation, a: ir.Value, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(incomplete.igamma, t), a, x)


@maps("Igammac", domain=TF, error=ulps(1024, against=AGAINST_ONE))
def igammac(t: Translation, a: ir.Value, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(incomplete.igammac, t), a, x)


@maps("Betainc", domain=TF, error=ulps(4096))
def betainc(t: Translation, a: ir.Value, b: ir.Value, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(incomplete.betainc, t), a, b, x)


@maps("Expint", domain=TF, error=ulps(64))
def expint(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.exponential, t), x)


@maps("FresnelSin", domain=TF, error=ulps(16))
def fresnel_sin(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.fresnel, t, sine=True), x)


@maps("FresnelCos", domain=TF, error=ulps(16))
def fresnel_cos(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.fresnel, t, sine=False), x)


@maps("Dawsn", domain=TF, error=ulps(4))
def dawsn(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.dawson, t), x)


@maps("Spence", domain=TF, error=ulps(8))
def spence(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, functools.partial(integrals.spence, t), x)


@maps("BesselI0e", domain=TF, error=ulps(8))
def bessel_i0e(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.i_scaled(t, v, 0), x)


@maps("BesselI0", domain=TF, error=ulps(64))
def bessel_i0(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: t.op.Mul(bessel.i_scaled(t, v, 0), t.op.Exp(t.op.Abs(v))), x)


@maps("BesselJ0", domain=TF, error=ulps(8))
def bessel_j0(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.j(t, v, 0), x)


@maps("BesselY0", domain=TF, error=ulps(16))
def bessel_y0(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.y(t, v, 0), x)


@maps("BesselK0e", domain=TF, error=ulps(8))
def bessel_k0e(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.k_scaled(t, v, 0), x)


@maps("BesselK0", domain=TF, error=ulps(64))
def bessel_k0(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(
        t, lambda v: t.op.Mul(bessel.k_scaled(t, v, 0), t.op.Exp(t.op.Neg(t.op.Max(v, t.op.like(0, v))))), x
    )


@maps("BesselI1e", domain=TF, error=ulps(8))
def bessel_i1e(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.i_scaled(t, v, 1), x)


@maps("BesselI1", domain=TF, error=ulps(64))
def bessel_i1(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: t.op.Mul(bessel.i_scaled(t, v, 1), t.op.Exp(t.op.Abs(v))), x)


@maps("BesselJ1", domain=TF, error=ulps(8))
def bessel_j1(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.j(t, v, 1), x)


@maps("BesselY1", domain=TF, error=ulps(16))
def bessel_y1(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.y(t, v, 1), x)


@maps("BesselK1e", domain=TF, error=ulps(8))
def bessel_k1e(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(t, lambda v: bessel.k_scaled(t, v, 1), x)


@maps("BesselK1", domain=TF, error=ulps(64))
def bessel_k1(t: Translation, x: ir.Value) -> ir.Value:
    return in_double(
        t, lambda v: t.op.Mul(bessel.k_scaled(t, v, 1), t.op.Exp(t.op.Neg(t.op.Max(v, t.op.like(0, v))))), x
    )
