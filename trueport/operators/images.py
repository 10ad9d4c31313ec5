"""Interpolation, images and signals."""

from __future__ import annotations

from functools import partial

from trueport.fidelity import AGAINST_DATA, AGAINST_PLACES, accumulation, ulps
from trueport.operators.order import PerAxis
from trueport.operators.record import Kind, Operator, Role, Widening

__all__ = ["OPERATORS"]

_interpolation = partial(Operator, kind=Kind.INTERPOLATION, error=accumulation(8, 4, against=AGAINST_PLACES))
_image = partial(Operator, kind=Kind.MOVEMENT)
_signal = partial(Operator, kind=Kind.SIGNAL, error=accumulation(4, against=AGAINST_DATA))
_window = partial(Operator, kind=Kind.GENERATION, error=accumulation(1), roles=(Role.PARAMETER,))

OPERATORS: tuple[Operator, ...] = (
    _interpolation("AffineGrid", error=accumulation(4, against=AGAINST_DATA), roles=(Role.DATA, Role.GRID_SIZES)),
    _interpolation("GridSample", error=accumulation(16, 8, against=AGAINST_PLACES), widening=Widening.NEAREST),
    _interpolation(
        "Resize",
        order=PerAxis(((1, 2), (2, 1), (3, 1)), axes_attribute="axes"),
        widening=Widening.NEAREST,
        roles=(Role.DATA, Role.PARAMETER, Role.SCALES, Role.SIZES),
    ),
    _interpolation("RoiAlign"),
    _interpolation("Upsample", roles=(Role.DATA, Role.SCALES), family="resize"),
    _image("Col2Im", error=accumulation(), roles=(Role.DATA, Role.PARAMETER, Role.PARAMETER)),
    _image("ImageDecoder"),
    _signal("DFT", roles=(Role.DATA, Role.PARAMETER, Role.PARAMETER)),
    _signal(
        "MelWeightMatrix",
        error=ulps(1),
        roles=(Role.PARAMETER, Role.PARAMETER, Role.PARAMETER, Role.PARAMETER, Role.PARAMETER),
    ),
    _signal("STFT", roles=(Role.DATA, Role.PARAMETER, Role.DATA, Role.PARAMETER)),
    _window("BlackmanWindow"),
    _window("HammingWindow"),
    _window("HannWindow"),
)
