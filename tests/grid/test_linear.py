"""Products of matrices: every dtype, vectors, broadcasting, nothing."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest

from tests.grid.harness import assert_close, check, edge_values, make_model, run_reference
from tests.grid.layouts import check_half
from trueport import convert
from trueport.backend import prepare
from trueport.fidelity import accumulation

RNG = np.random.default_rng(7)
HALVES = [np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.int32, np.int64, np.uint32, np.uint64]
SMALL_INTEGERS = [np.int8, np.int16, np.uint8, np.uint16]


def normal(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def whole(*shape: int, dtype: object) -> np.ndarray:
    """Integers over the whole range of a type, so that sums wrap."""
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((3, 4), (2, 4, 5)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((2, 0, 4), (4, 5)),
]


@pytest.mark.parametrize("a, b", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matmul(a, b, dtype):
    more = [s + 1 if s == 3 else s for s in a]
    check(
        "MatMul",
        [normal(*a, dtype=dtype), normal(*b, dtype=dtype)],
        [normal(*more, dtype=dtype), normal(*b, dtype=dtype)],
        terms=4,
    )


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("a, b", SHAPES[:5] + SHAPES[10:11], ids=str)
def test_matmul_of_integers_wraps(a, b, dtype):
    check("MatMul", [whole(*a, dtype=dtype), whole(*b, dtype=dtype)], versus="reference")


@pytest.mark.parametrize("dtype", HALVES)
def test_matmul_in_half_precision(dtype):
    check_half("MatMul", dtype, normal(3, 40), normal(40, 5), terms=1)


def test_matmul_at_the_edges():
    edges = edge_values(np.float32)
    edges = edges[(edges == 0) | ~(np.abs(edges) < np.finfo(np.float32).tiny)]
    check("MatMul", [edges[:, None], np.array([[1, -2]], np.float32)])


@pytest.mark.parametrize("weight", [(), (1,)], ids=["fed", "stored"])
@pytest.mark.parametrize("bias", [(), (1,), (5,), (1, 5), (3, 1), (3, 5), (1, 1), None], ids=str)
@pytest.mark.parametrize("trans_a, trans_b", [(0, 0), (1, 1)])
def test_gemm(trans_a, trans_b, bias, weight):
    a = normal(4, 3) if trans_a else normal(3, 4)
    b = normal(5, 4) if trans_b else normal(4, 5)
    c = None if bias is None else normal(*bias)
    check("Gemm", [a, b, c], constants=weight, terms=5, transA=trans_a, transB=trans_b, alpha=0.5, beta=1.5)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gemm_plain(rows, dtype):
    check("Gemm", [normal(rows, 4, dtype=dtype), normal(4, 5, dtype=dtype), normal(5, dtype=dtype)], terms=5)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_gemm_of_integers(dtype):
    a, b, c = (RNG.integers(0, 9, s).astype(dtype) for s in ((3, 4), (4, 5), (5,)))
    check("Gemm", [a, b, c], versus="reference", alpha=2.0, beta=3.0)


@pytest.mark.parametrize("dtype", HALVES)
def test_gemm_in_half_precision(dtype):
    check_half("Gemm", dtype, normal(3, 4), normal(5, 4), normal(5), transB=1, beta=0.5)


EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij -> ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("...ii->...i", [(2, 3, 3)]),
    ("b...,b...->...", [(2, 3, 4), (2, 3, 4)]),
    ("bij, bjk, bkl -> bil", [(2, 3, 4), (2, 4, 3), (2, 3, 2)]),
    ("i,j->ij", [(2,), (3,)]),
    ("i,i->", [(3,), (3,)]),
    ("abC,Cd->dab", [(2, 3, 4), (4, 2)]),
    ("i,->i", [(3,), ()]),
    ("ij,ij->ij", [(0, 3), (0, 3)]),
]


@pytest.mark.parametrize("equation, shapes", EQUATIONS, ids=[e for e, _ in EQUATIONS])
def test_einsum(equation, shapes):
    check("Einsum", [normal(*s) for s in shapes], terms=12, equation=equation)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("...,...->...", [(2, 3), (3,)]),
    ],
)
def test_einsum_broadcasts(equation, shapes):
    """ONNX's shape inference gives up on dynamic dims that are broadcast under an ellipsis; ONNX Runtime with it."""
    arrays = [normal(*s) for s in shapes]
    model = make_model("Einsum", [arrays], equation=equation)
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, None))
    feeds = {f"x{i}": array for i, array in enumerate(arrays)}
    assert_close(prepare(model).run(feeds)[0], run_reference(model, feeds)[0], accumulation(), 4)


@pytest.mark.parametrize("dtype", INTEGERS + SMALL_INTEGERS)
def test_einsum_of_integers_wraps(dtype):
    check(
        "Einsum",
        [whole(3, 4, dtype=dtype), whole(4, 2, dtype=dtype)],
        versus="reference",
        opset=28,
        equation="ij,jk->ki",
    )


@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (2, 4, 4), (2, 0, 3, 3), (0, 0)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_det(shape, dtype):
    check("Det", [normal(*shape, dtype=dtype)], versus="reference", terms=24)


@pytest.mark.parametrize("dtype", HALVES)
def test_det_in_half_precision(dtype):
    check_half("Det", dtype, normal(2, 3, 3), terms=6)


@pytest.mark.parametrize("bias_first", [False, True])
@pytest.mark.parametrize("shape", [("n", 3, 4), ("n", "m", 4), (2, 3, 4)], ids=str)
def test_bias_after_a_product_of_rows(shape, bias_first):
    """The sum is taken before the rows get their shape back; the product can still be fetched."""
    weight, bias = normal(4, 5), normal(5)
    dims = ", ".join(map(str, shape))
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g (float[{dims}] x) => (float[{dims[:-1]}5] y) '
        f"{{ p = MatMul(x, w) y = Add({'b, p' if bias_first else 'p, b'}) }}"
    )
    tensors = [onnx.numpy_helper.from_array(array, name) for array, name in ((weight, "w"), (bias, "b"))]
    model.graph.initializer.extend(tensors)
    built = convert(model, "tensorflow", verify=False).built
    assert "BiasAdd" in {op.type for op in built.traced.function.graph.get_operations()}
    converted = built.run()
    for rows in (2,) if isinstance(shape[0], int) else (2, 1, 0):
        x = normal(rows, 3, 4)
        want = x @ weight
        assert_close(converted.run({"x": x})["y"], want + bias, accumulation(), terms=5)
        assert_close(converted.run({"x": x}, fetch=["p"])["p"], want, accumulation(), terms=4)


@pytest.mark.parametrize(
    "more, size, perm",
    [
        ("y = Identity(p)", 512, (1, 0)),
        ("y = Identity(p)", 4, None),
        ("r = Gather(w, i) y = Sum(p, r)", 512, None),
    ],
)
def test_a_large_weight_of_its_own_is_stored_as_the_product_reads_it(more, size, perm):
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g (float[n, {size}] x, int64[1] i) => (float y) '
        f"{{ p = Gemm <transB = 1> (x, w) {more} }}"
    )
    weight = normal(size, size)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    built = convert(model, "tensorflow", verify=False).built
    assert {stored.initializer: stored.perm for stored in built.traced.map.weights} == {"w": perm}
    feeds = {"x": normal(3, size), "i": np.array([1])}
    assert_close(built.run().run(feeds)["y"], run_reference(model, feeds)[0], accumulation(), terms=size + 1)
