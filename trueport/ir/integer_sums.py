"""Operators that sum products of 8-bit integers: where their data, weights and zero points are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["INTEGER_SUMS", "IntegerSum"]

_MS = "com.microsoft"


@dataclass(frozen=True)
class IntegerSum:
    """Positions of an operator's inputs."""

    weights: tuple[tuple[int, int], ...]
    """each weight, and its zero point"""
    data: int | None = None
    """what they are multiplied by; None: the operator itself quantizes it, to uint8"""
    data_zero_point: int | None = None


INTEGER_SUMS: Mapping[tuple[str, str], IntegerSum] = {
    ("", "MatMulInteger"): IntegerSum(((1, 3),), 0, 2),
    ("", "ConvInteger"): IntegerSum(((1, 3),), 0, 2),
    ("", "QLinearMatMul"): IntegerSum(((3, 5),), 0, 2),
    ("", "QLinearConv"): IntegerSum(((3, 5),), 0, 2),
    (_MS, "QLinearConv"): IntegerSum(((3, 5),), 0, 2),
    (_MS, "QGemm"): IntegerSum(((3, 5),), 0, 2),
    (_MS, "MatMulIntegerToFloat"): IntegerSum(((1, 5),), 0, 4),
    (_MS, "QAttention"): IntegerSum(((1, 7),), 0, 6),
    (_MS, "DynamicQuantizeMatMul"): IntegerSum(((1, 3),)),
    (_MS, "DynamicQuantizeLSTM"): IntegerSum(((1, 9), (2, 11))),
}
"""By domain and operator."""
