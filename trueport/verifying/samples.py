"""A few seeded inputs that fit a model's signature, every dynamic dim at two sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.dtypes import INTEGERS, NARROW_INTEGERS, numpy_dtype
from trueport.ir.ports import Port

__all__ = ["make_samples"]

_SIZES = (1, 3)
"""For a dim that the model leaves open: the smallest batch, and one that is no power of two."""


def make_samples(
    ports: Sequence[Port], *, seed: int = 0, dims: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """One input set per size of the dynamic dims; the same seed gives the same bytes."""
    dynamic = any(not isinstance(dim, int) for port in ports for dim in port.shape or ())
    sizes = _SIZES if dynamic else _SIZES[:1]
    return [_sample(ports, np.random.default_rng(seed + size), size, dims or {}) for size in sizes]


def _sample(
    ports: Sequence[Port], generator: np.random.Generator, size: int, dims: Mapping[str, int]
) -> dict[str, Any]:
    return {port.name: _value(port, generator, size, dims) for port in ports}


def _value(port: Port, generator: np.random.Generator, size: int, dims: Mapping[str, int]) -> Any:
    if port.kind in ("map", "sequence_map"):
        keys = ["a", "b"] if port.key_dtype == "STRING" else [0, 1]
        row = dict(zip(keys, generator.normal(size=2).tolist(), strict=True))
        return row if port.kind == "map" else [row]
    shape = [dim if isinstance(dim, int) else dims.get(str(dim), size) for dim in port.shape or ()]
    array = _array(port.element, generator, shape)
    return array if port.kind in ("tensor", "pair", "optional") else [array]


def _array(dtype: ir.DataType, generator: np.random.Generator, shape: list[int]) -> np.ndarray:
    target = numpy_dtype(dtype)
    if dtype == ir.DataType.STRING:
        return np.array(generator.choice(["a", "b", "true port"], size=shape), dtype=object)
    if dtype == ir.DataType.BOOL:
        return np.asarray(generator.integers(0, 2, size=shape)).astype(bool)
    if dtype in INTEGERS | NARROW_INTEGERS:
        # Small and not negative: integers are most often indices, lengths or token ids.
        return np.asarray(generator.integers(0, 2, size=shape)).astype(target)
    return np.asarray(generator.normal(size=shape)).astype(target)
