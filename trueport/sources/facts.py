"""Words of ``trueport info`` that are the same for all forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trueport.ir.ports import Port

__all__ = ["border", "quantizing"]

_QUANTIZING = ("Quantize", "QLinear", "Integer", "QGemm", "QAttention", "MatMulNBits", "FakeQuant")


def border(inputs: Iterable[Port], outputs: Iterable[Port]) -> dict[str, Any]:
    """Inputs, outputs, and the dims that a caller chooses: by name, where they stand."""
    taken, made = tuple(inputs), tuple(outputs)
    places: dict[str, list[str]] = {}
    for port in (*taken, *made):
        for axis, dim in enumerate(port.shape or ()):
            if not isinstance(dim, int):
                places.setdefault(dim or "?", []).append(f"{port.name}[{axis}]")
    return {
        "inputs": [_line(port) for port in taken],
        "outputs": [_line(port) for port in made],
        "open dims": {name: ", ".join(found) for name, found in places.items()},
    }


def _line(port: Port) -> str:
    shape = "?" if port.shape is None else "[" + ", ".join("?" if d is None else str(d) for d in port.shape) + "]"
    kind = "" if port.kind == "tensor" else f"{port.kind} of "
    renamed = f" (as {', '.join(port.parts)})" if port.parts != (port.name,) else ""
    return f"{port.name}: {kind}{port.dtype.lower()}{shape if port.kind == 'tensor' else ''}{renamed}"


def quantizing(operators: Mapping[str, int]) -> dict[str, int]:
    """Operators that make, take or compute with quantized numbers."""
    return {op: count for op, count in operators.items() if any(word in op for word in _QUANTIZING)}
