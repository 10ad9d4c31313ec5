"""What is no optional can be asked like one since 18."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.lower.adapt import Downgrade, downgrades

__all__: list[str] = []


@downgrades("OptionalHasElement", 18, 15)
def optional_has_element_18_to_15(op: Downgrade, input: Value | None) -> Any:
    """A tensor or sequence is always there."""
    if input is not None and isinstance(input.type, ir.OptionalType):
        return op.again(input)
    return op.const(np.array(input is not None))


@downgrades("OptionalGetElement", 18, 15)
def optional_get_element_18_to_15(op: Downgrade, input: Value) -> Any:
    """A tensor or sequence is its own element."""
    return op.again(input) if isinstance(input.type, ir.OptionalType) else input
