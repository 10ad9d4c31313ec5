"""How the parts of a node that decides are counted, and where its inputs must be for a part to be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir

__all__ = ["Aim", "Arrays", "Count", "Family", "attribute", "beside", "margin"]

Arrays = Sequence[Any]
"""Values of a node's inputs or outputs, by position; None where there is none."""


_BESIDE_EXACT, _BESIDE = 1e-4, 1e-2
"""Shares of the margin: about 80 units of the last place of a float32, and a thousandth of the number."""


@dataclass(frozen=True)
class Count:
    """Which parts of a node one evaluation reached."""

    kind: str
    labels: Sequence[str]
    hit: np.ndarray
    """booleans, one per part"""
    masks: Sequence[np.ndarray] = ()
    """per part the elements of the result that it decides; empty where that is not known"""


@dataclass(frozen=True)
class Aim:
    """Values of one operand with which parts would be reached."""

    operand: int
    values: tuple[Any, ...]
    """each fits the operand by broadcasting; elements of the operand take them in turn"""
    rows: bool = False
    """``values`` has one matrix, whose rows become rows of the operand"""


class Family(Protocol):
    """What operators that decide in the same way share."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        """Return the inputs that decide; where none depends on the model's inputs there is nothing to count."""

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        """Return what was reached; None where nothing is decided."""

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        """Return what to feed for the parts of these numbers.

        ``exact``: nothing rounds between the model's inputs and the operand, so that values may stand close to a
        decision.
        """


def attribute(node: ir.Node, name: str, default: float) -> float:
    """Return a number given as an attribute."""
    return float(node.attributes[name].value) if name in node.attributes else default


def margin(point: Any, dtype: np.dtype) -> Any:
    """Return how near to a decision an element must be for its side to count as reached: a tenth of the number."""
    return np.maximum(np.abs(point) * 0.1, 0.5 if dtype.kind == "f" else 1)


def beside(point: Any, side: int, dtype: np.dtype, *, exact: bool) -> list[Any]:
    """Return values on one side of a decision, the nearest first; ``side`` is -1 or 1.

    None is so near that rounding, of which the judge allows half a unit of the last place even in inputs, leads to
    the other side: a fault would not be told from that.
    """
    at = np.asarray(point)
    if dtype.kind in "iu":
        return [at + side, at + 7 * side]
    step = margin(at, dtype)
    return [at + side * step * (_BESIDE_EXACT if exact else _BESIDE), at + side * step / 2, at + side * step * 10]
