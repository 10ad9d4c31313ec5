"""All kinds of faults, by name."""

from __future__ import annotations

from collections.abc import Mapping

from bench.faults.strangers.kind import Kind
from bench.faults.strangers.kinds import (
    attributes,
    control,
    operands,
    operators,
    precision,
    quantization,
    recurrent,
    weights,
    windows,
)

__all__ = ["KINDS"]

_MODULES = (attributes, windows, operands, weights, quantization, operators, precision, control, recurrent)
_ALL = [kind for module in _MODULES for kind in module.KINDS]

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ALL}

if len(KINDS) != len(_ALL):
    raise ValueError("two kinds of faults have the same name")
