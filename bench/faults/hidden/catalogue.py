"""All hidden faults, and their two halves: one to tune with, one for the report."""

from __future__ import annotations

import hashlib

from bench.faults.hidden.edges import EDGE_FAULTS
from bench.faults.hidden.fault import HiddenFault
from bench.faults.hidden.integers import INTEGER_FAULTS
from bench.faults.hidden.magnitudes import MAGNITUDE_FAULTS
from bench.faults.hidden.sizes import SIZE_FAULTS
from bench.faults.hidden.tables import TABLE_FAULTS
from bench.faults.hidden.thresholds import THRESHOLD_FAULTS

__all__ = ["HALVES", "HIDDEN_FAULTS", "find_fault", "select_half"]

HIDDEN_FAULTS: tuple[HiddenFault, ...] = (
    *SIZE_FAULTS,
    *INTEGER_FAULTS,
    *THRESHOLD_FAULTS,
    *TABLE_FAULTS,
    *MAGNITUDE_FAULTS,
    *EDGE_FAULTS,
)
HALVES = ("tune", "report")


def select_half(half: str) -> list[HiddenFault]:
    """Return every second fault, sorted by family and then by a hash of the name, so that families are spread."""
    ordered = sorted(HIDDEN_FAULTS, key=lambda fault: (fault.family, hashlib.sha256(fault.name.encode()).hexdigest()))
    return ordered[HALVES.index(half) :: 2]


def find_fault(name: str) -> HiddenFault:
    """Return the fault of this name."""
    return next(fault for fault in HIDDEN_FAULTS if fault.name == name)
