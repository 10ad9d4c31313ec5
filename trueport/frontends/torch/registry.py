"""PyTorch's operators that Trueport translates itself: those that the exporter lacks, or gets wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from trueport.fidelity import ErrorBound
from trueport.frontends.torch import ops
from trueport.mapping.declare import maps
from trueport.mapping.registry import Registry, build_from_package

__all__ = ["TORCH_COMPLEX", "maps_torch", "registry"]

TORCH_COMPLEX = "torch.complex"
"""The domain of translations for complex operands, which arrive as pairs of reals in a last axis."""

_H = TypeVar("_H", bound=Callable[..., Any])


def maps_torch(
    operator: str, *, error: ErrorBound | None = None, complex_operands: bool = False, **promises: Any
) -> Callable[[_H], _H]:
    """Declare a translation of one of PyTorch's operators: ``@maps_torch("acme::my_op")``.

    The function takes what the operator takes, by onnxscript's types, and builds ONNX with an onnxscript opset.
    ``complex_operands``: it is the one for calls in which an operand is complex.
    """
    return maps(operator, domain=TORCH_COMPLEX if complex_operands else "torch", error=error, **promises)


@functools.cache
def registry() -> Registry:
    """All declarations of the family modules."""
    return build_from_package("onnx", ops)
