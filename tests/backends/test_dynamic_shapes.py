"""One conversion serves every size: all dims open, or not even the rank known; sizes 0, 1 and more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from tests.grid.harness import ORT_OPSET, assert_close, run_ort, run_reference
from tests.runtimes.test_fetch import cnn
from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import accumulation

RNG = np.random.default_rng(11)
Arrays = list[np.ndarray]
SIZES = (3, 0, 1)


def f32(*shape: int) -> np.ndarray:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def pos(*shape: int) -> np.ndarray:
    return RNG.uniform(0.2, 0.9, shape).astype(np.float32)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def index(high: int, *shape: int) -> np.ndarray:
    return RNG.integers(0, max(high, 1), shape)


class Case:
    """An operator with inputs that depend on a size; those in ``constants`` are held by the model."""

    def __init__(
        self,
        op: str,
        make: Callable[[int], Arrays],
        *,
        constants: Sequence[int] = (),
        outputs: int = 1,
        **attributes: Any,
    ) -> None:
        self.op, self.make, self.constants, self.outputs, self.attributes = op, make, constants, outputs, attributes

    def __repr__(self) -> str:
        return "-".join([self.op, *(f"{k}={v}" for k, v in self.attributes.items())])

    def model(self, ranked: bool) -> onnx.ModelProto:
        arrays = self.make(SIZES[0])
        names = [f"x{i}" for i in range(len(arrays))]
        inputs = [
            oh.make_tensor_value_info(
                name,
                oh.np_dtype_to_tensor_dtype(array.dtype),
                [f"{name}_{axis}" for axis in range(array.ndim)] if ranked else None,
            )
            for i, (name, array) in enumerate(zip(names, arrays, strict=True))
            if i not in self.constants
        ]
        node = oh.make_node(self.op, names, [f"y{i}" for i in range(self.outputs)], "node", **self.attributes)
        graph = oh.make_graph(
            [node],
            "dynamic",
            inputs,
            [onnx.ValueInfoProto(name=name) for name in node.output],
            [onnx.numpy_helper.from_array(arrays[i], names[i]) for i in self.constants],
        )
        model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", ORT_OPSET)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model)

    def feeds(self, arrays: Arrays) -> dict[str, np.ndarray]:
        return {f"x{i}": array for i, array in enumerate(arrays) if i not in self.constants}


UNARY = """
    Abs Acos Atan Ceil Cos Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity LeakyRelu Log Mish Neg Reciprocal Relu
    Round Selu Sigmoid Sign Sin Softplus Softsign Sqrt Tanh ThresholdedRelu
"""
BINARY = "Add Div Max Min Mul Pow Sub Sum Mean PRelu Equal Less Greater"
REDUCE = "Sum Mean Max Min Prod L1 L2 LogSumExp SumSquare"

ANY_RANK = [
    *(Case(op, lambda n: [pos(n, 2)]) for op in UNARY.split()),
    *(Case(op, lambda n: [pos(n, 2), pos(n, 2)]) for op in BINARY.split()),
    *(Case(f"Reduce{op}", lambda n: [pos(n, 4), i64(1)], constants=[1]) for op in REDUCE.split()),
    Case("Cast", lambda n: [f32(n, 2)], to=onnx.TensorProto.INT32),
    Case("Clip", lambda n: [f32(n, 2), np.float32(-1), np.float32(1)], constants=[1, 2]),
    Case("Concat", lambda n: [f32(n, 2), f32(n, 2)], axis=-1),
    Case("Expand", lambda n: [f32(n, 2), i64(3, 1, 2)], constants=[1]),
    Case("Flatten", lambda n: [f32(n, 2)], axis=1),
    Case("Gather", lambda n: [f32(n, 4), index(4, 3)], axis=-1),
    Case("LayerNormalization", lambda n: [f32(n, 4), f32(4), f32(4)], constants=[1, 2]),
    Case("LogSoftmax", lambda n: [f32(n, 4)]),
    Case("MatMul", lambda n: [f32(n, 3), f32(3, 2)], constants=[1]),
    Case("NonZero", lambda n: [f32(n, 2)]),
    Case("Pad", lambda n: [f32(n, 2), i64(1, 0, 0, 2)], constants=[1]),
    Case("Reshape", lambda n: [f32(n, 6), i64(-1, 2)], constants=[1]),
    Case("Shape", lambda n: [f32(n, 6)]),
    Case("Size", lambda n: [f32(n, 6)]),
    Case("Slice", lambda n: [f32(n, 6), i64(1), i64(5), i64(1), i64(2)], constants=[1, 2, 3, 4]),
    Case("Softmax", lambda n: [f32(n, 4)]),
    Case("Squeeze", lambda n: [f32(n, 1, 2), i64(1)], constants=[1]),
    Case("Transpose", lambda n: [f32(n, 2)]),
    Case("Unsqueeze", lambda n: [f32(n, 2), i64(1)], constants=[1]),
    Case("Where", lambda n: [f32(n, 2) > 0, f32(n, 2), f32(n, 2)]),
]
"""Operators that take a tensor whose rank nobody knows before it comes."""

KNOWN_RANK = [
    Case("ArgMax", lambda n: [f32(n, 4)], axis=1),
    Case("AveragePool", lambda n: [f32(n, 2, 6, 5)], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    Case("BatchNormalization", lambda n: [f32(n, 2, 3), *[pos(2) for _ in range(4)]], constants=[1, 2, 3, 4]),
    Case("Compress", lambda n: [f32(n, 4), np.array([True, False, True])], axis=1, constants=[1]),
    Case("Conv", lambda n: [f32(n or 2, 2, 6, 5), f32(3, 2, 3, 3)], constants=[1], pads=[1, 1, 1, 1]),
    Case("Conv", lambda n: [f32(1, 2, 5 + n, 5), f32(3, 2, 3, 3)], constants=[1], strides=[2, 2]),
    Case("ConvTranspose", lambda n: [f32(n, 2, 4, 3), f32(2, 3, 3, 3)], constants=[1], strides=[2, 2]),
    Case("CumSum", lambda n: [f32(n, 4), np.array(0)], constants=[1]),
    Case("DepthToSpace", lambda n: [f32(n, 8, 2, 3)], blocksize=2),
    Case("Einsum", lambda n: [f32(n, 3), f32(3, 4)], equation="ij,jk->ik"),
    Case("GRU", lambda n: [f32(3, n, 2), f32(1, 12, 2), f32(1, 12, 4)], outputs=2, hidden_size=4, constants=[1, 2]),
    Case("GatherElements", lambda n: [f32(n, 4), index(4, n, 2)], axis=1),
    Case("GatherND", lambda n: [f32(4, 3), index(3, n, 2)]),
    Case("Gemm", lambda n: [f32(n, 3), f32(3, 2), f32(2)], constants=[1, 2]),
    Case("GlobalAveragePool", lambda n: [f32(n, 2, 3, 4)]),
    Case("GlobalMaxPool", lambda n: [f32(n, 2, 3, 4)]),
    Case("GridSample", lambda n: [f32(n, 2, 4, 4), f32(n, 3, 3, 2)]),
    Case("InstanceNormalization", lambda n: [f32(n, 2, 3, 4), pos(2), pos(2)], constants=[1, 2]),
    Case("LRN", lambda n: [f32(n, 4, 3, 3)], size=3),
    Case("LSTM", lambda n: [f32(3, n, 2), f32(1, 16, 2), f32(1, 16, 4)], outputs=3, hidden_size=4, constants=[1, 2]),
    Case("LpPool", lambda n: [f32(n, 2, 6, 5)], kernel_shape=[2, 2]),
    Case("MatMul", lambda n: [f32(n, 2, 3), f32(n, 3, 4)]),
    Case("MatMul", lambda n: [f32(2, n), f32(n, 4)]),
    Case("MatMulInteger", lambda n: [index(9, n, 3).astype(np.uint8), index(9, 3, 2).astype(np.uint8)], constants=[1]),
    Case("MaxPool", lambda n: [f32(n, 2, 6, 5)], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    Case("OneHot", lambda n: [index(4, n), np.array(4), f32(2)], constants=[1, 2]),
    Case("Pad", lambda n: [f32(n, 4), i64(0, 2, 0, 1)], constants=[1], mode="reflect"),
    Case("QuantizeLinear", lambda n: [f32(n, 4), np.float32(0.1), np.uint8(3)], constants=[1, 2]),
    Case("RNN", lambda n: [f32(3, n, 2), f32(1, 4, 2), f32(1, 4, 4)], outputs=2, hidden_size=4, constants=[1, 2]),
    Case("Range", lambda n: [np.array(0), np.array(n), np.array(1)]),
    Case("ReduceMean", lambda n: [f32(n or 2, 4)], keepdims=0),
    Case(
        "Resize",
        lambda n: [f32(n, 2, 3, 4), f32(0), np.array([1, 1, 2, 2], np.float32)],
        mode="linear",
        constants=[1, 2],
    ),
    Case("ReverseSequence", lambda n: [f32(4, n), np.full(n, 2)]),
    Case("ScatterElements", lambda n: [f32(n, 4), np.zeros((n, 1), np.int64), f32(n, 1)], axis=1),
    Case("ScatterND", lambda n: [f32(4, 3), np.arange(n).reshape(n, 1), f32(n, 3)]),
    Case("SpaceToDepth", lambda n: [f32(n, 2, 4, 6)], blocksize=2),
    Case("Split", lambda n: [f32(n, 4)], axis=1, num_outputs=2, outputs=2),
    Case("Tile", lambda n: [f32(n, 2), i64(2, 3)], constants=[1]),
    Case("Tile", lambda n: [f32(2, 2), i64(n, 2)]),
    Case("TopK", lambda n: [f32(n, 4), i64(2)], axis=1, outputs=2, constants=[1]),
    Case("Trilu", lambda n: [f32(n, 4)]),
    Case("Unique", lambda n: [index(5, n).astype(np.float32)], outputs=4),
]
"""Operators that need the rank, and run at every size of all dims."""


ABORTS_WHEN_EMPTY = {"GRU", "LSTM"}
"""Operators at whose empty batch ONNX Runtime 1.31 ends the process: the reference is asked instead."""


def compare(case: Case, rep: Any, model: onnx.ModelProto, arrays: Arrays) -> bool:
    """Whether ONNX Runtime accepts the inputs; where it does, both agree."""
    feeds = case.feeds(arrays)
    aborts = case.op in ABORTS_WHEN_EMPTY and not all(array.size for array in arrays)
    try:
        want = (run_reference if aborts else run_ort)(model, feeds)
    except Exception:  # ONNX Runtime raises types of its own, not public ones
        return False
    mapping = registry().find(case.op)
    bound = (mapping.error if mapping else None) or accumulation(4)
    for got, wanted in zip(rep.run(feeds), want, strict=True):
        assert_close(got, wanted, bound, terms=64, label=f"{case} {[a.shape for a in arrays]}")
    return True


@pytest.mark.parametrize("case", [*ANY_RANK, *KNOWN_RANK], ids=repr)
def test_open_dims(case: Case) -> None:
    model = case.model(ranked=True)
    rep = prepare(model)
    accepted = [size for size in SIZES if compare(case, rep, model, case.make(size))]
    assert 3 in accepted and 1 in accepted


@pytest.mark.parametrize("case", ANY_RANK, ids=repr)
def test_unknown_rank(case: Case) -> None:
    model = case.model(ranked=False)
    rep = prepare(model)
    assert compare(case, rep, model, case.make(3))
    for more in (lambda a: a[None], lambda a: np.stack([a, a])):
        others = [
            a if i in case.constants or (case.op == "Gather" and i) else more(a) for i, a in enumerate(case.make(2))
        ]
        compare(case, rep, model, others)


@pytest.mark.parametrize("size", [3, 1])
def test_a_network_takes_every_batch(size: int) -> None:
    """Convolution, normalization, pooling, a linear layer."""
    model = cnn()
    x = f32(size, 3, 8, 8)
    (got,) = prepare(model).run({"x": x})
    (want,) = run_ort(model, {"x": x})
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
