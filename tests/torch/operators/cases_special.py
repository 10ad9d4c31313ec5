"""torch.special."""

from __future__ import annotations

import torch

from tests.torch.operators.case import AnyCase, Cannot, Case
from tests.torch.operators.draws import edges, normal, of, positive, unit, wholes, words

__all__ = ["CASES"]

_INF, _NAN = float("inf"), float("nan")


def _one(name: str, draw: object = edges, **options: object) -> Case:
    return Case(f"torch.special.{name}", of("n", 4, draw=draw, **options))  # type: ignore[arg-type]


def _degrees(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Arguments inside of [-1, 1] and beyond, degrees from -1 to 8."""
    x = torch.cat([torch.tensor([0.0, 1.0, -1.0, 0.5, -0.25]), 1.5 * normal(n * 4 - 5)]).view(n, 4)
    return x, (torch.arange(n * 4).view(n, 4) % 10 - 1).to(torch.float32)


def _small_degrees(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    x, degree = _degrees(n)
    return x, degree.clamp(max=6)


_POLYNOMIALS = (
    *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
    "legendre_polynomial_p",
)

CASES: list[AnyCase] = [
    *(
        _one(name)
        for name in words(
            "bessel_j0 bessel_j1 digamma entr erf erfc erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p "
            "log_ndtr logit ndtr ndtri psi sinc modified_bessel_i0 modified_bessel_i1 round"
        )
    ),
    _one("erfcx"),
    _one("spherical_bessel_j0"),
    Cannot("torch.special.airy_ai", of("n", 4), "no series of it is written"),
    *(
        _one(name, draw=lambda *shape: edges(*shape).abs())
        for name in words(
            "bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
            "scaled_modified_bessel_k1"
        )
    ),
    *(Case(f"torch.special.{name}", _degrees) for name in _POLYNOMIALS),
    *(
        Case(f"torch.special.{name}", _small_degrees)
        for name in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l")
    ),
    Case("torch.special.round", of("n", 4, draw=edges), {"decimals": 2}, label="decimals"),
    Case("torch.special.logit", of("n", 4, draw=unit), {"eps": 0.1}, label="eps"),
    Case("torch.special.erf", of("n", 4, draw=edges, dtype=torch.float64), label="float64"),
    Case("torch.special.expit", of("n", 4, draw=wholes, low=-3, high=3), label="of integers"),
    Case("torch.special.erfinv", of("n", 4, draw=unit), label="unit"),
    Case("torch.special.ndtri", of("n", 4, draw=unit), label="unit"),
    Case("torch.special.logit", of("n", 4, draw=unit), label="unit"),
    *(
        Case(f"torch.special.{name}", lambda n: (positive(n, 4), positive(n, 4, seed=1) * 2), label="ordinary")
        for name in ("gammainc", "gammaincc")
    ),
    Case("torch.special.gammainc", lambda n: (edges(n, 4).abs(), edges(n, 4, seed=1).abs()), label="edges"),
    Case("torch.special.gammaincc", lambda n: (edges(n, 4).abs(), edges(n, 4, seed=1).abs()), label="edges"),
    Case("torch.special.log_softmax", of("n", 4, draw=edges, without="nan inf"), {"dim": -1}),
    Case("torch.special.softmax", of("n", 4, draw=edges, without="nan inf"), {"dim": 0}),
    Case("torch.special.logsumexp", of("n", 4, draw=edges, without="nan"), {"dim": -1}),
    Case("torch.special.multigammaln", lambda n: (positive(n, 4) + 2,), {"p": 3}),
    Case("torch.special.polygamma", lambda n: (positive(n, 4),), call=lambda x: torch.special.polygamma(2, x)),
    Case(
        "torch.special.polygamma",
        of("n", 4, draw=edges),
        call=lambda x: torch.special.polygamma(1, x),
        label="trigamma",
    ),
    Case("torch.special.xlog1py", lambda n: (edges(n, 4), edges(n, 4, seed=3))),
    Case("torch.special.xlogy", lambda n: (edges(n, 4), edges(n, 4, seed=3))),
    Case("torch.special.zeta", lambda n: (positive(n, 4) + 1, positive(n, 4, seed=2))),
    Case("torch.special.zeta", lambda n: (edges(n, 4), edges(n, 4, seed=2)), label="edges"),
]
