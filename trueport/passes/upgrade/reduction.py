"""Reductions took their axes as an attribute: ReduceSum before 13, the others before 18."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("ReduceL1", 13, 18)
@upgrades("ReduceL2", 13, 18)
@upgrades("ReduceLogSum", 13, 18)
@upgrades("ReduceLogSumExp", 13, 18)
@upgrades("ReduceMax", 13, 18)
@upgrades("ReduceMean", 13, 18)
@upgrades("ReduceMin", 13, 18)
@upgrades("ReduceProd", 13, 18)
@upgrades("ReduceSum", 11, 13)
@upgrades("ReduceSumSquare", 13, 18)
def axes_as_input(op: AdapterBuilder, data: Value, *, axes: list[int] | None, keepdims: int) -> Any:
    """Without axes, all; as with the input."""
    return op.again(data, op.const(axes, np.int64) if axes else None, keepdims=keepdims)
