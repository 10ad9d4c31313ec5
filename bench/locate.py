"""Locating a fault in a large model: how much memory beside the models, and how long beside one run of each.

``python -m bench.locate make FOLDER LAYERS WIDTH`` writes the model, and one with a fault, converted to TensorFlow.
``python -m bench.locate plain|truth|find FOLDER`` is what is measured, each in a process of its own.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.external_data_helper import set_external_data

from bench.child import Outcome, run
from bench.table import render

__all__ = ["report"]

MEMORY = 2 << 30
LIMIT = 3600.0
BATCH = 64
ALLOWED = 5.0
"""times one plain run of both models and the truth"""


def report(layers: int = 500, width: int = 724) -> str:
    """Four nodes and one matrix a layer: 500 layers of 724 are 2,000 nodes and 1 GB of weights."""
    with tempfile.TemporaryDirectory(prefix="bench-locate-") as folder:
        _checked("make", folder, str(layers), str(width))
        plain, truth, found = (_checked(part, folder) for part in ("plain", "truth", "find"))
        said = Path(folder, "found").read_text()
    spent = plain.cpu + truth.cpu
    rows = [
        ["models alone, one run of each", f"{plain.peak_bytes / 1e9:.2f}", f"{plain.cpu:.0f}"],
        ["the truth with its noise, once", f"{truth.peak_bytes / 1e9:.2f}", f"{truth.cpu:.0f}"],
        ["locate", f"{found.peak_bytes / 1e9:.2f}", f"{found.cpu:.0f}"],
    ]
    notes = [
        f"{4 * layers} nodes, {layers * width * width * 4 / 1e9:.2f} GB of weights, found: {said}",
        f"above the models: {(found.peak_bytes - plain.peak_bytes) / 1e9:.2f} GB of {MEMORY / 1e9:.2f} allowed",
        f"time: {found.cpu / spent:.2f} × the other two together, {ALLOWED:g} × allowed",
    ]
    return render("Locate in a large model", ["what", "peak, GB", "processor seconds"], rows, notes)


def _checked(*words: str) -> Outcome:
    done = run([sys.executable, "-m", "bench.locate", *words], limit=LIMIT)
    if done.failure:
        raise RuntimeError(f"bench.locate {words[0]}: {done.failure}")
    return done


def make(folder: Path, layers: int, width: int) -> None:
    """A chain of residual layers, its weights in a file beside it; in the other one a weight near the end differs."""
    rng = np.random.default_rng(0)
    with open(folder / "weights", "wb") as file:
        for _ in range(layers):
            file.write((rng.normal(size=(width, width)) * width**-0.5).astype(np.float32).tobytes())
    onnx.save(_model(layers, width, "weights"), folder / "source.onnx")
    array = np.memmap(folder / "weights", np.float32, "r", shape=(layers, width, width)).copy()
    array[layers * 19 // 20, 3, 5] += np.float32(0.5)
    array.tofile(folder / "changed_weights")
    onnx.save(_model(layers, width, "changed_weights"), folder / "changed.onnx")
    from trueport.pipeline import convert_file

    convert_file(folder / "changed.onnx", folder / "target", verify=False)


def _model(layers: int, width: int, weights: str) -> onnx.ModelProto:
    nodes, stored = [], []
    size = width * width * 4
    x = "x"
    for layer in range(layers):
        weight = TensorProto(name=f"w{layer}", data_type=TensorProto.FLOAT, dims=[width, width], raw_data=b"")
        set_external_data(weight, weights, offset=layer * size, length=size)
        weight.ClearField("raw_data")
        stored.append(weight)
        names = [f"{part}{layer}" for part in ("product", "tanh", "half", "sum")]
        nodes += [
            helper.make_node("MatMul", [x, f"w{layer}"], [names[0]], name=names[0]),
            helper.make_node("Tanh", [names[0]], [names[1]], name=names[1]),
            helper.make_node("Mul", [names[1], "factor"], [names[2]], name=names[2]),
            helper.make_node("Add", [names[2], x], [names[3]], name=names[3]),
        ]
        x = names[3]
    stored.append(helper.make_tensor("factor", TensorProto.FLOAT, [], [0.25]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [BATCH, width]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "large", ends[:1], ends[1:], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _feeds(folder: Path) -> dict[str, Any]:
    shape = onnx.load(folder / "source.onnx", load_external_data=False).graph.input[0].type.tensor_type.shape
    size = [dim.dim_value for dim in shape.dim]
    return {"x": np.random.default_rng(1).normal(size=size).astype(np.float32)}


def plain(folder: Path) -> None:
    """Both executions of the source, and the target, each run once."""
    from trueport.sources.open import load, open_source

    models = [*open_source(folder / "source.onnx").runs(), load(folder / "target")]
    for model in models:
        model.run(_feeds(folder))


def truth(folder: Path) -> None:
    """The float64 truth and its noisy runs."""
    from trueport.backends.tensorflow.registry import registry
    from trueport.frontends.onnx.load import load_onnx
    from trueport.reference.onnx.oracle import OnnxOracle

    OnnxOracle(load_onnx(folder / "source.onnx"), registry()).run(_feeds(folder))


def find(folder: Path) -> None:
    """What is measured."""
    from trueport.comparison import locate

    found = locate(folder / "source.onnx", folder / "target", data=[_feeds(folder)], memory=MEMORY)
    culprit = found.culprit
    named = f"{culprit.node}, {culprit.causes[0].what}" if culprit and culprit.causes else found.why
    (folder / "found").write_text(named)


if __name__ == "__main__":
    part, place, *rest = sys.argv[1:]
    if part == "make":
        make(Path(place), *map(int, rest))
    else:
        {"plain": plain, "truth": truth, "find": find}[part](Path(place))
