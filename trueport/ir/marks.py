"""What a value stands for, where several nodes make what the source has as one operator."""

from __future__ import annotations

import onnx_ir as ir

__all__ = ["mark", "marked"]

_MARK = "trueport.stands_for"


def mark(value: ir.Value, operator: str, operand: ir.Value) -> ir.Value:
    """Note that the value is this function of the operand."""
    value.meta[_MARK] = operator, operand
    return value


def marked(value: ir.Value, operator: str) -> ir.Value | None:
    """The operand of which the value is noted to be this function."""
    found, operand = value.meta.get(_MARK, ("", None))
    return operand if found == operator else None
