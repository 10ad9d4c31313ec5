"""int16 at the border and inside: sums and products wrap as in the source; no type becomes another unasked."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
from networks import make

import trueport


def sum_and_product(dtype: np.dtype) -> object:
    code = oh.np_dtype_to_tensor_dtype(dtype)
    graph = oh.make_graph(
        [oh.make_node("Add", ["a", "b"], ["sum"]), oh.make_node("Mul", ["a", "b"], ["product"])],
        "wrap",
        [oh.make_tensor_value_info(name, code, ["n"]) for name in "ab"],
        [oh.make_tensor_value_info(name, code, ["n"]) for name in ("sum", "product")],
    )
    return trueport.convert(make(graph), verify=False).model


for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64"):
    dtype = np.dtype(name)
    model = sum_and_product(dtype)
    large = 10000 if dtype.itemsize > 1 else 100
    a, b = np.array([large, 7], dtype), np.array([2 * large if dtype != np.int8 else large, 5], dtype)
    result = model(a, b)
    with np.errstate(over="ignore"):
        for key, expected in (("sum", a + b), ("product", a * b)):
            got = result[key].numpy()
            assert got.dtype == dtype, (name, got.dtype)
            np.testing.assert_array_equal(got, expected)
    print(f"{name:8} sum {result['sum'].numpy()}  product {result['product'].numpy()}")

graph = oh.make_graph(
    [oh.make_node("Not", ["flag"], ["not_flag"]), oh.make_node("Identity", ["text"], ["same_text"])],
    "others",
    [oh.make_tensor_value_info("flag", 9, ["n"]), oh.make_tensor_value_info("text", 8, ["n"])],
    [oh.make_tensor_value_info("not_flag", 9, ["n"]), oh.make_tensor_value_info("same_text", 8, ["n"])],
)
others = trueport.convert(make(graph)).model(np.array([True, False]), np.array(["schön", ""], object))
assert others["not_flag"].numpy().tolist() == [False, True]
assert [item.decode() for item in others["same_text"].numpy()] == ["schön", ""]
print("bool and strings: kept")
