"""What the oldest ONNX Runtime that files are written for reads and runs; found by loading files in it.

| ONNX Runtime | opset up to | IR version up to |
| --- | --- | --- |
| 1.20 | 21 | 10 |
| 1.22 | 22 | 10 |
| 1.24 | 25 | 13 |
| 1.31 | 26 | 13 |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from trueport.ir.widening import Kernel

__all__ = ["OLDEST_RUNTIME", "READABLE_OPSET", "kernels_of_oldest"]

OLDEST_RUNTIME = "ONNX Runtime 1.20"
READABLE_OPSET = 21
"""The newest opset that it reads; the IR version 10, which goes with that one, is the newest as well."""
_INTEGERS = "int8 int16 uint8 uint16 uint32 uint64"
_FOUR_BITS = "int2 int4 uint2 uint4"
_LATER_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("Add", "Div", "Mul", "Sub"), _INTEGERS),
    **dict.fromkeys(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"), _INTEGERS),
    **dict.fromkeys(("DepthToSpace", "Max", "Min", "SpaceToDepth"), "int8 uint8"),
    "Cast": _FOUR_BITS,
    "ConvInteger": "int8",
    "Cos": "double",
    "LayerNormalization": "bfloat16",
    "Neg": "int16",
    "SplitToSequence": "bool",
    "TopK": "int8 int16 uint8",
    "Trilu": "int32",
    "Where": "int8 uint32",
}
"""By operator: element types for which it has no kernel, at opsets up to 21, and ONNX Runtime 1.31 has one."""
_LATER_OPERATORS = frozenset({"DeformConv", "TreeEnsemble"})
"""Operators for which it has no kernel at all, and ONNX Runtime 1.31 has one."""


def kernels_of_oldest(kernels: Iterable[Kernel]) -> tuple[Kernel, ...]:
    """Return those of the installed release that the oldest one has too, with the types that it has them for."""
    return tuple(_as_before(kernel) for kernel in kernels if kernel.op not in _LATER_OPERATORS)


def _as_before(kernel: Kernel) -> Kernel:
    later = frozenset(f"tensor({name})" for name in _LATER_TYPES.get(kernel.op, "").split())
    if not later or kernel.domain:
        return kernel
    return replace(kernel, types={name: types - later for name, types in kernel.types.items()})
