"""How the time of a conversion grows with the number of nodes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.peers import OURS, convert
from bench.table import render

__all__ = ["report"]

SIZES = (100, 300, 1000, 3000, 10000)


def report(sizes: tuple[int, ...] = SIZES) -> str:
    """Seconds at each size, and the exponent that fits them."""
    rows, seconds = [], []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.onnx"
            onnx.save(chain(size), path)
            done = convert(OURS, path, Path(folder) / "saved_model", limit=1800)
            if done.failure:
                raise RuntimeError(f"{size} nodes: {done.failure}")
            seconds.append(done.seconds)
            rows.append([str(size), f"{done.seconds:.2f}", f"{done.seconds / size * 1000:.2f}"])
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    last = np.log(seconds[-1] / seconds[-2]) / np.log(sizes[-1] / sizes[-2])
    notes = [f"exponent fitted over all sizes: {slope:.2f}; between the two largest: {last:.2f} (1 is linear)"]
    return render("Scaling: seconds of the conversion function", ["nodes", "seconds", "ms per node"], rows, notes)


def chain(size: int) -> onnx.ModelProto:
    """Blocks of a convolution, a batch norm, an activation and a residual sum, up to the number of nodes."""
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    initializers = []
    at = "x"
    for block in range(size // 4):
        kernel = rng.normal(0, 0.1, (8, 8, 3, 3)).astype(np.float32)
        vectors = rng.uniform(0.5, 1.5, (4, 8)).astype(np.float32)
        names = [f"w{block}", *(f"v{block}_{i}" for i in range(4))]
        initializers += [numpy_helper.from_array(a, n) for a, n in zip((kernel, *vectors), names, strict=True)]
        nodes += [
            helper.make_node("Conv", [at, names[0]], [f"c{block}"], pads=[1] * 4),
            helper.make_node("BatchNormalization", [f"c{block}", *names[1:]], [f"n{block}"]),
            helper.make_node("Relu", [f"n{block}"], [f"r{block}"]),
            helper.make_node("Add", [f"r{block}", at], [f"a{block}"]),
        ]
        at = f"a{block}"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 8, 16, 16]) for name in ("x", at)]
    graph = helper.make_graph(nodes, "chain", ports[:1], ports[1:], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
