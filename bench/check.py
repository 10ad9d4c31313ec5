"""How long ``trueport check`` takes for a large model, and how much memory: a fresh process, weights not read."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from bench.child import run
from bench.table import render

__all__ = ["large_model", "report"]

ALLOWED_SECONDS, ALLOWED_BYTES = 3.0, 300e6
_SMALL = 1024
"""bytes: smaller weights stand in the protobuf, as exporters have it"""


def report(nodes: int, gigabytes: float, rounds: int) -> str:
    """The best of some rounds, beside what is allowed."""
    with tempfile.TemporaryDirectory(prefix="bench-check-") as folder:
        model, count = large_model(Path(folder), nodes, gigabytes)
        command = [sys.executable, "-m", "trueport", "check", str(model), "--to", "tensorflow"]
        done = [run(command, limit=120, folder=Path(folder)) for _ in range(rounds)]
    failure = next((one.failure for one in done if one.failure), "")
    seconds, cpu = min(one.seconds for one in done), min(one.cpu for one in done)
    peak = max(one.peak_bytes for one in done)
    row = [str(count), f"{gigabytes:g}", failure or f"{seconds:.2f}", f"{cpu:.2f}", f"{peak / 1e6:.0f}"]
    row += [f"{ALLOWED_SECONDS:g}", f"{ALLOWED_BYTES / 1e6:.0f}"]
    columns = ["nodes", "weights, GB", "seconds", "CPU seconds", "peak, MB", "allowed s", "allowed MB"]
    notes = [
        f"best of {rounds} fresh processes, imports included; external weights of which nothing is read",
        "CPU seconds: what the processors worked; on a machine that others use, still more than on a free one",
    ]
    return render("Check: a large ONNX model", columns, [row], notes)


class _Net:
    """Nodes one after another, their weights as places in a file that is never filled."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.offset = 0

    def add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        made = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [made], f"{op}_{len(self.nodes)}", **attributes))
        return made

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT)
        size = 4
        for dim in shape:
            size *= dim
        if size <= _SMALL:
            tensor.raw_data = bytes(size)
        else:
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "weights.bin"), ("offset", self.offset), ("length", size)):
                tensor.external_data.add(key=key, value=str(value))
            self.offset += size
        self.weights.append(tensor)
        return name

    def ints(self, *items: int) -> str:
        tensor = helper.make_tensor(f"i{len(self.weights)}", TensorProto.INT64, [len(items)], list(items))
        self.weights.append(tensor)
        return str(tensor.name)


def _convolution_block(net: _Net, x: str, channels: int) -> str:
    """Nine nodes: a residual block."""
    kept = x
    for _ in range(2):
        x = net.add("Conv", [x, net.weight(channels, channels, 3, 3)], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
        x = net.add("BatchNormalization", [x, *(net.weight(channels) for _ in range(4))])
        x = net.add("Relu", [x])
    return net.add("Relu", [net.add("Add", [x, kept])])


def _attention_block(net: _Net, x: str, width: int, heads: int = 8) -> str:
    """Some thirty nodes: heads split by computed shapes, attention, a feed-forward part."""
    normed = net.add("LayerNormalization", [x, net.weight(width), net.weight(width)])
    split = []
    for _ in range(3):
        y = net.add("Add", [net.add("MatMul", [normed, net.weight(width, width)]), net.weight(width)])
        y = net.add("Reshape", [y, net.ints(0, 0, heads, width // heads)])
        split.append(net.add("Transpose", [y], perm=[0, 2, 1, 3]))
    keys = net.add("Transpose", [split[1]], perm=[0, 1, 3, 2])
    scores = net.add("Softmax", [net.add("MatMul", [split[0], keys])], axis=-1)
    mixed = net.add("Transpose", [net.add("MatMul", [scores, split[2]])], perm=[0, 2, 1, 3])
    mixed = net.add("Reshape", [mixed, net.ints(0, 0, width)])
    x = net.add("Add", [x, net.add("MatMul", [mixed, net.weight(width, width)])])
    inner = net.add("LayerNormalization", [x, net.weight(width), net.weight(width)])
    inner = net.add("Gelu", [net.add("MatMul", [inner, net.weight(width, 2 * width)])])
    return net.add("Add", [x, net.add("MatMul", [inner, net.weight(2 * width, width)])])


def large_model(folder: Path, nodes: int, gigabytes: float) -> tuple[Path, int]:
    """Convolutions in the first half, attention in the second, with weights of about that size in a file beside it."""
    channels, width = 64, 512
    net = _Net()
    x = net.add("Conv", ["image", net.weight(channels, 3, 3, 3)], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    while len(net.nodes) < nodes // 2:
        x = _convolution_block(net, x, channels)
    x = net.add("Reshape", [x, net.ints(0, channels, -1)])
    x = net.add("MatMul", [net.add("Transpose", [x], perm=[0, 2, 1]), net.weight(channels, width)])
    while len(net.nodes) < nodes - 1:
        x = _attention_block(net, x, width)
    rest = int(gigabytes * 1e9) - net.offset
    x = net.add("MatMul", [x, net.weight(width, max(1, rest // (4 * width)))])
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 32, 32])
    output = helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", "length", "classes"])
    graph = helper.make_graph(net.nodes, "large", [image], [output], net.weights)
    with (folder / "weights.bin").open("wb") as file:
        file.truncate(net.offset)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path, len(net.nodes)
