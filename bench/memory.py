"""Models with weights beyond the size of a protobuf: how much memory their conversion takes, in both directions.

``python -m bench.memory FILE GIGABYTES`` writes a Keras model of that size.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from bench.child import run
from bench.peers import OURS, Converted, convert
from bench.table import render

__all__ = ["report"]

FROM_ONNX = (1.5, 1e9)
"""the allowed peak: times the weights, and bytes more"""
FROM_KERAS = (1.0, 1.5e9)
LIMIT = 1800


def report(gigabytes: float) -> str:
    """Write each model into a folder that goes again, convert it, and compare the peak with its weights."""
    rows = [_from_onnx(gigabytes), _from_keras(gigabytes)]
    columns = ["model", "weights, GB", "peak, GB", "allowed, GB", "seconds"]
    notes = ["allowed: 1.5 × the weights + 1 GB from ONNX, the weights + 1.5 GB to ONNX"]
    return render("Memory: models with external weights", columns, rows, notes)


def _from_onnx(gigabytes: float) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="bench-large-") as folder:
        model, size = large_model(Path(folder), gigabytes)
        return _row("ONNX to TensorFlow", size, convert(OURS, model, Path(folder) / "saved_model", LIMIT), FROM_ONNX)


def _from_keras(gigabytes: float) -> list[str]:
    """From a .keras file: in a SavedModel Keras 3.15 writes every weight twice, and TensorFlow reads both."""
    with tempfile.TemporaryDirectory(prefix="bench-large-") as folder:
        model = Path(folder) / "model.keras"
        written = run([sys.executable, "-m", "bench.memory", str(model), str(gigabytes)], limit=LIMIT)
        if written.failure:
            raise RuntimeError(f"the large model in Keras: {written.failure}")
        size = model.stat().st_size
        return _row("Keras to ONNX", size, convert(OURS, model, Path(folder) / "model.onnx", LIMIT), FROM_KERAS)


def _row(name: str, size: int, done: Converted, allowed: tuple[float, float]) -> list[str]:
    peak = done.failure or f"{done.outcome.peak_bytes / 1e9:.2f}"
    times, more = allowed
    return [name, f"{size / 1e9:.2f}", peak, f"{(times * size + more) / 1e9:.2f}", f"{done.outcome.cpu:.0f}"]


def large_keras_model(path: Path, gigabytes: float, width: int = 8192) -> None:
    """A chain of Dense layers, each with weights of its own."""
    import keras

    count = max(1, round(gigabytes * 1e9 / (width * width * 4)))
    layers = [keras.layers.Dense(width, use_bias=False, kernel_initializer="zeros") for _ in range(count)]
    model = keras.Sequential([keras.Input((width,)), *layers])
    row = np.random.default_rng(0).normal(0, width**-0.5, width).astype(np.float32)
    for number, layer in enumerate(layers):
        layer.kernel.assign(np.broadcast_to(np.roll(row, number), (width, width)))
    model.save(path)


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


if __name__ == "__main__":
    large_keras_model(Path(sys.argv[1]), float(sys.argv[2]))
