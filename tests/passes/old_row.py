"""One row of the tables of what changed between versions."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["N", "Row", "row"]


def N(*shape: int, low: float = -2, high: float = 2) -> np.ndarray:
    """Float32 numbers that depend on the shape alone."""
    return np.random.default_rng(zlib.crc32(repr(shape).encode())).uniform(low, high, shape).astype(np.float32)


@dataclass(frozen=True)
class Row:
    """A node at an old version, as the table below gives it."""

    op: str
    version: int
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]
    want: Callable[..., Any] | None
    domain: str
    outputs: int
    constants: tuple[int, ...]
    random: bool


def row(
    op: str,
    version: int,
    *inputs: Any,
    want: Callable[..., Any] | None = None,
    domain: str = "",
    outputs: int = 1,
    constants: tuple[int, ...] = (),
    random: bool = False,
    **attributes: Any,
) -> Row:
    return Row(op, version, inputs, attributes, want, domain, outputs, constants, random)
