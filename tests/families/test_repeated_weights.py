"""One weight at several inputs of a node: as the data and as the kernel that its operator takes in another order."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

import trueport
from tests.cells import grid

_NODES = {
    "gemm": ("Gemm(w, w)", (4, 4)),
    "gemm-transposed": ("Gemm<transA=1, transB=1>(w, w)", (4, 4)),
    "gemm-bias": ("Gemm<transB=1>(x, w, w)", (4, 4)),
    "gemm-all": ("Gemm<transB=1, alpha=0.5, beta=2.0>(w, w, w)", (4, 4)),
    "gemm-large": ("Gemm<transB=1>(w, w)", (520, 520)),
    "conv1d": ("Conv<pads=[1, 1]>(w, w)", (3, 3, 2)),
    "conv2d": ("Conv(w, w)", (3, 3, 2, 2)),
    "conv2d-grouped": ("Conv<group=2>(w, k)", (2, 2, 3, 3)),
    "conv-transpose": ("ConvTranspose<strides=[2, 2]>(w, w)", (3, 3, 2, 2)),
    "matmul": ("MatMul(w, w)", (4, 4)),
}


@grid({f"{name}-{with_use}": (name, with_use) for name in _NODES for with_use in ("alone", "used")}, quick=4)
@pytest.mark.filterwarnings("ignore")
def test_a_weight_taken_twice(cell: tuple[str, str]) -> None:
    node, shape = _NODES[cell[0]]
    rest = "z = Mul(w, w)\n y = Identity(u)" if cell[1] == "used" else "y = Identity(u)"
    dims = ", ".join(map(str, shape))
    text = f'<ir_version: 10, opset_import: ["" : 21]> g (float[{dims}] x) => () {{ u = {node}\n {rest} }}'
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(3)
    weight = rng.standard_normal(shape).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight[:, :1].copy(), "k"))
    names = ["y", "z"] if cell[1] == "used" else ["y"]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    model = onnx.shape_inference.infer_shapes(model)
    data = rng.standard_normal(shape).astype(np.float32)
    wanted = ReferenceEvaluator(model).run(None, {"x": data})
    found = trueport.convert(model, to="tensorflow", verify=False).model(x=data)
    for name, want in zip(names, wanted, strict=True):
        scale = float(np.abs(want).max())
        np.testing.assert_allclose(np.asarray(found[name]), want, atol=64 * np.finfo(np.float32).eps * scale, rtol=0)
