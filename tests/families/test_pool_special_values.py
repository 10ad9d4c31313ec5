"""Max pooling of infinities and NaN: PyTorch's and ONNX's in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from torch.nn import functional as F

import trueport
from tests.cells import grid
from tests.families.numbers import torch_outputs
from tests.torch.speed import one_registry
from trueport.fidelity import Verdict

_POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_ADAPTIVE = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
_KINDS: dict[str, dict[str, Any]] = {
    "plain": {"kernel_size": 2},
    "padded": {"kernel_size": 3, "stride": 2, "padding": 1},
    "overlapping": {"kernel_size": 3, "stride": 1},
    "dilated": {"kernel_size": 2, "stride": 1, "dilation": 2},
    "ceil": {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
}


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def special(rank: int) -> np.ndarray:
    """Planes of -inf alone, of NaN among numbers, of the lowest finite number, and of numbers alone."""
    shape = (2, 4, *[7] * rank)
    drawn = np.random.default_rng(rank).standard_normal(shape).astype(np.float32)
    drawn[0, 0] = -np.inf
    drawn[0, 1][drawn[0, 1] < -0.5] = np.nan
    drawn[0, 2] = np.finfo(np.float32).min
    drawn[0, 3][drawn[0, 3] < 0.5] = -np.inf
    drawn[1, 0].flat[0] = np.nan
    drawn[1, 1].flat[-1] = np.inf
    return drawn


def is_native(rank: int, kind: str) -> bool:
    """True for windows that TensorFlow's own kernel takes, which ignores NaN and knows no -inf."""
    return rank < 3 and kind != "dilated"


def pools(rank: int) -> dict[str, Callable[[Any], Any]]:
    kinds = {name: options for name, options in _KINDS.items() if not is_native(rank, name)}
    found = {name: lambda x, o=options: _POOLS[rank](x, **o) for name, options in kinds.items()}
    found["adaptive"] = lambda x: _ADAPTIVE[rank](x, 1)
    found["amax"] = lambda x: x.amax(-1)
    found["max"] = lambda x: x.max(-1)[0]
    found["maximum"] = lambda x: torch.maximum(x, x.flip(-1))
    return found


def indexed(rank: int) -> dict[str, Callable[[Any], Any]]:
    names = ("plain", "padded", "dilated")
    return {
        f"{name}-{part}": lambda x, o=_KINDS[name], p=part: _POOLS[rank](x, return_indices=True, **o)[p]
        for name in names
        for part in (0, 1)
        if part or not is_native(rank, name)
    }


@grid({f"{rank}d-{kind}": (rank, kind) for rank in (1, 2, 3) for kind in ("values", "indices")}, quick=2)
def test_torch_to_tensorflow(cell: tuple[int, str]) -> None:
    """PyTorch keeps -inf, and a NaN wins; of several the last one's index is given."""
    rank, kind = cell
    functions = pools(rank) if kind == "values" else indexed(rank)
    x = torch.from_numpy(special(rank))
    (made,) = torch_outputs(functions, [[x]], "tensorflow")
    for name, function in functions.items():
        np.testing.assert_array_equal(made[name], function(x).numpy(), name)


@grid({f"{rank}d-{kind}": (rank, kind) for rank in (1, 2, 3) for kind in ("plain", "padded", "dilated")}, quick=2)
def test_onnx_to_tensorflow(cell: tuple[int, str], tmp_path: Path) -> None:
    """-inf stays; NaN wins, as PyTorch has it, from which most such files come (ONNX says nothing); or it is told."""
    rank, kind = cell
    options = _KINDS[kind]
    strides, dilations = options.get("stride", options["kernel_size"]), options.get("dilation", 1)
    node = helper.make_node(
        "MaxPool",
        ["x"],
        ["y"],
        kernel_shape=[options["kernel_size"]] * rank,
        strides=[strides] * rank,
        dilations=[dilations] * rank,
        pads=[options.get("padding", 0)] * (2 * rank),
    )
    x = special(rank)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", x.shape), ("y", None))
    ]
    graph = helper.make_graph([node], "pool", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.save(model, tmp_path / "pool.onnx")
    if is_native(rank, kind):
        told = trueport.check(tmp_path / "pool.onnx", to="tensorflow").remarks
        assert "special-values-in-pools" in {remark.rule for remark in told}
        report = trueport.convert(tmp_path / "pool.onnx", to="tensorflow", data=[{"x": x}]).report
        # ONNX Runtime's own kernel for one axis does the same.
        assert report.verdict == (Verdict.FAITHFUL if rank == 1 else Verdict.DEPARTS)
        return
    trueport.convert(tmp_path / "pool.onnx", to="tensorflow", verify=False).save(tmp_path / "saved")
    made = trueport.load(tmp_path / "saved").run({"x": x})["y"]
    np.testing.assert_array_equal(made, _POOLS[rank](torch.from_numpy(x), **options).numpy())
