"""Chains of operators that a graph optimizer fuses, as ONNX models: every convolution × what follows × activation.

    python -m tests.machines.chains [PATTERN]

converts and verifies each model in this process, with whatever CPU settings its environment has, prints each that is
not faithful, and a count. Kernels for fused chains differ between CPUs: a chain may run on one and fail on another.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import trueport
from tests.machines.settings import print_failures
from trueport.fidelity import Verdict

__all__ = ["Convolution", "convolutions", "failures", "model_of", "products"]

OPSET = 22
CHANNELS = 6
TYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
}


@dataclass(frozen=True)
class Convolution:
    """One kind of convolution; ``sizes`` are the spatial sizes of its data, batch and channels come before them."""

    name: str
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    group: int = 1
    multiplier: int = 1
    """output channels over input channels"""
    transposed: bool = False
    dtype: str = "float32"

    @property
    def weight_shape(self) -> tuple[int, ...]:
        made = CHANNELS * self.multiplier
        ends = (CHANNELS, made // self.group) if self.transposed else (made, CHANNELS // self.group)
        return (*ends, *self.kernel)


def convolutions() -> Iterator[Convolution]:
    """Yield every kind: plain, grouped, depthwise, dilated, transposed; over one to three axes; with every padding."""
    for rank in (1, 2, 3):
        sizes, kernel = (9, 8, 7)[:rank], (3,) * rank
        for padding, attributes in _paddings(rank).items():
            for group in (1, 2, CHANNELS):
                for name, more in _steps(rank).items():
                    if padding == "same" and name == "dilated":
                        continue  # ONNX Runtime, the source, does not run it
                    yield Convolution(f"{rank}-D g{group} {padding} {name}", sizes, kernel, attributes | more, group)
        for group in (1, 2, CHANNELS):
            yield Convolution(f"{rank}-D g{group} doubled", sizes, kernel, {}, group, multiplier=2)
            for name, more in _steps(rank).items():
                yield Convolution(f"{rank}-D g{group} transposed {name}", sizes, kernel, more, group, transposed=True)
        for dtype in ("float64", "float16"):
            for group in (1, 2, CHANNELS):
                yield Convolution(f"{rank}-D g{group} {dtype}", sizes, kernel, {}, group, dtype=dtype)


def _paddings(rank: int) -> dict[str, dict[str, Any]]:
    return {
        "valid": {},
        "padded": {"pads": [1] * (2 * rank)},
        "uneven": {"pads": [0] * rank + [2] * rank},
        "same": {"auto_pad": "SAME_UPPER"},
    }


def _steps(rank: int) -> dict[str, dict[str, Any]]:
    return {"": {}, "strided": {"strides": [2] * rank}, "dilated": {"dilations": [2] * rank}}


ACTIVATIONS: dict[str, str] = {
    "none": "{y} = Identity({x})",
    "relu": "{y} = Relu({x})",
    "relu6": "{y} = Clip({x}, zero, six)",
    "leaky": "{y} = LeakyRelu<alpha = 0.1>({x})",
    "elu": "{y} = Elu({x})",
    "sigmoid": "{y} = Sigmoid({x})",
    "tanh": "{y} = Tanh({x})",
    "swish": "{y}s = Sigmoid({x})  {y} = Mul({x}, {y}s)",
    "hardswish": "{y} = HardSwish({x})",
    "gelu": "{y} = Gelu({x})",
    "mish": "{y} = Mish({x})",
}
FLOAT32_BODIES = ("hardswish", "gelu")
"""ONNX Runtime has no float64 kernels for them, and the function bodies that stand in hold float32 constants."""
ENDS: dict[str, str] = {
    "bare": "{y} = {op}(x, w)",
    "bias": "{y} = {op}(x, w, b)",
    "norm": "{y}c = {op}(x, w)  {y} = BatchNormalization({y}c, s, b, m, v)",
    "bias+norm": "{y}c = {op}(x, w, b)  {y} = BatchNormalization({y}c, s, b, m, v)",
    "norm+residual": "{y}c = {op}(x, w)  {y}n = BatchNormalization({y}c, s, b, m, v)  {y} = Add({y}n, {y}n0)",
    "bias+residual": "{y}c = {op}(x, w, b)  {y} = Add({y}c, {y}c0)",
}


def model_of(kind: Convolution) -> onnx.ModelProto:
    """Return one model that holds the convolution followed by every end and every activation, with a dynamic batch."""
    rng = np.random.default_rng(len(kind.name))
    lines, outputs = [], []
    for end, first in ENDS.items():
        for activation, second in ACTIVATIONS.items():
            if kind.dtype == "float64" and activation in FLOAT32_BODIES:
                continue
            stem = f"{end}_{activation}".replace("+", "_")
            lines += _chain(kind, first, second, stem)
            outputs.append(stem)
    made = CHANNELS * kind.multiplier
    dtype = {"float16": np.float16, "float64": np.float64}.get(kind.dtype, np.float32)
    values = {
        "w": rng.normal(size=kind.weight_shape),
        **{name: rng.normal(size=made) for name in ("b", "s", "m")},
        "v": rng.uniform(0.5, 2, made),
        "zero": np.array(0.0),
        "six": np.array(6.0),
    }
    return _model(lines, kind, outputs, {name: value.astype(dtype) for name, value in values.items()})


def _chain(kind: Convolution, first: str, second: str, stem: str) -> list[onnx.NodeProto]:
    """Parse one chain; a residual is a second convolution of the same data."""
    op = "ConvTranspose" if kind.transposed else "Conv"
    text = first.format(op=op, y=f"{stem}_x") + "  " + second.format(x=f"{stem}_x", y=stem)
    if "residual" in stem:
        text = f"{stem}_x{'n' if 'norm' in stem else 'c'}0 = {op}(x, w)  " + text
    nodes = []
    for part in text.split("  "):
        node = onnx.parser.parse_node(part)
        if node.op_type == op:
            node.attribute.extend(helper.make_attribute(k, v) for k, v in kind.attributes.items())
            node.attribute.append(helper.make_attribute("group", kind.group))
        nodes.append(node)
    return nodes


def _model(
    nodes: list[onnx.NodeProto], kind: Convolution, outputs: list[str], values: dict[str, np.ndarray]
) -> onnx.ModelProto:
    element = TYPES[kind.dtype]
    graph = helper.make_graph(
        nodes,
        re.sub(r"\W+", "_", kind.name),
        [helper.make_tensor_value_info("x", element, ["batch", CHANNELS, *kind.sizes])],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def products() -> onnx.ModelProto:
    """Return a model of matrix products followed by every activation, a bias before it or not, and a scaled batch."""
    lines = []
    outputs = []
    for first in ("{y} = MatMul(x, w)", "{y} = Gemm(x, w, b)", "{y}m = MatMul(x, w)  {y} = Add({y}m, b)"):
        for activation, second in ACTIVATIONS.items():
            stem = f"y{len(outputs)}_{activation}"
            text = first.format(y=f"{stem}_x") + "  " + second.format(x=f"{stem}_x", y=stem)
            lines += [onnx.parser.parse_node(part) for part in text.split("  ")]
            outputs.append(stem)
    rng = np.random.default_rng(5)
    values = {"w": rng.normal(size=(CHANNELS, 5)), "b": rng.normal(size=5), "zero": np.array(0.0), "six": np.array(6.0)}
    kind = Convolution("products", (), ())
    return _model(lines, kind, outputs, {name: value.astype(np.float32) for name, value in values.items()})


def failures(pattern: str = "") -> Iterator[tuple[str, str]]:
    """Convert and verify each model whose name has the pattern; yield name and "" or what is wrong."""
    models = [(kind.name, lambda kind=kind: model_of(kind)) for kind in convolutions()]
    for name, make in [*models, ("products", products)]:
        if not re.search(pattern, name):
            continue
        found = trueport.convert(make(), to="tensorflow").report.comparison
        wrong = [f"{output.name}: {output.why}" for output in found.outputs if output.verdict != Verdict.FAITHFUL]
        yield name, "; ".join(wrong[:5]) or found.skipped


if __name__ == "__main__":
    raise SystemExit(bool(print_failures(failures(*sys.argv[1:2]))))
