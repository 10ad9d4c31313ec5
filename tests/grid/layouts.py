"""One node on channel-last data: what it gives must be what it gives on channel-first data."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from tests.grid.harness import assert_close, make_model, run_ort
from trueport.backends.tensorflow.module import build_module
from trueport.backends.tensorflow.registry import registry
from trueport.passes.pipeline import canonicalize

__all__ = ["check_channels_last", "check_half"]


def check_channels_last(op: str, *arrays: np.ndarray | None, outputs: int = 1, **attributes: Any) -> None:
    """Run the node as the layout pass leaves it: its first input and all outputs are channel-last."""
    proto = make_model(op, [arrays], outputs, constants=range(1, len(arrays)), **attributes)
    want = run_ort(proto, {"x0": arrays[0]})
    model = ir.from_proto(proto)
    canonicalize(model, registry())
    (node,) = (node for node in model.graph if node.op_type == op)
    node.meta["channels_last"] = True
    for value in (*model.graph.inputs, *model.graph.outputs):
        value.shape = None
    assert arrays[0] is not None
    model.graph.inputs[0].shape = ir.Shape([None] * arrays[0].ndim)
    made = build_module(model, registry()).function(x0=np.moveaxis(arrays[0], 1, -1))
    mapping = registry().find(op)
    assert mapping is not None and mapping.channels_last and mapping.error is not None
    for index, expected in enumerate(want):
        assert_close(np.moveaxis(made[f"y{index}"].numpy(), -1, 1), expected, mapping.error, 64, f"{op} output {index}")


def check_half(op: str, dtype: Any, *arrays: np.ndarray | None, terms: int = 1, **attributes: Any) -> None:
    """Half precision against ONNX Runtime in float32 on the same values: rounded once, at the end."""
    from trueport.backend import prepare

    narrow = [a if a is None or a.dtype.kind != "f" else a.astype(dtype) for a in arrays]
    wide = [a if a is None or a.dtype != dtype else a.astype(np.float32) for a in narrow]
    want = run_ort(make_model(op, [wide], **attributes), {f"x{i}": a for i, a in enumerate(wide) if a is not None})
    rep = prepare(make_model(op, [narrow], **attributes))
    got = rep.run({f"x{i}": a for i, a in enumerate(narrow) if a is not None})
    mapping = registry().find(op)
    assert mapping is not None and mapping.error is not None
    assert got[0].dtype == dtype
    assert_close(got[0], want[0], mapping.error, terms, f"{op} in {dtype}")
