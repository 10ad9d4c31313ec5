"""Where no opset is asked for: the lowest that expresses a model exactly, and the nodes that need a newer runtime."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx_ir.passes.common import LiftConstantsToInitializersPass, LiftSubgraphInitializersToMainGraphPass

from tests.passes.run_models import run_ort
from trueport.backends.onnx.oldest import READABLE_OPSET, kernels_of_oldest
from trueport.backends.onnx.opset import settle_opset
from trueport.ir.maps import from_proto, to_proto
from trueport.passes.canonical import raise_opsets
from trueport.passes.shapes import infer_shapes
from trueport.runtimes.ort_kernels import cpu_kernels


class Case(NamedTuple):
    """A graph, and how it must be written."""

    text: str
    opset: int
    ir_version: int
    operators: str | None
    needs: str = ""
    """part of what is said of the node that needs a newer runtime"""


_AXES = "a = Constant<value_ints = [1]>()"
_ATTENTION = "(float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[1,2,3,4] y) { y = Attention(q, k, v) }"
CASES = {
    "dense": Case("(float[N,3] x, float[3,2] w, float[2] b) => (float[N,2] y) { y = Gemm(x, w, b) }", 13, 7, "Gemm"),
    "arithmetic": Case("(float[N] x) => (float[N] y) { a = Add(x, x) y = Relu(a) }", 13, 7, "Add Relu"),
    "shape part": Case("(float[N,3] x) => (int64[1] y) { y = Shape<start=0, end=1>(x) }", 15, 8, "Shape"),
    "layer norm": Case("(float[N,4] x, float[4] w) => (float[N,4] y) { y = LayerNormalization(x, w) }", 17, 8, None),
    "constant axes": Case(f"(float[N,3] x) => (float[N,1] y) {{ {_AXES} y = ReduceMean(x, a) }}", 13, 7, "ReduceMean"),
    "axes that are data": Case(
        "(float[N,3] x, int64[1] a) => (float[N,1] y) { y = ReduceMean(x, a) }", 18, 8, "ReduceMean"
    ),
    "unequal parts": Case(
        "(float[N] x) => (float[] y, float[] z) { y, z = Split<axis=0, num_outputs=2>(x) }", 18, 8, "Split"
    ),
    "pool": Case("(float[1,5,9,9] x) => (float[] y) { y = AveragePool<kernel_shape=[3,3]>(x) }", 13, 7, "AveragePool"),
    "dilated pool": Case(
        "(float[1,5,9,9] x) => (float[] y) { y = AveragePool<kernel_shape=[3,3], dilations=[2,2]>(x) }", 19, 9, None
    ),
    "gelu": Case("(float[N] x) => (float[N] y) { y = Gelu(x) }", 20, 9, "Gelu"),
    "strings": Case("(string[N] x) => (string[N] y) { y = StringConcat(x, x) }", 20, 9, "StringConcat"),
    "float8": Case("(float[N] x) => (float[N] y) { a = Cast<to=17>(x) y = Cast<to=1>(a) }", 19, 9, "Cast Cast"),
    "8-bit steps": Case(
        "(float[N] x, float s, int8 z) => (float[N] y) { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }",
        13,
        7,
        "QuantizeLinear DequantizeLinear",
    ),
    "16-bit steps": Case(
        "(float[N] x, float s, int16 z) => (float[N] y) { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }",
        21,
        10,
        "QuantizeLinear DequantizeLinear",
    ),
    "4-bit weights": Case(
        "(float s) => (float[2] y) <int4[2] w = {1, 2}> { y = DequantizeLinear(w, s) }", 21, 10, "DequantizeLinear"
    ),
    "branches": Case(
        """(bool c, float[N] x) => (float[N] y) { y = If (c) <
        then_branch = a () => (float[N] t) { t = Gelu(x) }, else_branch = b () => (float[N] e) { e = Neg(x) }> }""",
        20,
        9,
        "If Gelu Neg",
    ),
    "no kernel anywhere": Case("(float[N] x) => (float[N] y) { y = Swish(x) }", 15, 8, None),
    "running product": Case(
        "(float[2,3] x) => (float[2,3] y) { a = Constant<value_int = 1>() y = CumProd(x, a) }", 13, 7, None
    ),
    "root mean square": Case(
        "(float[N,4] x, float[4] w) => (float[N,4] y) { y = RMSNormalization(x, w) }",
        13,
        7,
        "Pow ReduceMean Add Sqrt Div Mul",
    ),
    "narrow integers": Case("(int8[N] x) => (int8[N] y) { y = Add(x, x) }", 13, 7, "Cast Cast Add Cast"),
    "attention": Case(_ATTENTION, 23, 11, "Attention", "no form before opset 23"),
    "bits of a float": Case("(float[N] x) => (int32[N] y) { y = BitCast<to=6>(x) }", 26, 13, "BitCast", "before opset"),
    "double": Case(
        "(double[N] x) => (double[N] y) { y = Cos(x) }", 13, 7, "Cos", "no kernel for Cos of tensor(double)"
    ),
}


def _model(text: str) -> ir.Model:
    """At the canonical opset, as the target gets it."""
    model = from_proto(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 28]> g {text}'))
    raise_opsets(model)
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    LiftSubgraphInitializersToMainGraphPass()(model)
    infer_shapes(model)
    return model


@pytest.mark.parametrize("name", CASES)
def test_the_lowest_opset(name: str) -> None:
    case = CASES[name]
    model = _model(case.text)
    needs = settle_opset(model, None, cpu_kernels())
    assert (model.opset_imports[""], model.ir_version) == (case.opset, case.ir_version)
    if case.operators is not None:
        assert " ".join(node.op_type for node in model.graph.all_nodes()) == case.operators
    assert [case.needs in hit.because for hit in needs] == [True] * bool(case.needs)
    onnx.checker.check_model(to_proto(model), full_check=True)


def test_an_opset_that_is_asked_for_is_kept() -> None:
    model = _model(CASES["narrow integers"].text)
    assert settle_opset(model, 26, cpu_kernels()) == ()
    assert (model.opset_imports[""], [node.op_type for node in model.graph]) == (26, ["Add"])


def test_a_type_that_no_node_takes_counts() -> None:
    model = _model("(float[N] x) => (float[N] y) <int4[2] w = {1, 2}> { y = Neg(x) }")
    model.graph.outputs.append(model.graph.initializers["w"])
    settle_opset(model, None, cpu_kernels())
    assert (model.opset_imports[""], model.ir_version) == (13, 10)


def test_other_forms_give_the_same_numbers() -> None:
    data = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    text = CASES["running product"].text
    results = []
    for opset in (26, None):
        model = _model(text)
        settle_opset(model, opset, cpu_kernels())
        results.append(run_ort(to_proto(model), {"x": data})[0])
    np.testing.assert_array_equal(*results)


def test_the_oldest_runtime_lacks_some_kernels_only() -> None:
    known = kernels_of_oldest(cpu_kernels())
    assert {kernel.op for kernel in cpu_kernels()} - {kernel.op for kernel in known} <= {"DeformConv", "TreeEnsemble"}
    assert READABLE_OPSET == 21
