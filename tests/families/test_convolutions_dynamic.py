"""Convolutions and pools over one to three axes with dynamic dims, against ONNX Runtime.

Each cell is one node; the batch and the spatial dims are dynamic and take three sizes that do not divide each other.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx.helper as oh
import tensorflow as tf
from onnx import TensorProto, numpy_helper

import trueport
from tests.cells import grid
from tests.grid.harness import assert_close, run_ort
from tests.models import model_of
from trueport.fidelity import accumulation, ulps

SIZES = ((1, 6), (2, 9), (3, 7))
"""Batch, and spatial dims before each axis adds its number."""


class Window(NamedTuple):
    """One node."""

    op: str
    rank: int
    """spatial axes"""
    known: str = "none"
    """which dims are known: none, channels (weights are constants), spatial, all"""
    group: int = 1
    depthwise: bool = False
    bias: bool = True
    weights: str = "constant"
    """constant, input, or computed (of unknown rank)"""
    attributes: tuple[tuple[str, Any], ...] = ()


def _over(rank: int, value: int) -> list[int]:
    return [value + axis % 2 for axis in range(rank)]


def _variants(op: str, rank: int) -> dict[str, dict[str, Any]]:
    pads = [1] * rank + [axis % 2 for axis in range(rank)]
    common: dict[str, dict[str, Any]] = {
        "plain": {},
        "strides": {"strides": _over(rank, 2)},
        "pads": {"pads": pads},
        "pads-strides": {"pads": pads, "strides": [2] * rank},
        "dilations": {"dilations": _over(rank, 2)},
        "valid": {"auto_pad": "VALID", "strides": [2] * rank},
        "same-upper": {"auto_pad": "SAME_UPPER"},
        "same-upper-strides": {"auto_pad": "SAME_UPPER", "strides": _over(rank, 2)},
        "same-lower-strides": {"auto_pad": "SAME_LOWER", "strides": [2] * rank},
    }
    if op == "ConvTranspose":
        # Where strides exceed the kernel ONNX Runtime makes less than the size that the specification says.
        common["same-upper-strides"] = {"auto_pad": "SAME_UPPER", "strides": [2] * rank}
        common["output-padding"] = {"strides": [2] * rank, "output_padding": [1] * rank}
        common["output-shape"] = {"strides": [2] * rank, "output_shape": [axis + 13 for axis in range(rank)]}
    if op in ("MaxPool", "AveragePool"):
        common["ceil"] = {"strides": [2] * rank, "ceil_mode": 1, "pads": pads}
    if op == "AveragePool":
        common["include-pad"] = {"pads": pads, "count_include_pad": 1}
    return common


def _cells() -> dict[str, Window]:
    cells: dict[str, Window] = {}
    for op, rank in itertools.product(("Conv", "ConvTranspose", "MaxPool", "AveragePool"), (1, 2, 3)):
        pool = op.endswith("Pool")
        for name, attributes in _variants(op, rank).items():
            given = tuple(attributes.items())
            for known in ("none", "channels", "spatial", "all"):
                if name == "output-shape" and known in ("none", "channels"):
                    continue
                cells[f"{op}-{rank}d-{name}-{known}"] = Window(op, rank, known, bias=not pool, attributes=given)
            if pool:
                continue
            cells[f"{op}-{rank}d-{name}-groups"] = Window(op, rank, "channels", 2, attributes=given)
            cells[f"{op}-{rank}d-{name}-depthwise"] = Window(op, rank, "none", 4, True, False, attributes=given)
            cells[f"{op}-{rank}d-{name}-fed"] = Window(op, rank, "none", weights="input", bias=False, attributes=given)
            cells[f"{op}-{rank}d-{name}-computed"] = Window(op, rank, "none", 2, weights="computed", attributes=given)
    for rank in (1, 2, 3):
        for op in ("GlobalAveragePool", "GlobalMaxPool", "LpPool"):
            cells[f"{op}-{rank}d"] = Window(op, rank, bias=False)
    return cells


def _kernel(cell: Window) -> list[int]:
    return [2 + (axis + 1) % 2 for axis in range(cell.rank)]


def _weights(cell: Window, random: np.random.Generator) -> dict[str, np.ndarray]:
    if cell.op not in ("Conv", "ConvTranspose"):
        return {}
    outputs = 4 if cell.depthwise else 6
    shape = (outputs, 4 // cell.group) if cell.op == "Conv" else (4, outputs // cell.group)
    arrays = {"W": random.normal(size=(*shape, *_kernel(cell))).astype(np.float32)}
    if cell.bias:
        arrays["B"] = random.normal(size=outputs).astype(np.float32)
    return arrays


def _model(cell: Window, weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    spatial = [f"S{axis}" for axis in range(cell.rank)]
    if cell.known in ("spatial", "all"):
        spatial = [SIZES[0][1] + axis for axis in range(cell.rank)]
    batch = SIZES[0][0] if cell.known == "all" else "N"
    channels = "C" if cell.known == "none" else 4
    inputs = [oh.make_tensor_value_info("x", TensorProto.FLOAT, [batch, channels, *spatial])]
    nodes, names, held = [], ["x"], []
    for name, array in weights.items():
        tensor = numpy_helper.from_array(array, name)
        if cell.weights == "constant":
            held.append(tensor)
        elif cell.weights == "input":
            inputs.append(oh.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}{k}" for k in range(array.ndim)]))
        else:
            inputs.append(oh.make_tensor_value_info(f"{name}_flat", TensorProto.FLOAT, [None]))
            inputs.append(oh.make_tensor_value_info(f"{name}_shape", TensorProto.INT64, [None]))
            nodes.append(oh.make_node("Reshape", [f"{name}_flat", f"{name}_shape"], [name]))
        names.append(name)
    options = dict(cell.attributes)
    if not cell.op.startswith("Global") and (cell.weights != "input" or cell.rank == 3):
        options["kernel_shape"] = _kernel(cell)
    if weights and cell.group > 1:
        options["group"] = cell.group
    nodes.append(oh.make_node(cell.op, names, ["y"], "node", **options))
    outputs = [oh.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    return model_of(nodes, inputs, outputs, initializers=held)


def _fed(model: onnx.ModelProto, x: np.ndarray, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    feeds = {"x": x}
    for port in model.graph.input[1:]:
        name, _, part = port.name.partition("_")
        array = weights[name]
        feeds[port.name] = {"flat": array.ravel(), "shape": np.array(array.shape), "": array}[part]
    return feeds


@grid(_cells(), quick=10)
def test_windows(cell: Window, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    weights = _weights(cell, random)
    model = _model(cell, weights)
    trueport.convert(model, verify=False).save(tmp_path / "saved")
    loaded = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    terms = int(np.prod(_kernel(cell))) * 4
    bound = ulps(0) if cell.op in ("MaxPool", "GlobalMaxPool") else accumulation(4)
    for batch, size in SIZES:
        if cell.known in ("spatial", "all"):
            size = SIZES[0][1]
        if cell.known == "all":
            batch = SIZES[0][0]
        x = random.normal(size=(batch, 4, *(size + axis for axis in range(cell.rank)))).astype(np.float32)
        feeds = _fed(model, x, weights)
        (want,) = run_ort(model, feeds)
        got = loaded(**{name: tf.constant(array) for name, array in feeds.items()})["y"].numpy()
        assert_close(got, want, bound, terms, str(cell))
