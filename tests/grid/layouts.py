"""One node on channel-last data: what it gives must be what it gives on channel-first data."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from tests.grid.harness import assert_close, make_model, run_ort, run_reference
from trueport.backend import prepare
from trueport.backends.tensorflow.build.module import build_module
from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import ulps
from trueport.passes.canonical import raise_opsets
from trueport.passes.shapes import infer_shapes

__all__ = ["check_channels_last", "check_half", "check_like_input"]


def check_channels_last(op: str, *arrays: np.ndarray | None, outputs: int = 1, **attributes: Any) -> None:
    """Run the node alone in both layouts: its first input and all outputs are channel-last, or none of them."""
    proto = _declared(make_model(op, [arrays], outputs, constants=range(1, len(arrays)), **attributes))
    want = run_ort(proto, {"x0": arrays[0]})
    mapping = registry().find(op)
    assert mapping is not None and mapping.channels_last and mapping.error is not None
    for last in (False, True):
        model = ir.from_proto(proto)
        raise_opsets(model)
        infer_shapes(model)
        (node,) = (node for node in model.graph if node.op_type == op)
        node.meta["channels_last"] = last
        for value in model.graph.outputs:
            value.shape = None
        assert arrays[0] is not None
        model.graph.inputs[0].shape = ir.Shape([None] * arrays[0].ndim)
        x = np.moveaxis(arrays[0], 1, -1) if last else arrays[0]
        made = build_module(model, registry()).function(x0=x)
        for index, expected in enumerate(want):
            got = made[f"y{index}"].numpy()
            got = np.moveaxis(got, -1, 1) if last else got
            assert_close(got, expected, mapping.error, 64, f"{op} output {index}, channels last: {last}")


def check_like_input(op: str, *arrays: np.ndarray | None, terms: int = 1, **attributes: Any) -> None:
    """For operators whose output ONNX's shape inference does not find at dynamic dims: it has the input's rank."""
    model = _declared(make_model(op, [arrays], **attributes))
    feeds = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    mapping = registry().find(op)
    assert mapping is not None
    assert_close(prepare(model).run(feeds)[0], run_ort(model, feeds)[0], mapping.error or ulps(0), terms, op)


def _declared(model: onnx.ModelProto) -> onnx.ModelProto:
    output, given = model.graph.output[0], model.graph.input[0]
    if not output.type.tensor_type.HasField("shape"):
        output.type.CopyFrom(given.type)
        for index, dim in enumerate(output.type.tensor_type.shape.dim):
            dim.dim_param = f"y{index}"
    return model


def check_half(op: str, dtype: Any, *arrays: np.ndarray | None, terms: int = 1, **attributes: Any) -> None:
    """Another float type against a wider one on the same values: rounded once, at the end.

    Half precision is judged by ONNX Runtime in float32, float64 by ONNX's reference.
    """
    exact = np.float64 if dtype == np.float64 else np.float32
    judge = run_reference if dtype == np.float64 else run_ort
    narrow = [a if a is None or a.dtype.kind != "f" else a.astype(dtype) for a in arrays]
    wide = [a if a is None or a.dtype != dtype else a.astype(exact) for a in narrow]
    feeds = {f"x{i}": a for i, a in enumerate(wide) if a is not None}
    want = judge(make_model(op, [wide], **attributes), feeds)
    rep = prepare(make_model(op, [narrow], **attributes))
    got = rep.run({f"x{i}": a for i, a in enumerate(narrow) if a is not None})
    mapping = registry().find(op)
    assert mapping is not None and mapping.error is not None
    assert got[0].dtype == dtype
    assert_close(got[0], want[0], mapping.error, terms, f"{op} in {dtype}")
