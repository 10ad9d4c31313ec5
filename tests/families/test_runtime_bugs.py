"""ONNX Runtime's known bugs: each is still there, and what is written does not run into it.

A test of the first kind fails when a release has mended the bug: then its entry can go, once no supported release has
it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import onnx.helper as oh
import onnx_ir as ir
import onnxruntime as ort
import pytest
import tensorflow as tf
from onnx import TensorProto, numpy_helper

from tests.cells import grid
from trueport.backends.onnx.runtime_bugs import BUGS, avoid_runtime_bugs
from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.fidelity import Verdict
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.passes.lower.model import lower_model
from trueport.pipeline import convert_file
from trueport.verifying.judge.budget import allowed_ulps
from trueport.verifying.judge.summed_bounds import compare_outputs

_RNG = np.random.default_rng(8)
_OPSET = 21


@dataclass(frozen=True)
class _Shown:
    """A model of one node or two, its input, and what it should give."""

    nodes: tuple[onnx.NodeProto, ...]
    data: np.ndarray
    want: np.ndarray
    constants: Mapping[str, np.ndarray]

    def model(self) -> onnx.ModelProto:
        dims = [size or "n" for size in self.data.shape]
        if self.data.size:
            dims[0] = "n"
        graph = oh.make_graph(
            list(self.nodes),
            "bug",
            [oh.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
            [oh.make_tensor_value_info("y", TensorProto.FLOAT, [None] * self.want.ndim)],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )
        opset = oh.make_opsetid("", CANONICAL_OPSETS[""])
        return onnx.shape_inference.infer_shapes(oh.make_model(graph, opset_imports=[opset], ir_version=10))


_NEGATIVE = _RNG.normal(size=(2, 3, 4, 4)).astype(np.float32) - 9
_POOLED = np.full((2, 3, 4, 4), 0, np.float32)
_POOLED[:, :, 1:3, 1:3] = np.stack(
    [[_NEGATIVE[:, :, i : i + 3, j : j + 3].max((2, 3)) for j in (0, 1)] for i in (0, 1)]
).transpose(2, 3, 0, 1)


def _recurrent() -> _Shown:
    weights = {"w": np.ones((1, 8, 3), np.float32), "r": np.ones((1, 8, 2), np.float32)}
    node = oh.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)
    return _Shown((node,), np.zeros((5, 0, 3), np.float32), np.zeros((5, 1, 0, 2), np.float32), weights)


_SHOWN: dict[str, _Shown] = {
    "zero-padding-of-pools": _Shown(
        (oh.make_node("Pad", ["x", "p"], ["m"]), oh.make_node("MaxPool", ["m"], ["y"], kernel_shape=[3, 3])),
        _NEGATIVE,
        _POOLED,
        {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])},
    ),
    "negative-axes-of-nothing": _Shown(
        (oh.make_node("ReduceSum", ["x", "a"], ["y"], keepdims=0),),
        np.zeros((0, 4, 6), np.float32),
        np.zeros((0, 4), np.float32),
        {"a": np.array([-1])},
    ),
    "empty-recurrence": _recurrent(),
    "rest-of-nothing": _Shown(
        (oh.make_node("Reshape", ["x", "s"], ["y"]),),
        np.zeros((0, 4, 6), np.float32),
        np.zeros((0, 24), np.float32),
        {"s": np.array([0, -1])},
    ),
    "fused-transposes-of-nothing": _Shown(
        (oh.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), oh.make_node("MatMul", ["t", "w"], ["y"])),
        np.zeros((0, 4, 6), np.float32),
        np.zeros((0, 6, 5), np.float32),
        {"w": np.ones((4, 5), np.float32)},
    ),
    "empty-batch-of-products": _Shown(
        (oh.make_node("MatMul", ["w", "x"], ["y"]),),
        np.zeros((0, 4, 6), np.float32),
        np.zeros((0, 5, 6), np.float32),
        {"w": np.ones((5, 4), np.float32)},
    ),
    "empty-product-with-a-vector": _Shown(
        (oh.make_node("MatMul", ["x", "v"], ["y"]),),
        np.zeros((0, 4, 6), np.float32),
        np.zeros((0, 4), np.float32),
        {"v": np.ones(6, np.float32)},
    ),
    "small-sigmoids": _Shown(
        (oh.make_node("Sigmoid", ["x"], ["s"]), oh.make_node("Sign", ["s"], ["y"])),
        np.float32([[-19, -30, -60]]),
        np.ones((1, 3), np.float32),
        {},
    ),
}


def _written(shown: _Shown, folder: Path, *, avoided: bool) -> Path:
    model = ir.from_proto(shown.model())
    if avoided:
        assert avoid_runtime_bugs(model) == 1
    lower_model(model, _OPSET, always_expand=lambda _: False)
    path = folder / "model.onnx"
    onnx.save(ir.to_proto(model), path)
    return path


def _run(path: Path, data: np.ndarray) -> subprocess.CompletedProcess[str]:
    """Run a file in a process of its own, which may be aborted; it prints the shape and the sum of the output."""
    np.save(path.with_suffix(".npy"), data)
    program = (
        "import sys, numpy as np, onnxruntime as ort; ort.set_default_logger_severity(4);"
        "found, = ort.InferenceSession(sys.argv[1]).run(['y'], {'x': np.load(sys.argv[2])});"
        "np.save(sys.argv[2], found)"
    )
    arguments = [sys.executable, "-c", program, str(path), str(path.with_suffix(".npy"))]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=900)


def _is_right(path: Path, shown: _Shown) -> bool:
    if _run(path, shown.data).returncode:
        return False
    found = np.load(path.with_suffix(".npy"))
    return found.shape == shown.want.shape and bool(np.array_equal(found, shown.want))


def test_every_bug_is_shown() -> None:
    assert [bug.name for bug in BUGS] == list(_SHOWN)


@pytest.mark.parametrize("name", _SHOWN)
def test_bug_is_still_there(name: str, tmp_path: Path) -> None:
    assert not _is_right(_written(_SHOWN[name], tmp_path, avoided=False), _SHOWN[name]), (
        f"ONNX Runtime {ort.__version__} has mended {name}: drop it once no supported release has it"
    )


@pytest.mark.parametrize("name", _SHOWN)
def test_bug_is_avoided(name: str, tmp_path: Path) -> None:
    assert _is_right(_written(_SHOWN[name], tmp_path, avoided=True), _SHOWN[name])


_POOL_CELLS = {
    f"{kind}-{rank}d-{padding}-{sizes}-{order}": (kind, rank, padding, sizes, order)
    for kind in ("Max", "Average")
    for rank in (1, 2, 3)
    for padding in ("valid", "same")
    for sizes in ("even", "uneven", "one side")
    for order in ("pad first", "pad twice")
}
_PADS = {"even": (1, 1), "uneven": (2, 1), "one side": (0, 1)}


@grid(_POOL_CELLS, quick=3)
def test_pools_of_padded_signed_data(cell: tuple[str, int, str, str, str], tmp_path: Path) -> None:
    kind, rank, padding, sizes, order = cell
    image = keras.Input((*(6, 7, 8)[:rank], 3), name="x")
    pool = getattr(keras.layers, f"{kind}Pooling{rank}D")(3, strides=2, padding=padding)
    margins = [[0, 0], *[list(_PADS[sizes])] * rank, [0, 0]]
    inner = image
    for _ in range(2 if order == "pad twice" else 1):
        inner = keras.layers.Lambda(lambda x: tf.pad(x, margins))(inner)
    model = keras.Model(image, pool(inner))
    convert_file(model, tmp_path / "model.onnx", verify=False)
    session = ort.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    for count in (1, 2, 5):
        data = _RNG.normal(size=(count, *image.shape[1:])).astype(np.float32) - 2
        (found,) = session.run(None, {"x": data})
        want = np.asarray(model(data))
        bound = 0 if kind == "Max" else 4 * np.finfo(np.float32).eps * np.abs(data).max()
        np.testing.assert_allclose(found, want, rtol=0, atol=bound)


def test_the_stem_of_a_residual_network(tmp_path: Path) -> None:
    """As in ResNet50V2: a convolution, padding with zeros, a pool; its data is signed."""
    layers: Any = keras.layers
    image = keras.Input((16, 16, 3), name="x")
    inner = layers.Conv2D(8, 3, strides=2, bias_initializer=keras.initializers.Constant(-3.0))(image)
    model = keras.Model(image, layers.MaxPooling2D(3, strides=2)(layers.ZeroPadding2D(1)(inner)))
    convert_file(model, tmp_path / "model.onnx", verify=False)
    session = ort.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    data = _RNG.normal(size=(3, 16, 16, 3)).astype(np.float32)
    allowed = allowed_ulps(ir.from_proto(onnx.load(tmp_path / "model.onnx")), onnx_operators())
    result = compare_outputs("output", np.asarray(model(data)), session.run(None, {"x": data})[0], allowed)
    assert result.verdict == Verdict.FAITHFUL, result
