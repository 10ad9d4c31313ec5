"""What a pair is, and which verdicts are no alarm."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ROUNDING_ONLY", "Pair", "make_rng"]

ROUNDING_ONLY = ("faithful",)


@dataclass(frozen=True)
class Pair:
    """A source and a target that is right, made when asked for."""

    kind: str
    """the family: what was done to the source"""
    name: str
    """unique, starts with the kind"""
    make: Callable[[Path], tuple[Any, Any]]
    """given an empty folder for files: source and target, as `verify` takes them"""
    accepted: tuple[str, ...] = ROUNDING_ONLY
    """the verdicts that are no alarm; more than one where precision is reduced on purpose"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """further arguments of `verify`"""


def make_rng(name: str, seed: int) -> np.random.Generator:
    """Return a generator that depends on the name and the seed only."""
    return np.random.default_rng([zlib.crc32(name.encode()), seed])
