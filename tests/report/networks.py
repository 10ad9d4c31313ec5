"""Networks with layers of layers, a report that departs, and one of 5,000 nodes."""

from __future__ import annotations

import copy
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx_ir as ir
from onnx import TensorProto

from trueport.drawing.graph import joined, onnx_graph
from trueport.fidelity import EXACT
from trueport.ir.provenance import mark_origins
from trueport.mapping.registry import Finding
from trueport.report.data import Report
from trueport.report.drawn import Drawn
from trueport.report.profile import Figure, Histogram, Profile

__all__ = ["PATIENCE", "chromium", "classifier", "departing", "large_report", "residual"]

PATIENCE = 600_000
"""Milliseconds that a step in the browser may take on a busy machine; Playwright's own limit is 30,000."""


def chromium() -> str | None:
    """Debian's, or whatever goes by one of its names."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def _weight(name: str, *shape: int) -> onnx.TensorProto:
    array = np.random.default_rng(len(name)).normal(size=shape) / np.sqrt(np.prod(shape[1:]) or 1)
    return onnx.numpy_helper.from_array(array.astype(np.float32), name)


def residual(blocks: int = 2) -> onnx.ModelProto:
    """x [n, 4, 8, 8] → blocks with a way around → features → scores; named as PyTorch's exporter does it."""
    nodes, weights, value = [], [], "x"
    for block in range(blocks):
        around = value
        for part in ("first", "second"):
            scope = f"/blocks/{block}/{part}"
            weights += [_weight(f"{scope}.weight", 4, 4, 3, 3), _weight(f"{scope}.bias", 4)]
            inputs = [value, f"{scope}.weight", f"{scope}.bias"]
            nodes.append(oh.make_node("Conv", inputs, [f"{scope}/out"], f"{scope}/Conv", pads=[1, 1, 1, 1]))
            nodes.append(oh.make_node("Sigmoid", [f"{scope}/out"], [f"{scope}/act"], f"{scope}/Sigmoid"))
            value = f"{scope}/act"
        nodes.append(oh.make_node("Add", [value, around], [f"sum{block}"], f"/blocks/{block}/Add"))
        value = f"sum{block}"
    nodes.append(oh.make_node("GlobalAveragePool", [value], ["pooled"], "/head/pool/GlobalAveragePool"))
    nodes.append(oh.make_node("Flatten", ["pooled"], ["flat"], "/head/Flatten"))
    nodes.append(oh.make_node("Gemm", ["flat", "fc.weight"], ["scores"], "/head/fc/Gemm", transB=1))
    x = oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, 8, 8])
    y = oh.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 10])
    graph = oh.make_graph(nodes, "residual", [x], [y], [*weights, _weight("fc.weight", 10, 4)])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22)], ir_version=10, producer_name="tests")


def classifier() -> Any:
    """A Keras model."""
    import keras

    keras.utils.set_random_seed(0)
    image = keras.Input((8, 8, 3), name="image")
    x = keras.layers.Conv2D(4, 3, padding="same", activation="relu", name="conv")(image)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.GlobalAveragePooling2D(name="pool")(x)
    return keras.Model(image, keras.layers.Dense(5, activation="softmax", name="classes")(x), name="net")


def departing(data: dict[str, Any]) -> dict[str, Any]:
    """The same report, had the second half of the network gone wrong."""
    wrong = copy.deepcopy(data)
    figures = wrong["profile"]["figures"]
    middle = len(figures) // 2
    for figure in figures[middle:]:
        figure.update(ratio=900.0, error=max(figure["floor"], 1e-7) * 900)
    figures[middle].update(own_ratio=900.0, own=figures[middle]["error"])
    cause = "the weight is transposed (explains 99.9 % of the difference)"
    wrong["profile"].update(culprit=figures[middle]["value"], why="900 × what rounding explains", causes=[cause])
    wrong["verdict"] = wrong["comparison"]["verdict"] = "departs"
    wrong["comparison"]["outputs"][0].update(verdict="departs", ratio="inf", why="NaN stands in other places")
    return wrong


def large_report(blocks: int = 1000) -> Report:
    """Five nodes a block, in layers of ten: the page's data without the conversion that would fill it."""
    model = ir.from_proto(residual(blocks))
    mark_origins(model.graph)
    source = onnx_graph(model)
    grouped = tuple(
        replace(n, scope=n.scope.replace("blocks/", f"stage{i // 500}/")) for i, n in enumerate(source.nodes)
    )
    source = replace(source, nodes=grouped)
    target = replace(source, framework="TensorFlow")
    findings = [Finding(n.name, n.op, EXACT, None, node=n.name) for n in source.nodes]
    counts = Histogram(-16, (4, 20, 9), (3, 22, 8), 1, 1)
    figures = [
        Figure(n.outputs[0].name, n.name, n.op, 0.4, 1e-7 * (1 + i), 3e-7 * (1 + i), 0.1, 1e-7, n.name, counts)
        for i, n in enumerate(source.nodes)
    ]
    return Report(
        "large.onnx",
        "large",
        findings=tuple(findings),
        drawn=lambda: Drawn(graphs=joined(source, target, {finding.node: finding for finding in findings})),
        profile=Profile(tuple(figures), aligned=len(figures), values=len(figures), why="all is well"),
    )
