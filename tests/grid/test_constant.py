"""Constant, ConstantOfShape, Identity."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from tests.grid.harness import check
from trueport.backend import prepare

T = onnx.TensorProto
TYPES = [
    *("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "BOOL", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2"),
    *("FLOAT8E5M2FNUZ", "FLOAT8E8M0", "FLOAT4E2M1"),
    *(sign + bits for sign in ("INT", "UINT") for bits in ("2", "4", "8", "16", "32", "64")),
]


def model_of(node: onnx.NodeProto, inputs: list[onnx.ValueInfoProto], dtype: int, opset: int = 25) -> onnx.ModelProto:
    output = oh.make_tensor_value_info("y", dtype, None)
    graph = oh.make_graph([node], "grid", inputs, [output])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", opset)], ir_version=11)


@pytest.mark.parametrize("shape", [(2, 3), (0, 4), (), (1,)])
@pytest.mark.parametrize("name", TYPES)
def test_constant_of_shape(name, shape):
    dtype = np.dtype(oh.tensor_dtype_to_np_dtype(getattr(T, name)))
    fill = np.ones([1]).astype(dtype)
    node = oh.make_node("ConstantOfShape", ["shape"], ["y"], value=onnx.numpy_helper.from_array(fill))
    dims = oh.make_tensor_value_info("shape", T.INT64, [len(shape)])
    rep = prepare(model_of(node, [dims], getattr(T, name)))
    got = rep.run([np.array(shape, np.int64)])[0]
    assert got.dtype == dtype and got.shape == shape
    assert np.all(got == fill)


def test_constant_of_shape_by_default():
    check("ConstantOfShape", [np.array([2, 3])], [np.array([0, 3])])


@pytest.mark.parametrize(
    "attribute, value, dtype",
    [
        ("value_float", 1.5, T.FLOAT),
        ("value_floats", [1.5, -0.0], T.FLOAT),
        ("value_int", 2**40, T.INT64),
        ("value_ints", [1, -(2**62)], T.INT64),
        ("value_string", "ä", T.STRING),
        ("value_strings", ["a", ""], T.STRING),
    ],
)
def test_constant(attribute, value, dtype):
    rep = prepare(model_of(oh.make_node("Constant", [], ["y"], **{attribute: value}), [], dtype))
    got = rep.run([])[0]
    assert got.shape == np.shape(value)
    assert got.tolist() == value


@pytest.mark.parametrize("coordinates", [True, False])
def test_sparse_constant(coordinates):
    values = onnx.numpy_helper.from_array(np.array([3, -1], np.float32), "values")
    indices = np.array([[0, 2], [1, 0]] if coordinates else [2, 3], np.int64)
    sparse = oh.make_sparse_tensor(values, onnx.numpy_helper.from_array(indices, "indices"), [2, 3])
    node = oh.make_node("Constant", [], ["y"], sparse_value=sparse)
    got = prepare(model_of(node, [], T.FLOAT)).run([])[0]
    assert got.tolist() == [[0, 0, 3], [-1, 0, 0]]


def test_sparse_initializer():
    values = onnx.numpy_helper.from_array(np.array([3], np.float32), "w")
    sparse = oh.make_sparse_tensor(values, onnx.numpy_helper.from_array(np.array([1], np.int64), "at"), [3])
    model = model_of(oh.make_node("Add", ["x", "w"], ["y"]), [oh.make_tensor_value_info("x", T.FLOAT, [3])], T.FLOAT)
    model.graph.sparse_initializer.append(sparse)
    assert prepare(model).run([np.ones(3, np.float32)])[0].tolist() == [1, 4, 1]
    assert len(model.graph.sparse_initializer) == 1


def test_identity_keeps_every_bit():
    check("Identity", [np.array([1e-45, -0.0, np.nan], np.float32)], [np.zeros([0], np.float32)])
    check("Identity", [np.array(["a", "ä"], object)], versus="reference")
