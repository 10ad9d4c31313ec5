"""Constant folding never stops a conversion, and what it computes is what ONNX Runtime computes.

Each cell is one node of constants. After folding it is either a constant equal to ONNX Runtime's result, or it is still
there and converts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx_ir as ir
import onnxruntime as ort
import pytest
import tensorflow as tf
from onnx import TensorProto, numpy_helper

import trueport
from tests.cells import grid
from tests.models import model_of
from trueport.ir.maps import from_proto
from trueport.ir.provenance import NOT_FOLDED
from trueport.passes.fold import fold_constants
from trueport.passes.shapes import infer_shapes

I64, I32, U8, F32 = np.int64, np.int32, np.uint8, np.float32
SIGNED = np.array([[-7, -4, -1, 0, 3, 5, 7]])
WRAPPING = np.array([2**31 - 1, -(2**31), 65536, 3], I32)


@dataclass(frozen=True)
class Node:
    """An operator on constants."""

    op: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1


def _node(op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Node:
    return Node(op, tuple(None if x is None else np.asarray(x) for x in inputs), attributes, outputs)


def _gathers() -> dict[str, Node]:
    row, table = np.zeros((1, 512), I64), np.arange(40).reshape(5, 8)
    place = np.arange(512)[None]
    return {
        "gather-elements-token-types": _node("GatherElements", row, np.arange(9)[None], axis=1),
        "gather-elements-positions": _node("GatherElements", place, np.arange(9)[None] * 3, axis=1),
        "gather-elements-negative": _node("GatherElements", place, -np.arange(1, 10)[None], axis=-1),
        "gather-elements-fewer-rows": _node("GatherElements", table, [[0, 7], [-1, 3]], axis=1),
        "gather-elements-fewer-columns": _node("GatherElements", table, [[4, -5, 0]], axis=0),
        "gather-elements-int32": _node("GatherElements", table.astype(I32), np.array([[1, 2]], I32), axis=1),
        "gather-elements-deep": _node(
            "GatherElements", np.arange(2 * 40 * 3).reshape(2, 40, 3), np.full((2, 3, 3), -2), axis=1
        ),
        "gather-elements-empty": _node("GatherElements", table, np.zeros((0, 8), I64), axis=0),
        "gather-elements-strings": _node("GatherElements", np.array([["a", "b"]], object), [[1, 0, -1]], axis=1),
        "gather-negative": _node("Gather", table, [[-1, 0], [4, -5]], axis=0),
        "gather-nd-batch": _node("GatherND", np.arange(12).reshape(2, 3, 2), [[[1], [-1]], [[0], [2]]], batch_dims=1),
        "scatter-elements-add": _node("ScatterElements", table, [[1, -1]], [[9, 8]], axis=1, reduction="add"),
        "scatter-elements-long": _node("ScatterElements", place, np.arange(9)[None], np.ones((1, 9), I64), axis=1),
        "scatter-nd-mul": _node("ScatterND", table[0], [[0], [0], [-1]], [2, 3, 4], reduction="mul"),
        "one-hot-outside": _node("OneHot", [-1, 0, 3, 9, -4], 4, [5, 6], axis=0),
        "compress-no-axis": _node("Compress", table, np.array([True, False, True])),
    }


def _arithmetic() -> dict[str, Node]:
    by = np.array([3, -3, 2, -2, 1, -7, 4])
    pairs = {op: _node(op, SIGNED, by) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less")}
    cells = {f"{op.lower()}-signed": node for op, node in pairs.items()}
    for dtype in (I32, U8):
        cells |= {
            f"{op.lower()}-{dtype.__name__}": _node(op, np.array([7, 9, 200], dtype), np.array([2, 5, 120], dtype))
            for op in ("Add", "Mul", "Div", "Sub", "Mod", "Min")
        }
    cells |= {f"mul-wraps-{n}": _node("Mul", WRAPPING, np.array([n], I32)) for n in (2, -1)}
    cells |= {f"mod-{sign}": _node("Mod", SIGNED, by, fmod=sign) for sign in (0, 1)}
    cells |= {f"{op.lower()}": _node(op, SIGNED) for op in ("Abs", "Neg", "Sign", "NonZero")}
    cells["abs-lowest"] = _node("Abs", np.array([-(2**63), -1]))
    cells["div-by-zero"] = _node("Div", np.array([4, 0]), np.array([0, 0]))
    cells["mod-by-zero"] = _node("Mod", np.array([4, 0]), np.array([0, 0]))
    cells["clip-crossed"] = _node("Clip", SIGNED, 3, -3)
    cells["clip-low-only"] = _node("Clip", SIGNED, -2)
    cells["where-broadcast"] = _node("Where", np.array([[True], [False]]), SIGNED, np.array(9))
    for way in ("LEFT", "RIGHT"):
        cells[f"bitshift-{way}"] = _node("BitShift", np.array([1, 255, 8], U8), np.array([1, 9, 2], U8), direction=way)
    cells["bitwise-and"] = _node("BitwiseAnd", SIGNED, np.array(6))
    cells["bitwise-not"] = _node("BitwiseNot", SIGNED)
    cells["xor"] = _node("Xor", np.array([True, False]), np.array([True, True]))
    return cells


def _reductions() -> dict[str, Node]:
    table = np.array([[3, -1, 3], [2, 2, -5]])
    cells = {}
    for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"):
        cells[f"{op.lower()}-int32"] = _node(op, table.astype(I32), [-1], keepdims=0)
        cells[f"{op.lower()}-all"] = _node(op, table)
        cells[f"{op.lower()}-no-axes"] = _node(op, table, np.zeros(0, I64), noop_with_empty_axes=1)
    cells["reducesum-empty"] = _node("ReduceSum", np.zeros((2, 0), I64), [1], keepdims=1)
    for last in (0, 1):
        cells[f"argmax-{last}"] = _node("ArgMax", table, axis=1, select_last_index=last)
        cells[f"argmin-{last}"] = _node("ArgMin", table, axis=0, keepdims=0, select_last_index=last)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            cells[f"cumsum-{exclusive}{reverse}"] = _node(
                "CumSum", table.astype(I32), np.array(-1), exclusive=exclusive, reverse=reverse
            )
    cells["cumsum-int64"] = _node("CumSum", table, np.array(0, I32))
    return cells


def _movements() -> dict[str, Node]:
    cube = np.arange(24).reshape(2, 3, 4)
    cells = {
        "slice-backwards": _node("Slice", cube, [-1], [-9], [2], [-2]),
        "slice-beyond": _node("Slice", cube, [0, -99], [99, 2**62], [1, -1]),
        "slice-empty": _node("Slice", cube, [3], [1], [0]),
        "pad-constant": _node("Pad", cube, [0, 1, 0, 0, 0, 2], 7),
        "pad-crops": _node("Pad", cube, [0, -1, 0, 0, 0, 2], 7),
        "pad-axes": _node("Pad", cube, [1, 2], 5, [-1]),
        "reshape-zero-copies": _node("Reshape", cube, [0, -1]),
        "reshape-allowzero": _node("Reshape", np.zeros((0, 3), I64), [3, 0], allowzero=1),
        "split-uneven": _node("Split", np.arange(7), outputs=3, num_outputs=3),
        "split-sizes": _node("Split", cube, [1, 3], axis=-1, outputs=2),
        "squeeze-all": _node("Squeeze", np.arange(3).reshape(1, 3, 1)),
        "unsqueeze-ends": _node("Unsqueeze", np.arange(3), [-1, 0]),
        "tile": _node("Tile", cube, [1, 2, 0]),
        "transpose-default": _node("Transpose", cube),
        "expand-both-ways": _node("Expand", np.arange(3).reshape(3, 1), [2, 1, 4]),
        "concat-negative-axis": _node("Concat", cube, cube + 1, axis=-2),
        "constant-of-shape": _node("ConstantOfShape", [2, 0, 3]),
        "constant-of-shape-value": _node(
            "ConstantOfShape", [2], value=numpy_helper.from_array(np.array([7], I32), "value")
        ),
        "eye-like": _node("EyeLike", np.zeros((2, 4), I64), k=-1),
        "flatten-negative": _node("Flatten", cube, axis=-1),
        "range-down": _node("Range", np.array(9), np.array(-2), np.array(-3)),
        "size": _node("Size", cube),
        "cast-int-to-bool": _node("Cast", SIGNED, to=TensorProto.BOOL),
        "cast-narrows": _node("Cast", np.array([300, -1, 2**40]), to=TensorProto.UINT8),
    }
    for k in (-5, -1, 0, 2, 9):
        for upper in (0, 1):
            cells[f"trilu-{upper}-{k}"] = _node("Trilu", cube, np.array(k), upper=upper)
    return cells


CELLS = {**_gathers(), **_arithmetic(), **_reductions(), **_movements()}
MAY_STAY = {"NonZero", "Range", "Expand", "Tile", "Pad", "OneHot", "EyeLike"}
"""Operators that are folded only where inference knows the size of the result."""


def _model(cell: Node, held: bool) -> onnx.ModelProto:
    """The node on initializers, or on inputs; an Identity keeps its results from being outputs."""
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(cell.inputs)]
    given = [(name, value) for name, value in zip(names, cell.inputs, strict=True) if value is not None]
    tensors = [numpy_helper.from_array(value, name) for name, value in given]
    inputs = [] if held else [oh.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors]
    made = [f"o{k}" for k in range(cell.outputs)]
    nodes = [oh.make_node(cell.op, names, made, "node", **cell.attributes)]
    nodes += [oh.make_node("Identity", [name], [f"y{k}"]) for k, name in enumerate(made)]
    outputs = [oh.make_empty_tensor_value_info(f"y{k}") for k in range(cell.outputs)]
    model = model_of(nodes, inputs, outputs, initializers=tensors if held else [])
    found = onnx.shape_inference.infer_shapes(model, data_prop=True)
    for value in found.graph.output:
        value.type.tensor_type.ClearField("shape")
    del found.graph.value_info[:]
    return found


def _expected(cell: Node, held: bool) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(_model(cell, held).SerializeToString(), options)
    feeds = {} if held else {f"i{k}": value for k, value in enumerate(cell.inputs) if value is not None}
    return list(session.run(None, feeds))


def _folded(cell: Node) -> ir.Model:
    model = from_proto(_model(cell, held=True))
    infer_shapes(model)
    fold_constants(model)
    return model


@grid(CELLS, quick=12)
def test_folded_results_are_onnx_runtimes(cell: Node) -> None:
    model = _folded(cell)
    left = [node for node in model.graph if node.op_type == cell.op]
    if left:
        # It stays, with the reason, or because it may not be folded at all.
        assert cell.op in MAY_STAY or left[0].metadata_props[NOT_FOLDED]
        return
    try:
        expected = _expected(cell, held=True)
    except Exception as error:
        pytest.fail(f"folded, but ONNX Runtime refuses it: {error}")
    results = [node.inputs[0].const_value for node in model.graph if node.op_type == "Identity"]
    for tensor, want in zip(results, expected, strict=True):
        got = np.asarray(tensor.numpy())
        got = np.array([x.decode() for x in got.ravel()], object).reshape(got.shape) if want.dtype == object else got
        np.testing.assert_array_equal(got, want, strict=True)


def _token_types(length: int, table: int) -> onnx.ModelProto:
    """Token types as static exports of BERT, ALBERT and ELECTRA have them: gathered from a buffer of zeros."""
    rows, places = np.zeros((1, table), I64), np.arange(table)[None]
    nodes = [
        oh.make_node("Slice", ["places", "zero", "length", "one"], ["used"], "slice"),
        oh.make_node("GatherElements", ["rows", "used"], ["types"], "gather", axis=1),
        oh.make_node("Gather", ["embedding", "types"], ["embedded"], "embed"),
        oh.make_node("Add", ["x", "embedded"], ["y"], "add"),
    ]
    held = {
        "rows": rows, "places": places, "zero": np.array([0]), "one": np.array([1]), "length": np.array([length]),
        "embedding": np.arange(8, dtype=F32).reshape(2, 4),
    }  # fmt: skip
    return model_of(
        nodes,
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", length, 4])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        initializers=[numpy_helper.from_array(array, name) for name, array in held.items()],
    )


@pytest.mark.parametrize(("length", "table"), [(9, 512), (1, 33)])
def test_token_types_of_static_language_models_convert(length: int, table: int) -> None:
    model = _token_types(length, table)
    made = trueport.convert(model, verify=False)
    session = ort.InferenceSession(model.SerializeToString())
    for size in (1, 3):
        x = np.random.default_rng(0).normal(size=(size, length, 4)).astype(F32)
        (want,) = session.run(None, {"x": x})
        np.testing.assert_array_equal(made.model(tf.constant(x))["y"].numpy(), want, strict=True)


def test_an_evaluators_error_is_recorded_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises: here for every operator."""

    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("no way\nto compute this")

    monkeypatch.setattr("trueport.passes.evaluate._by_reference", fail)
    model = _token_types(5, 40)
    report = trueport.check(model, to="tensorflow")
    reasons = {remark.node: remark.because for remark in report.remarks if remark.rule == "not-folded"}
    assert "ZeroDivisionError: no way to compute this" in reasons["slice"]
    made = trueport.convert(model, verify=False)
    (want,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": np.ones((2, 5, 4), F32)})
    np.testing.assert_array_equal(made.model(tf.ones((2, 5, 4)))["y"].numpy(), want, strict=True)


def test_a_constant_that_tensorflow_cannot_compute_stays() -> None:
    """An operation on constants that has no kernel here, or that its kernel refuses."""

    @tf.function(input_signature=[tf.TensorSpec([2], tf.int32)])
    def function(x: Any) -> Any:
        quotient = tf.raw_ops.Div(x=tf.constant([4, 6]), y=tf.constant([2, 0]))
        return x + quotient

    report = trueport.check(function, to="onnx")
    said = [remark.because for remark in report.remarks if remark.rule == "not-folded"]
    assert any("InvalidArgumentError" in because for because in said), report.remarks
