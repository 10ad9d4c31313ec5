"""A model with weights beyond the size of a protobuf: how much memory its conversion takes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from bench.peers import OURS, convert
from bench.table import render

__all__ = ["report"]

ALLOWED_TIMES, ALLOWED_MORE = 1.5, 1e9


def report(gigabytes: float) -> str:
    """Write the model into a folder that goes again, convert it, and compare the peak with its weights."""
    with tempfile.TemporaryDirectory(prefix="bench-large-") as folder:
        model, size = large_model(Path(folder), gigabytes)
        done = convert(OURS, model, Path(folder) / "saved_model", limit=1800)
    allowed = ALLOWED_TIMES * size + ALLOWED_MORE
    row = [f"{size / 1e9:.2f}", done.failure or f"{done.outcome.peak_bytes / 1e9:.2f}", f"{allowed / 1e9:.2f}"]
    row += [f"{done.outcome.seconds:.0f}"]
    columns = ["weights, GB", "peak, GB", "allowed, GB", "seconds"]
    return render("Memory: a model with external weights", columns, [row], ["allowed: 1.5 × the weights + 1 GB"])


def large_model(folder: Path, gigabytes: float, width: int = 8192) -> tuple[Path, int]:
    """A chain of matrix products with its weights in one file beside it, written matrix by matrix."""
    count = max(1, round(gigabytes * 1e9 / (width * width * 4)))
    rng = np.random.default_rng(0)
    row = rng.normal(0, width**-0.5, (1, width)).astype(np.float32)
    initializers, nodes, offset = [], [], 0
    with (folder / "weights.bin").open("wb") as file:
        for number in range(count):
            data = np.roll(np.broadcast_to(row, (width, width)), number, 1).tobytes()
            tensor = TensorProto(name=f"w{number}", dims=[width, width], data_type=TensorProto.FLOAT)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "weights.bin"), ("offset", offset), ("length", len(data))):
                tensor.external_data.add(key=key, value=str(value))
            offset += file.write(data)
            initializers.append(tensor)
            nodes.append(helper.make_node("MatMul", [f"x{number}", f"w{number}"], [f"x{number + 1}"]))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width]) for name in ("x0", f"x{count}")]
    graph = helper.make_graph(nodes, "large", ports[:1], ports[1:], initializers)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path, offset
