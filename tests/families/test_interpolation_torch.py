"""F.interpolate and nn.Upsample: converted, written, read back and run, compared with PyTorch.

A cell is one module with many outputs. Nearest samples must be PyTorch's own; mixed ones must be as near to PyTorch in
float64 as float32 coordinates allow. Dynamic sizes are run at sizes that divide none of the others.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
import torch
from torch.nn import functional

import trueport
from tests.cells import grid
from trueport.fidelity import Verdict
from trueport.pipeline import convert_file

Call = dict[str, Any]
HOWS: dict[str, Call] = {
    "0.7": {"scale_factor": 0.7},
    "1.5": {"scale_factor": 1.5},
    "1.2": {"scale_factor": 1.2},
    "2.3": {"scale_factor": 2.3},
    "3": {"scale_factor": 3},
    "1.7,0.6": {"scale_factor": (1.7, 0.6)},
    "0.29 recomputed": {"scale_factor": 0.29, "recompute_scale_factor": True},
    "0.6 kept": {"scale_factor": 0.6, "recompute_scale_factor": False},
    "1.5 recomputed": {"scale_factor": 1.5, "recompute_scale_factor": True},
    "size 5": {"size": 5},
    "size 1": {"size": 1},
    "size 3,17": {"size": (3, 17)},
}
ANY_RANK = [name for name, how in HOWS.items() if not isinstance(next(iter(how.values())), tuple)]
SIZES = {1: [(7,), (4,), (150,)], 2: [(7, 9), (4, 13), (12, 100)], 3: [(7, 9, 5), (10, 4, 11), (13, 5, 8)]}
DTYPES = {"float16": torch.float16, "float32": torch.float32, "float64": torch.float64}


def modes(rank: int) -> dict[str, Call]:
    """All modes of images of a rank but area, which is a pooling to a size."""
    found: dict[str, Call] = {"nearest": {"mode": "nearest"}, "nearest-exact": {"mode": "nearest-exact"}}
    for mode in {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}[rank]:
        for align, smooth in itertools.product([False, True], [False, True] if rank == 2 else [False]):
            name = f"{mode}{' aligned' if align else ''}{' smooth' if smooth else ''}"
            found[name] = {"mode": mode, "align_corners": align, "antialias": smooth}
    if rank == 2:
        found["lanczos"] = {"mode": "lanczos", "antialias": True}
    return found


class Interpolated(torch.nn.Module):
    """All calls on one input."""

    def __init__(self, calls: list[Call]) -> None:
        super().__init__()
        self.calls = calls

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(functional.interpolate(x, **call) for call in self.calls)


def run(path: Path, x: np.ndarray) -> list[np.ndarray]:
    """What the written artifact makes of an input."""
    if path.suffix == ".onnx":
        session = onnxruntime.InferenceSession(path)
        return list(session.run(None, {session.get_inputs()[0].name: x}))
    signature = tf.saved_model.load(str(path)).signatures["serving_default"]
    made = signature(tf.constant(x))
    return [made[name].numpy() for name in sorted(made, key=lambda name: int("0" + "".join(filter(str.isdigit, name))))]


def mistakes(module: Any, path: Path, x: torch.Tensor) -> list[str]:
    """The calls whose results are not PyTorch's."""
    eager, wide = module(x), module(x.double())
    found = []
    for call, got, want, exact in zip(module.calls, run(path, x.numpy()), eager, wide, strict=True):
        here = f"{call} at {tuple(x.shape)}"
        if got.shape != tuple(want.shape) or got.dtype != want.numpy().dtype:
            found.append(f"{here}: {got.shape} {got.dtype}, not {tuple(want.shape)} {want.dtype}")
        elif call["mode"].startswith("nearest"):
            if not np.array_equal(got, want.numpy()):
                found.append(f"{here}: {np.mean(got != want.numpy()):.0%} of the samples are others")
        elif (off := np.abs(got - exact.numpy()).max()) > allowed(x, want.dtype):
            found.append(f"{here}: off by {off:.3g}, allowed {allowed(x, want.dtype):.3g}")
    return found


def allowed(x: torch.Tensor, dtype: torch.dtype) -> float:
    """The declared bound: eight units of the last place, and a coordinate off by its last place on each axis."""
    axes, longest = x.dim() - 2, max(x.shape[2:])
    unit = torch.finfo(dtype).eps
    coordinate = longest * min(unit, torch.finfo(torch.float32).eps)
    return float(x.abs().max()) * axes * (8 * unit + 4 * coordinate)


def check(calls: list[Call], rank: int, target: str, folder: Path, *, dynamic: bool, dtype: str = "float32") -> None:
    generator = torch.Generator().manual_seed(rank)
    xs = [torch.randn(2, 3, *size, generator=generator).to(DTYPES[dtype]) for size in SIZES[rank]]
    path = folder / ("model.onnx" if target == "onnx" else "model")
    shapes = {f"x.{axis + 2}": f"{'hwd'[axis]}(4..300)" for axis in range(rank)} if dynamic else None
    module = Interpolated(calls)
    report = convert_file(module, path, example_inputs=(xs[0],), dynamic_shapes=shapes)
    wrong = [text for x in (xs if dynamic else xs[:1]) for text in mistakes(module, path, x)]
    assert not wrong, f"verdict {report.verdict}: " + "; ".join(wrong)
    assert report.verdict == Verdict.FAITHFUL, report


def fixed_cells() -> dict[str, tuple[int, str, str, str]]:
    found = {}
    for target in ("onnx", "tensorflow"):
        for rank in (1, 2, 3):
            for mode in [*modes(rank), "area"]:
                found[f"{rank}d {mode} {target}"] = (rank, mode, target, "float32")
    for mode, dtype in itertools.product(("nearest", "nearest-exact", "bilinear", "bicubic"), ("float16", "float64")):
        found[f"2d {mode} {dtype}"] = (2, mode, "onnx", dtype)
    return found


@grid(fixed_cells(), quick=1)
def test_fixed_sizes(cell: tuple[int, str, str, str], tmp_path: Path) -> None:
    rank, mode, target, dtype = cell
    hows = HOWS if rank == 2 else {name: HOWS[name] for name in ANY_RANK}
    given = modes(rank).get(mode, {"mode": mode})
    check([{**given, **how} for how in hows.values()], rank, target, tmp_path, dynamic=False, dtype=dtype)


def dynamic_cells() -> dict[str, tuple[int, str, str]]:
    found = {}
    for index, (rank, how) in enumerate(itertools.product((2, 1, 3), HOWS)):
        if rank == 2 or how in ("0.7", "1.2", "size 5"):
            for target in ("onnx", "tensorflow") if rank == 2 else (("onnx", "tensorflow")[index % 2],):
                found[f"{rank}d {how} {target}"] = (rank, how, target)
    return found


@grid(dynamic_cells(), quick=0)
def test_dynamic_sizes(cell: tuple[int, str, str], tmp_path: Path) -> None:
    rank, how, target = cell
    check([{**mode, **HOWS[how]} for mode in modes(rank).values()], rank, target, tmp_path, dynamic=True)


LAYERS: dict[str, Any] = {
    "Upsample nearest": lambda: torch.nn.Upsample(scale_factor=1.3),
    "Upsample bilinear": lambda: torch.nn.Upsample(scale_factor=1.3, mode="bilinear", align_corners=True),
    "Upsample bicubic": lambda: torch.nn.Upsample(size=(5, 11), mode="bicubic"),
    "Upsample recomputed": lambda: torch.nn.Upsample(scale_factor=0.6, mode="bilinear", recompute_scale_factor=True),
    "UpsamplingNearest2d": lambda: torch.nn.UpsamplingNearest2d(scale_factor=2.5),
    "UpsamplingBilinear2d": lambda: torch.nn.UpsamplingBilinear2d(scale_factor=1.7),
}


@grid({f"{name} {target}": (name, target) for name in LAYERS for target in ("onnx", "tensorflow")}, quick=0)
def test_layers(cell: tuple[str, str], tmp_path: Path) -> None:
    layer, path = LAYERS[cell[0]](), tmp_path / ("model.onnx" if cell[1] == "onnx" else "model")
    xs = [torch.randn(1, 2, *size) for size in SIZES[2]]
    shapes = {"input.2": "h(4..300)", "input.3": "w(4..300)"}
    report = convert_file(layer, path, example_inputs=(xs[0],), dynamic_shapes=shapes)
    for x in xs:
        (got,), want = run(path, x.numpy()), layer(x.double()).float() if "earest" not in cell[0] else layer(x)
        assert got.shape == tuple(want.shape)
        assert np.abs(got - want.numpy()).max() <= (0 if "earest" in cell[0] else allowed(x, x.dtype))
    assert report.verdict == Verdict.FAITHFUL


@pytest.mark.parametrize("mode", ["nearest-exact", "nearest"])
def test_other_samples_are_not_faithful(mode: str, tmp_path: Path) -> None:
    """A file that takes the neighbour of one sample in a hundred, by a ratio that is rounded in another way."""
    from onnx import TensorProto, helper, numpy_helper

    module = Interpolated([{"scale_factor": 0.7, "mode": mode}])
    x = torch.randn(1, 2, 23)
    want = functional.interpolate(torch.arange(23.0).reshape(1, 1, 23), scale_factor=0.7, mode=mode).long().numpy()
    places = want.ravel().copy()
    places[3] -= 1
    node = helper.make_node("Gather", ["x", "places"], ["y"], axis=2)
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 2, s]) for n, s in (("x", 23), ("y", len(places)))]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:], [numpy_helper.from_array(places, "places")])
    path = tmp_path / "wrong.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()
    )
    assert trueport.verify(module, path, example_inputs=(x,), samples=2).verdict == Verdict.DEPARTS
