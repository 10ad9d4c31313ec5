"""Faults as converters make them: each changes one node of a model, and says what the cause is to be called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from trueport.verifying.causes.quantization import SCALE, ZERO_POINT

__all__ = ["FAULTS", "Fault", "places"]

Change = Callable[[ir.Node, np.random.Generator], bool]


@dataclass(frozen=True)
class Fault:
    """``change`` edits a node in place and says whether it could."""

    name: str
    ops: frozenset[str] | None
    """operators it applies to; None for all"""
    causes: frozenset[str]
    """the kinds of causes that are right"""
    change: Change


def places(model: ir.Model, fault: Fault) -> Iterator[ir.Node]:
    """Nodes of the main graph that the fault may be put into."""
    for node in model.graph:
        if fault.ops is None or node.op_type in fault.ops:
            yield node


def _attribute(name: str, *values: Any, default: Any = None) -> Change:
    """Another value for an attribute: the first that it does not have."""

    def change(node: ir.Node, rng: np.random.Generator) -> bool:
        now = node.attributes[name].value if name in node.attributes else default
        now = list(now) if isinstance(now, (list, tuple)) else now
        other = next((value for value in values if value != now), None)
        if other is None:
            return False
        node.attributes[name] = ir.convenience.convert_attribute(name, other)
        return True

    return change


def _constant(index: int, new: Callable[[np.ndarray, np.random.Generator], np.ndarray | None]) -> Change:
    """Another value for a constant input, which other nodes keep as it is."""

    def change(node: ir.Node, rng: np.random.Generator) -> bool:
        value = node.inputs[index] if index < len(node.inputs) else None
        if value is None or value.const_value is None:
            return False
        before = np.asarray(value.const_value.numpy())
        after = new(before.copy(), rng)
        if after is None or np.array_equal(before, after):
            return False
        if len(value.uses()) > 1:
            made = ir.Value(name=f"{value.name}.faulty", type=value.type, shape=value.shape)
            made.const_value = ir.tensor(after)
            node.graph.register_initializer(made)  # type: ignore[union-attr]
            node.replace_input_with(index, made)
        else:
            value.const_value = ir.tensor(after, name=value.name)
        return True

    return change


def _operator(*others: str, keep: tuple[str, ...] = ()) -> Change:
    """Another operator in its place."""

    def change(node: ir.Node, rng: np.random.Generator) -> bool:
        other = next((op for op in others if op != node.op_type), None)
        if other is None:
            return False
        node.op_type = other
        for name in [name for name in node.attributes if name not in keep]:
            del node.attributes[name]
        return True

    return change


def _swap(node: ir.Node, rng: np.random.Generator) -> bool:
    a, b = node.inputs[0], node.inputs[1]
    if (
        a is None
        or b is None
        or (
            node.op_type == "MatMul"
            and (
                a.shape is None
                or b.shape is None
                or a.shape[-1] != b.shape[0]
                or b.shape.rank() != a.shape.rank()
                or a.shape != b.shape
            )
        )
    ):
        return False
    node.replace_input_with(0, b)
    node.replace_input_with(1, a)
    return True


def _drop_input(index: int) -> Change:
    def change(node: ir.Node, rng: np.random.Generator) -> bool:
        if index >= len(node.inputs) or node.inputs[index] is None:
            return False
        node.replace_input_with(index, None)
        return True

    return change


def _pass(index: int) -> Change:
    """The node hands on one of its inputs: a residual, a mask, an activation is lost."""

    def change(node: ir.Node, rng: np.random.Generator) -> bool:
        value = node.inputs[index] if index < len(node.inputs) else None
        out = node.outputs[0]
        if value is None or value.dtype != out.dtype or value.shape is None or value.shape != out.shape:
            return False
        node.op_type = "Identity"
        node.attributes.clear()
        for other in reversed(range(len(node.inputs))):
            if other != index:
                node.replace_input_with(other, None)
        node.replace_input_with(0, value)
        node.resize_inputs(1)
        return True

    return change


def _narrow(to: ir.DataType) -> Change:
    """The result goes through a narrower type."""

    def change(node: ir.Node, rng: np.random.Generator) -> bool:
        value = node.outputs[0]
        if value.dtype != ir.DataType.FLOAT or node.graph is None:
            return False
        name = value.name
        value.name = f"{name}.wide"
        down = ir.node("Cast", [value], {"to": int(to)}, name=f"{node.name}.down")
        up = ir.node("Cast", [down.outputs[0]], {"to": int(ir.DataType.FLOAT)}, name=f"{node.name}.up")
        down.outputs[0].name, up.outputs[0].name = f"{name}.narrow", name
        node.graph.insert_after(node, [down, up])
        up.outputs[0].type, up.outputs[0].shape = value.type, value.shape
        value.replace_all_uses_with(up.outputs[0], replace_graph_outputs=True)
        down.replace_input_with(0, value)
        return True

    return change


def _branches(node: ir.Node, rng: np.random.Generator) -> bool:
    then, other = node.attributes["then_branch"].value, node.attributes["else_branch"].value
    node.attributes["then_branch"] = ir.AttrGraph("then_branch", other)
    node.attributes["else_branch"] = ir.AttrGraph("else_branch", then)
    return True


def _stale(node: ir.Node, rng: np.random.Generator) -> bool:
    """The loop's body sees what it was started with instead of what the last step left."""
    body = node.attributes["body"].as_graph()
    state, start = body.inputs[2], node.inputs[2]
    if start is None:
        return False
    for user, index in list(state.uses()):
        user.replace_input_with(index, start)
    return True


def _pads(node: ir.Node, rng: np.random.Generator) -> bool:
    now = list(node.attributes["pads"].as_ints()) if "pads" in node.attributes else []
    if not any(now):
        return False
    half = len(now) // 2
    moved = [now[0] + 1, *now[1:half], now[half] - 1, *now[half + 1 :]]
    node.attributes["pads"] = ir.AttrInt64s("pads", moved)
    return min(moved) >= 0


def _one_element(array: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    if array.dtype.kind != "f" or array.size < 2:
        return None
    flat = array.ravel()
    flat[rng.integers(flat.size)] += np.float32(0.25)
    return flat.reshape(array.shape)


def _transposed(array: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        return None
    return np.ascontiguousarray(np.swapaxes(array, -1, -2))


def _scaled(array: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    return (array * np.float32(1 + 2.0**-6)).astype(array.dtype) if array.dtype.kind == "f" else None


def _plus_one(array: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    return (array + 1).astype(array.dtype) if array.dtype.kind in "iu" else None


def _smaller(array: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    return (array * np.float32(0.5)).astype(array.dtype) if array.dtype.kind == "f" and np.any(array) else None


def _first_plus_one(array: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    moved = array.copy().ravel()
    moved[0] += 1
    return moved.reshape(array.shape)


def _ops(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _kinds(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WEIGHTED = _ops("Conv ConvTranspose Gemm MatMul")
_ACTIVATIONS = _ops("Relu LeakyRelu Elu Selu Sigmoid Tanh HardSigmoid HardSwish Gelu Softplus Softsign")
_REDUCTIONS = _ops("ReduceMean ReduceSum ReduceMax ReduceMin ReduceL2")
_NORMS = _ops("BatchNormalization LayerNormalization InstanceNormalization")

FAULTS: tuple[Fault, ...] = (
    Fault("paddings moved", _ops("Conv AveragePool MaxPool"), _kinds("attribute"), _pads),
    Fault("epsilon", _NORMS, _kinds("attribute"), _attribute("epsilon", 1e-2, default=1e-5)),
    Fault("alpha", _ops("LeakyRelu"), _kinds("attribute"), _attribute("alpha", 0.3, 0.01, default=0.01)),
    Fault("alpha of Elu", _ops("Elu"), _kinds("attribute"), _attribute("alpha", 0.5, default=1.0)),
    Fault("alpha of HardSigmoid", _ops("HardSigmoid"), _kinds("attribute"), _attribute("alpha", 0.2, default=0.2)),
    Fault("Gemm's alpha", _ops("Gemm"), _kinds("attribute scale"), _attribute("alpha", 0.5, default=1.0)),
    Fault(
        "Softmax along another axis", _ops("Softmax LogSoftmax"), _kinds("attribute"), _attribute("axis", 0, default=-1)
    ),
    Fault("padding counted", _ops("AveragePool"), _kinds("attribute"), _attribute("count_include_pad", 1, default=0)),
    Fault(
        "coordinates",
        _ops("Resize"),
        _kinds("attribute"),
        _attribute("coordinate_transformation_mode", "asymmetric", "half_pixel", default="half_pixel"),
    ),
    Fault(
        "nearest mode",
        _ops("Resize"),
        _kinds("attribute"),
        _attribute("nearest_mode", "ceil", default="round_prefer_floor"),
    ),
    Fault("cubic coefficient", _ops("Resize"), _kinds("attribute"), _attribute("cubic_coeff_a", -0.5, default=-0.75)),
    Fault(
        "interpolation", _ops("Resize"), _kinds("attribute"), _attribute("mode", "nearest", "linear", default="nearest")
    ),
    Fault("pad mode", _ops("Pad"), _kinds("attribute"), _attribute("mode", "edge", "constant", default="constant")),
    Fault("depth order", _ops("DepthToSpace"), _kinds("attribute"), _attribute("mode", "DCR", "CRD", default="DCR")),
    Fault("GRU's reset", _ops("GRU"), _kinds("attribute"), _attribute("linear_before_reset", 0, default=0)),
    Fault("direction", _ops("GRU RNN"), _kinds("attribute"), _attribute("direction", "reverse", default="forward")),
    Fault("largest", _ops("TopK"), _kinds("attribute ties"), _attribute("largest", 0, default=1)),
    Fault("exclusive", _ops("CumSum"), _kinds("attribute"), _attribute("exclusive", 1, default=0)),
    Fault(
        "Gelu's formula", _ops("Gelu"), _kinds("attribute operator"), _attribute("approximate", "tanh", default="none")
    ),
    Fault("norm", _ops("Normalizer"), _kinds("attribute operator scale"), _attribute("norm", "L1", default="MAX")),
    Fault("transposed weight", _WEIGHTED, _kinds("weight layout"), _constant(1, _transposed)),
    Fault("one weight", _WEIGHTED | {"Gather"}, _kinds("weight"), _constant(1, _one_element)),
    Fault("one weight of a recurrence", _ops("LSTM GRU RNN"), _kinds("weight"), _constant(2, _one_element)),
    Fault("table entry", _ops("Gather"), _kinds("weight"), _constant(0, _one_element)),
    Fault("bias lost", _ops("Conv ConvTranspose Gemm"), _kinds("dropped"), _drop_input(2)),
    Fault("bias of a recurrence lost", _ops("LSTM GRU RNN"), _kinds("dropped"), _drop_input(3)),
    Fault("weight scaled", _WEIGHTED, _kinds("weight scale"), _constant(1, _scaled)),
    Fault("mean scaled", _ops("BatchNormalization"), _kinds("weight"), _constant(3, _scaled)),
    Fault(
        "scale of quantization",
        _ops("QuantizeLinear DequantizeLinear"),
        frozenset({SCALE}),
        _constant(1, _scaled),
    ),
    Fault(
        "zero point",
        _ops("QuantizeLinear DequantizeLinear MatMulInteger"),
        frozenset({ZERO_POINT}),
        _constant(2, _plus_one),
    ),
    Fault("zero point of weights", _ops("MatMulInteger"), frozenset({ZERO_POINT}), _constant(3, _plus_one)),
    Fault(
        "constant of arithmetic",
        _ops("Mul Div Add Sub Pow"),
        _kinds("weight scale constant offset"),
        _constant(1, _smaller),
    ),
    Fault("clipped lower", _ops("Clip"), _kinds("weight clip constant"), _constant(2, _smaller)),
    Fault("slice off by one", _ops("Slice"), _kinds("weight constant shape"), _constant(1, _first_plus_one)),
    Fault("float16", None, _kinds("dtype"), _narrow(ir.DataType.FLOAT16)),
    Fault("bfloat16", None, _kinds("dtype"), _narrow(ir.DataType.BFLOAT16)),
    Fault("activation", _ACTIVATIONS, _kinds("operator"), _operator("Softsign", "Tanh")),
    Fault("activation lost", _ACTIVATIONS, _kinds("operator"), _operator("Identity")),
    Fault("reduction", _REDUCTIONS, _kinds("operator"), _operator("ReduceSum", "ReduceMean", keep=("keepdims",))),
    Fault(
        "pooling",
        _ops("MaxPool"),
        _kinds("operator"),
        _operator("AveragePool", keep=("kernel_shape", "strides", "pads")),
    ),
    Fault("rounding", _ops("Round"), _kinds("rounding operator"), _operator("Floor")),
    Fault("arithmetic", _ops("Add Sub Mul Div"), _kinds("operator"), _operator("Sub", "Add")),
    Fault("residual lost", _ops("Add"), _kinds("operator dropped"), _pass(0)),
    Fault("mask ignored", _ops("Where"), _kinds("operator dropped"), _pass(1)),
    Fault("swapped", _ops("Sub Div Pow MatMul"), _kinds("swapped"), _swap),
    Fault("other branch", _ops("If"), _kinds("branch"), _branches),
    Fault("stale state", _ops("Loop"), _kinds("loop state"), _stale),
)
"""All kinds; one is put into one node per trial."""


def faulty(
    model: onnx.ModelProto, fault: Fault, index: int, seed: int
) -> tuple[onnx.ModelProto, tuple[str, ...]] | None:
    """The model with the fault in the index-th node that takes it, and what that node makes; None if none takes it."""
    changed = ir.from_proto(model)
    candidates = list(places(changed, fault))
    if index >= len(candidates):
        return None
    node = candidates[index]
    made = tuple(value.name for value in node.outputs if value.name)
    if not fault.change(node, np.random.default_rng(seed)):
        return None
    return ir.to_proto(changed), made
