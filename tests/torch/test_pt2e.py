"""Quantized networks of PyTorch: scales and zero points arrive bit for bit, and what is computed with them agrees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators that quantized networks are made of
from torch import nn
from torch.ao.quantization import get_default_qconfig_mapping
from torch.ao.quantization.quantize_fx import _convert_to_reference_decomposed_fx, prepare_fx

import trueport

QUANTIZED = torch.ops.quantized_decomposed
Parameters = set[tuple[str, bytes]]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 4, 3)
        self.out = nn.Linear(4 * 3 * 3, 5)

    def forward(self, x: Any) -> Any:
        return self.out(nn.functional.max_pool2d(torch.relu(self.conv(x)), 2).flatten(1))


def calibrated() -> nn.Module:
    """PyTorch's own flow: observers put in, numbers seen, operators of quantized networks written out."""
    torch.manual_seed(1)
    example = torch.randn(4, 3, 8, 8)
    prepared = prepare_fx(Net().eval(), get_default_qconfig_mapping("fbgemm"), (example,))
    for _ in range(4):
        prepared(torch.randn(4, 3, 8, 8))
    return _convert_to_reference_decomposed_fx(prepared)


class Folded(nn.Module):
    """As a network leaves the flow of exported programs: weights of eight bits are held, the bias is a float.

    It is a multiple of the product's step: ONNX Runtime's optimizer rounds any other one, and turns a tie over by that.
    """

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(2)
        self.register_buffer("weight", torch.randint(-127, 128, (4, 3, 3, 3), generator=generator).to(torch.int8))
        self.register_buffer("scales", (torch.rand(4, generator=generator) * 0.01 + 0.001).double())
        self.register_buffer("zero_points", torch.zeros(4, dtype=torch.int64))
        step = self.scales * 0.0287643987
        self.bias = nn.Parameter(((torch.randn(4, generator=generator) / step).round() * step).float())

    def forward(self, x: Any) -> Any:
        x = QUANTIZED.quantize_per_tensor.default(x, 0.0287643987, -11, -128, 127, torch.int8)
        x = QUANTIZED.dequantize_per_tensor.default(x, 0.0287643987, -11, -128, 127, torch.int8)
        weight = QUANTIZED.dequantize_per_channel.default(
            self.weight, self.scales, self.zero_points, 0, -127, 127, torch.int8
        )
        y = torch.relu(torch.conv2d(x, weight, self.bias))
        y = QUANTIZED.quantize_per_tensor.default(y, 0.0512, 3, 0, 255, torch.uint8)
        return QUANTIZED.dequantize_per_tensor.default(y, 0.0512, 3, 0, 255, torch.uint8)


class Dynamic(nn.Module):
    """The parameters of what comes in are chosen from it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.layer = nn.Linear(6, 4)

    def forward(self, x: Any) -> Any:
        scale, zero = QUANTIZED.choose_qparams.tensor(x, -128, 127, 1.2e-7, torch.int8)
        whole = QUANTIZED.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
        return self.layer(QUANTIZED.dequantize_per_tensor.tensor(whole, scale, zero, -128, 127, torch.int8))


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        scale, zero = QUANTIZED.choose_qparams_symmetric.tensor(x, -127, 127, 1.2e-7, torch.int8)
        return QUANTIZED.quantize_per_tensor.tensor(x, scale, zero, -127, 127, torch.int8), scale, zero


class Whole(nn.Module):
    """Ranges narrower than the type's, each type; what comes out are the whole numbers themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scales", torch.tensor([0.011, 0.02, 0.3]))
        self.register_buffer("zero_points", torch.tensor([0, 3, -2]))

    def forward(self, x: Any) -> Any:
        quantize = QUANTIZED.quantize_per_tensor.default
        return (
            quantize(x, 0.02, 0, -127, 127, torch.int8),
            quantize(x, 0.13, 7, 0, 15, torch.uint8),
            quantize(x, 0.0007, -5, -32768, 32767, torch.int16),
            quantize(x, 0.0007, 900, 0, 60000, torch.uint16),
            quantize(x, 0.001, 17, -100000, 100000, torch.int32),
            QUANTIZED.quantize_per_channel.default(x, self.scales, self.zero_points, 1, -127, 100, torch.int8),
        )


class Back(nn.Module):
    """Whole numbers as floats of several types."""

    def forward(self, x: Any, y: Any) -> Any:
        back = QUANTIZED.dequantize_per_tensor.default
        return (
            back(x, 0.0217, 4, -128, 127, torch.int8, out_dtype=torch.float16),
            back(x, 0.0217, 4, -128, 127, torch.int8, out_dtype=torch.float64),
            back(y, 0.00217, 4, -(2**31), 2**31 - 1, torch.int32),
        )


class Faked(nn.Module):
    """Rounded on the way, as in training for quantization; dims stay open."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scales", torch.tensor([0.011, 0.02, 0.3]))
        self.register_buffer("zero_points", torch.tensor([0, 3, -2], dtype=torch.int32))
        self.register_buffer("scale", torch.tensor([0.07]))
        self.register_buffer("zero_point", torch.tensor([9], dtype=torch.int32))

    def forward(self, x: Any) -> Any:
        return (
            torch.fake_quantize_per_tensor_affine(x, 0.0311, 3, -127, 127),
            torch.fake_quantize_per_tensor_affine(x.double(), 0.0311, 3, 0, 255),
            torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, 0, 100),
            torch.fake_quantize_per_channel_affine(x, self.scales, self.zero_points, 1, -128, 127),
        )


def parameters_of(module: nn.Module, x: Any) -> Parameters:
    """Scales and zero points of a network's own graph, in the types that ONNX holds them in."""
    program = torch.export.export(module, (x,))
    held = {**program.state_dict, **program.constants}
    targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs if spec.target}
    found = set()
    for node in program.graph.nodes:
        if node.op == "call_function" and "quantize_per" in str(node.target):
            kind = next(arg for arg in node.args if isinstance(arg, torch.dtype))
            for value, dtype in zip(node.args[1:3], (torch.float32, kind), strict=True):
                tensor = held[targets[value.name]] if isinstance(value, torch.fx.Node) else torch.tensor(value)
                found.add((str(dtype).removeprefix("torch."), tensor.to(dtype).numpy().tobytes()))
    return found


def parameters_in_onnx(model: Any) -> Iterator[tuple[str, bytes]]:
    for node in model.graph:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            for value in node.inputs[1:3]:
                array = value.const_value.numpy()
                yield array.dtype.name, array.tobytes()


def held_by_saved_model(folder: Path) -> set[bytes]:
    """All constants and variables."""
    import tensorflow as tf

    loaded = tf.saved_model.load(str(folder))
    function = loaded.signatures["serving_default"]
    definition = function.graph.as_graph_def()
    nodes = [node for graph in (definition, *definition.library.function) for node in getattr(graph, "node", ())]
    nodes += [node for inner in definition.library.function for node in inner.node_def]
    constants = [tf.make_ndarray(node.attr["value"].tensor) for node in nodes if node.op == "Const"]
    return {array.tobytes() for array in [*constants, *(variable.numpy() for variable in function.variables)]}


def is_faithful(report: Any) -> bool:
    return report.verdict is not None and report.verdict.value == "faithful"


@pytest.mark.parametrize("make", [calibrated, Folded])
def test_scales_and_zero_points_arrive_bit_for_bit(make: Callable[[], nn.Module], tmp_path: Path) -> None:
    module, x = make().eval(), torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(5))
    wanted = parameters_of(module, x)
    assert len(wanted) >= 6
    # On one sample: with enough others ONNX Runtime's fused integer kernels land a step away somewhere.
    sample = [{"x": x.numpy()}]
    made = trueport.convert(module, to="onnx", example_inputs=(x,), dynamic_shapes="x.0=batch", data=sample)
    assert is_faithful(made.report), str(made.report)
    assert set(parameters_in_onnx(made.model)) == wanted
    assert "on the border between two steps" in str(made.report)
    made = trueport.convert(module, to="tensorflow", example_inputs=(x,), dynamic_shapes="x.0=batch")
    assert is_faithful(made.report), str(made.report)
    made.save(tmp_path / "saved_model")
    held = held_by_saved_model(tmp_path / "saved_model")
    scales = [array for kind, array in wanted if kind == "float32"]
    assert scales and all(scale in held for scale in scales)


def test_quantized_values_stay_neighbours_of_their_way_back() -> None:
    """What runtimes look for to compute in eight bits."""
    x = torch.randn(3, 3, 8, 8)
    for module in (calibrated(), Folded()):
        graph = trueport.convert(module, to="onnx", example_inputs=(x,), verify=False).model.graph
        there = [node for node in graph if node.op_type == "QuantizeLinear"]
        assert there
        for node in there:
            assert [use.node.op_type for use in node.outputs[0].uses()] == ["DequantizeLinear"]


@pytest.mark.parametrize("to", ["onnx", "tensorflow"])
@pytest.mark.parametrize(
    ("make", "example"),
    [
        (Dynamic, (torch.randn(3, 6),)),
        (Symmetric, (torch.randn(3, 6),)),
        (Whole, (torch.randn(3, 3) * 4,)),
        (Back, (torch.arange(-128, 128).to(torch.int8), torch.arange(-5, 4000000, 100003).int())),
        (Faked, (torch.randn(4, 3) * 4,)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_form_agrees(make: Callable[[], nn.Module], example: tuple[Any, ...], to: str) -> None:
    name = "x.0=n" if make is not Back else None
    data = [{"x": example[0].numpy()}] if len(example) == 1 else None
    made = trueport.convert(make().eval(), to=to, example_inputs=example, dynamic_shapes=name, data=data)
    assert is_faithful(made.report), str(made.report)


def test_ranges_narrower_than_their_type_hold() -> None:
    """Compared with PyTorch itself, element by element: far beyond the range, and at its ends."""
    import onnxruntime as ort

    x = torch.tensor([[-1e9, -2.54, 2.54], [2.56, 1e9, -2.56], [0.0, 0.3, -0.3]])
    made = trueport.convert(Whole(), to="onnx", example_inputs=(x,), verify=False)
    session = ort.InferenceSession(_bytes(made.model))
    for got, want in zip(session.run(None, {"x": x.numpy()}), Whole()(x), strict=True):
        np.testing.assert_array_equal(got, want.numpy())


def _bytes(model: Any) -> bytes:
    import onnx_ir as ir

    return bytes(ir.to_proto(model).SerializeToString())


def test_a_file_of_a_quantized_program_in_a_fresh_process(tmp_path: Path) -> None:
    program = torch.export.export(Folded(), (torch.randn(2, 3, 8, 8),))
    torch.export.save(program, tmp_path / "net.pt2")
    words = [sys.executable, "-m", "trueport", "convert", "net.pt2", "-o", "net.onnx"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "faithful" in done.stdout
