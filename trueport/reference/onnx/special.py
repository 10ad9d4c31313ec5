"""The error function in float64, element-wise: ONNX's reference rounds it to float32 and goes one by one."""

from __future__ import annotations

import numpy as np

__all__ = ["erf", "erfc", "gelu"]

# Rational approximations of W. J. Cody (1969), accurate to a few units of the last place of float64.
_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
_MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e0,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
_LARGE = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346725e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)
_NEAR, _FAR, _NOTHING = 0.46875, 4.0, 27.0
"""Up to `_NEAR` erf is approximated, beyond it erfc; from `_NOTHING` on erfc is 0 in float64."""


def erf(x: np.ndarray) -> np.ndarray:
    """Return the error function of each element."""
    near, far = _near(x), np.sign(x) * (1 - _tail(np.abs(x)))
    return np.where(np.abs(x) <= _NEAR, near, far)


def erfc(x: np.ndarray) -> np.ndarray:
    """Return ``1 - erf(x)`` of each element, without cancellation."""
    tail = _tail(np.abs(x))
    return np.where(np.abs(x) <= _NEAR, 1 - _near(x), np.where(x < 0, 2 - tail, tail))


def gelu(x: np.ndarray) -> np.ndarray:
    """Return ``x · Φ(x)`` of each element."""
    return np.asarray(0.5 * x * erfc(x * -np.sqrt(0.5)))


def _near(x: np.ndarray) -> np.ndarray:
    clipped = np.clip(x, -_NEAR, _NEAR)
    return np.asarray(clipped * _ratio(_SMALL, clipped * clipped))


def _tail(y: np.ndarray) -> np.ndarray:
    """Return erfc of numbers that are not negative; of those up to `_NEAR` something finite."""
    bounded = np.clip(y, _NEAR, _NOTHING)
    inverse = 1 / (bounded * bounded)
    far = (1 / np.sqrt(np.pi) - inverse * _ratio(_LARGE, inverse)) / bounded
    scaled = np.where(bounded <= _FAR, _ratio(_MIDDLE, bounded), far)
    # The square is split, so that its rounding error is not multiplied by the exponential.
    coarse = np.trunc(bounded * 16) / 16
    decay = np.exp(-coarse * coarse) * np.exp(-(bounded - coarse) * (bounded + coarse))
    return np.where(y >= _NOTHING, 0.0, np.where(np.isnan(y), y, scaled * decay))


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: np.ndarray) -> np.ndarray:
    upper, lower = (np.polyval(np.asarray(part), x) for part in coefficients)
    return np.asarray(upper / lower)
