"""How operators carry a permutation of axes, as data; `passes.layout` has the rule that goes with each."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Along",
    "AlongInput",
    "AxisOrder",
    "Elementwise",
    "Gathered",
    "Inserted",
    "PerAxis",
    "Quantized",
    "Reduced",
    "Reshaped",
    "ShapeOnly",
    "Sliced",
    "Squeezed",
]


@dataclass(frozen=True)
class AxisOrder:
    """An operator that can run on permuted data; the class says how its result, or its parameters, follow."""


@dataclass(frozen=True)
class Elementwise(AxisOrder):
    """All data inputs broadcast together; ``operands`` and ``results`` limit them to the first ones."""

    operands: int | None = None
    results: int | None = None


@dataclass(frozen=True)
class Along(AxisOrder):
    """Works along the attribute ``axis``; the first ``operands`` inputs have the data's rank, None for all."""

    default: int = 0
    operands: int | None = 1
    keeps: bool = True
    """False: it has an attribute ``keepdims``, without which the axis is dropped"""


@dataclass(frozen=True)
class AlongInput(AxisOrder):
    """Works along an axis that the input at ``index`` gives."""

    index: int


@dataclass(frozen=True)
class PerAxis(AxisOrder):
    """Has parameters with elements per axis; only for ``axes``, if given."""

    blocks: tuple[tuple[int, int], ...]
    """(index of the input, elements per axis): 1 for scales, 2 for pads"""
    axes_input: int | None = None
    axes_attribute: str | None = None


@dataclass(frozen=True)
class ShapeOnly(AxisOrder):
    """Reads the shape; ``counts``: only the number of elements."""

    counts: bool = False


@dataclass(frozen=True)
class Gathered(AxisOrder):
    """Takes elements along one axis by indices, which may have any number of axes."""


@dataclass(frozen=True)
class Inserted(AxisOrder):
    """Adds axes of length one."""


@dataclass(frozen=True)
class Quantized(AxisOrder):
    """Is element-wise, with a scale and a zero point per tensor, axis or block."""


@dataclass(frozen=True)
class Reduced(AxisOrder):
    """Reduces the axes that its second input gives."""


@dataclass(frozen=True)
class Reshaped(AxisOrder):
    """Joins and splits axes."""


@dataclass(frozen=True)
class Sliced(AxisOrder):
    """Takes a range of each axis."""


@dataclass(frozen=True)
class Squeezed(AxisOrder):
    """Drops axes of length one."""
