"""Nodes without a kernel in ONNX Runtime: widened so that the file runs, and gives the numbers of the narrow type."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import mpmath
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx_ir.passes.common import LiftConstantsToInitializersPass

from tests.backends.kernel_rows import ROWS
from tests.passes.run_models import run_ort, run_reference
from trueport.backends.onnx.amend import amend
from trueport.backends.onnx.kernels import fit_kernels, lacking, newest_opset
from trueport.errors import ConversionError
from trueport.ir.maps import from_proto, to_proto
from trueport.ir.schemas import CANONICAL_OPSETS, canonical_schema
from trueport.passes.lower.model import lower_model
from trueport.runtimes.ort_kernels import cpu_kernels

_COSINE = """<ir_version: 8, opset_import: ["": 17]> one (double[n] x) => (double[n] y) { y = Cos(x) }"""
OPSETS = (26, 13)
FLOAT, BFLOAT16 = onnx.TensorProto.FLOAT, onnx.TensorProto.BFLOAT16
TYPES = [
    np.dtype(kind)
    for kind in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, ml_dtypes.bfloat16, np.float32, np.float64),
    )
]
HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
INSTEAD_OF_THE_REFERENCE: dict[str, Callable[..., np.ndarray]] = {
    "MaxPool": lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2), (2, 3)).max((-1, -2)),
    "OneHot": lambda indices, _, values: np.where(np.eye(3, dtype=bool)[indices], values[1], values[0]),
    "Resize": lambda a, _: a.repeat(2, 2).repeat(2, 3),
}
"""ONNX's evaluator takes these through floats, or not at all."""


def _model(op: str, arrays: list[np.ndarray]) -> onnx.ModelProto:
    """At the canonical opset; bfloat16, which ONNX Runtime's Python does not take, comes and goes as float32."""
    node = onnx.parser.parse_node(f"{'y, z' if op == 'TopK' else 'y'} = {ROWS[op][0]}")
    inputs, nodes = [], [node]
    for name, array in zip("abc", arrays, strict=False):
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        if kind == BFLOAT16:
            nodes.insert(0, onnx.helper.make_node("Cast", [f"given_{name}"], [name], to=kind))
            kind, name = FLOAT, f"given_{name}"
        inputs.append(onnx.helper.make_tensor_value_info(name, kind, array.shape))
    graph = onnx.helper.make_graph(nodes, "one", inputs, [onnx.ValueInfoProto(name="y")])
    opset = CANONICAL_OPSETS[""]
    model = onnx.shape_inference.infer_shapes(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
    )
    result = model.graph.output[0].type.tensor_type
    if result.elem_type == BFLOAT16:
        node.output[0] = model.graph.node[-1].output[0] = "narrow"
        model.graph.node.append(onnx.helper.make_node("Cast", ["narrow"], ["y"], to=FLOAT))
        result.elem_type = FLOAT
    return model


def _feeds(model: onnx.ModelProto, arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {
        value.name: array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array
        for value, array in zip(model.graph.input, arrays, strict=True)
    }


def _fitted(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    lowered = from_proto(onnx.shape_inference.infer_shapes(model))
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(lowered)
    lacks = lacking(cpu_kernels(), opset)
    amend(lowered, lacks)
    lower_model(lowered, opset, always_expand=lacks)
    fit_kernels(lowered, cpu_kernels())
    made = to_proto(lowered)
    onnx.checker.check_model(made, full_check=True)
    return made


def _grid() -> list[tuple[str, np.dtype]]:
    found = []
    for op, (_, make) in ROWS.items():
        schema = canonical_schema(op)
        assert schema is not None
        for dtype in TYPES:
            kind = f"tensor({ir.DataType.from_numpy(dtype).name.lower()})"
            place = next(i for i, array in enumerate(make(dtype)) if np.asarray(array).dtype == dtype)
            if kind in schema.inputs[min(place, len(schema.inputs) - 1)].types:
                found.append((op, dtype))
    return found


def _expected(op: str, dtype: np.dtype, arrays: list[np.ndarray]) -> np.ndarray:
    """What ONNX says; for halves the result in float32, rounded once."""
    if dtype in HALVES:
        arrays = [array.astype(np.float32) if array.dtype == dtype else array for array in arrays]
    if op in INSTEAD_OF_THE_REFERENCE:
        made = INSTEAD_OF_THE_REFERENCE[op](*arrays)
    else:
        model = _model(op, arrays)
        made = run_reference(model, _feeds(model, arrays))[0]
    made = np.asarray(made)
    return made.astype(dtype) if made.dtype.kind == "f" or (made.dtype.kind in "iu" and _keeps(op)) else made


def _keeps(op: str) -> bool:
    """Whether the result has the data's type, to which the evaluator does not always bring it back."""
    schema = canonical_schema(op)
    assert schema is not None
    return schema.outputs[0].type_str in {
        parameter.type_str for parameter in schema.inputs if parameter.name != "indices"
    }


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("op", "dtype"), _grid(), ids=str)
def test_same_numbers_in_a_wider_type(op: str, dtype: np.dtype, opset: int) -> None:
    arrays = [np.asarray(array) for array in ROWS[op][1](dtype)]
    model = _model(op, arrays)
    got = run_ort(_fitted(model, opset), _feeds(model, arrays))[0]
    want = _expected(op, dtype, arrays)
    if dtype == ml_dtypes.bfloat16 and want.dtype == dtype:
        want = want.astype(np.float32)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
    else:
        # One place is met twice by ScatterElements, which before opset 16 adds one after the other.
        roundings = 2 if op == "ScatterElements" else 1
        step = float(ml_dtypes.finfo(dtype).eps) * (roundings if dtype in HALVES else 8)
        np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=step, atol=step)


def _one(text: str) -> ir.Model:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 26]> g {text}')
    return from_proto(onnx.shape_inference.infer_shapes(model))


def test_a_double_never_becomes_a_float() -> None:
    model = _one("(double[1,1,4,4] x, double[1,1,2,2] w) => (double[1,1,3,3] y) { y = Conv(x, w) }")
    with pytest.raises(ConversionError, match="no kernel for Conv of DOUBLE"):
        fit_kernels(model, cpu_kernels())


def test_all_that_cannot_run_is_told_at_once() -> None:
    text = "(double[1,1,4,4] x, double[1,1,2,2] w) => (double[1,1,2,2] y) { a = Conv(x, w) y = Conv(a, w) }"
    with pytest.raises(ConversionError, match="2 nodes"):
        fit_kernels(_one(text), cpu_kernels())


def test_what_runs_stays_as_it_is() -> None:
    model = _one("(float16[4] x) => (float16[4] y) { a = Exp(x) b = Add(a, x) y = Relu(b) }")
    assert fit_kernels(model, cpu_kernels()) == 0
    assert [node.op_type for node in model.graph] == ["Exp", "Add", "Relu"]


def test_constants_are_stored_in_the_wider_type() -> None:
    model = _one("(int16[4] x) => (int16[4] y) { c = Constant<value = int16[1] {3}>() y = Max(x, c) }")
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    assert fit_kernels(model, cpu_kernels()) == 1
    assert [node.op_type for node in model.graph] == ["Cast", "Max", "Cast"]


def test_nodes_in_branches_are_fitted() -> None:
    text = """(bool c, int16[4] x) => (int16[4] y) {
        y = If (c) <
            then_branch = a () => (int16[4] t) { t = Max(x, x) }, else_branch = b () => (int16[4] e) { e = Min(x, x) }
        >
    }"""
    model = _one(text)
    assert fit_kernels(model, cpu_kernels()) == 2
    got = run_ort(to_proto(model), {"c": np.array(True), "x": np.array([1, -5, 3, 2], np.int16)})[0]
    assert got.tolist() == [1, -5, 3, 2]


@pytest.mark.parametrize(("op", "opset"), [("RandomNormalLike", 21), ("RoiAlign", 21), ("Relu", 26), ("Swish", 26)])
def test_newest_opset_has_a_kernel(op: str, opset: int) -> None:
    model = ir.Model(ir.Graph([], [], nodes=[ir.node(op, [])], name="g"), ir_version=10)
    assert newest_opset(model, cpu_kernels(), 26, 13) == opset


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.uint32])
@pytest.mark.parametrize(("axes", "keepdims"), [([1], 0), ([0, 2], 1), ([-1], 1), ([0, 1, 2], 0)])
@pytest.mark.parametrize("size", [0, 1, 9])
def test_extremes_of_large_integers(op: str, dtype: type, axes: list[int], keepdims: int, size: int) -> None:
    """Numbers whose upper halves are equal, over an axis of open length, which may be 0."""
    data = np.random.default_rng(1).integers(0, 1 << 32, (2, 3, size), dtype=np.int64).astype(dtype)
    name = np.dtype(dtype).name
    listed = ", ".join(map(str, axes))
    call = f"a = Constant<value_ints = [{listed}]>() y = {op}<keepdims = {keepdims}>(x, a)"
    text = f"({name}[2, 3, N] x) => ({name}[] y) {{ {call} }}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 28]> g {text}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    limits = np.iinfo(dtype)
    numpy_op, start = (np.max, limits.min) if op == "ReduceMax" else (np.min, limits.max)
    want = numpy_op(data, axis=tuple(axes), keepdims=bool(keepdims), initial=start)
    if size == 0 and dtype == np.uint32:
        return  # ONNX Runtime's own kernel answers, with the smallest double
    np.testing.assert_array_equal(run_ort(_fitted(model, 26), {"x": data})[0], want)


def test_sums_wrap_and_keep_all_digits() -> None:
    data = np.array([[2**62, 2**62, 5], [2**53, 1, 1], [-(2**63), -1, 0]])
    text = "(int64[3, N] x) => (int64[3] y) { a = Constant<value_ints = [1]>() y = ReduceSum<keepdims=0>(x, a) }"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 28]> g {text}')
    np.testing.assert_array_equal(run_ort(_fitted(model, 26), {"x": data})[0], data.sum(1))


def test_sums_of_sizes_and_of_truth_are_left_alone() -> None:
    text = """(float[N, M] x, bool[N] m) => (int64 y, int32 z) {
        s = Shape(x) y = ReduceSum<keepdims=0>(s) c = Cast<to=6>(m) z = ReduceSum<keepdims=0>(c)
    }"""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 28]> g {text}')
    assert amend(from_proto(onnx.shape_inference.infer_shapes(model)), lambda _: False) == 0


class Sin(OpRun):
    """The correctly rounded sine: what is measured is the formula, not a CPU's sine."""

    op_domain = ""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
        return (_rounded(mpmath.sin, x),)


def _rounded(function: Callable[..., mpmath.mpf], x: np.ndarray) -> np.ndarray:
    with mpmath.workprec(1200):
        return np.array([float(function(mpmath.mpf(value))) for value in x])


def test_cosines_of_doubles_by_sines() -> None:
    """ONNX Runtime before 1.31 has no kernel; the formula keeps Cos's declared bound wherever 2x is a number."""
    model = from_proto(onnx.shape_inference.infer_shapes(onnx.parser.parse_model(_COSINE)))
    assert amend(model, lambda node: node.op_type == "Cos") == 1
    written, draw = to_proto(model), np.random.default_rng(31)
    x = np.concatenate(
        [
            *(draw.uniform(-size, size, 100) for size in (1e-3, 4, 1e3, 1e9, 1e300)),
            *(np.arange(-40, 40) * np.pi / part for part in (1, 2, 3)),
            [0.0, -0.0, 5e-324, 6381956970095103 * 2.0**797, 2.0**1022],
        ]
    )
    want = _rounded(mpmath.cos, x)
    with np.errstate(invalid="ignore"):
        (exact,) = ReferenceEvaluator(written, new_ops=[Sin]).run(None, {"x": x})
    assert np.all(np.abs(exact - want) <= 2 * np.spacing(np.abs(want)))
    x = np.append(x, [1.7e308, -(2.0**1023)])
    (got,) = run_ort(written, {"x": x})
    np.testing.assert_allclose(got, _rounded(mpmath.cos, x), rtol=0, atol=1e-15)
    (got,) = run_ort(written, {"x": np.array([np.inf, -np.inf, np.nan])})
    assert np.isnan(got).all()
