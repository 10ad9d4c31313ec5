"""Errors of the passes: what has no form at an older opset, and models that were edited into something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx_ir as ir
import tensorflow as tf

import trueport
from tests.errors.case import Case, cli
from tests.errors.cases_files import parsed
from trueport import maps, surgery

__all__ = ["CASES"]

_D = ir.DataType
_PIXELS = (1, 1, 2, 2)


def _lowered(name: str, build: Callable[[Any, Any], Any], opset: int = 13, shape: tuple[int, ...] = (4,)) -> Case:
    """A TensorFlow function whose one operation a user's handler translates: by any nodes that ONNX has."""

    def provoke() -> None:
        def sin(t: Any, x: Any) -> Any:
            return t.op.Reshape(t.op.Cast(build(t.op, x), to=_D.FLOAT), t.op.Shape(x))

        mine = ModuleType(__name__)
        vars(mine).update(sin=maps("Sin", domain="tf")(sin))
        source = tf.function(lambda x: tf.sin(x, name="mine"), input_signature=[tf.TensorSpec(shape, name="x")])
        trueport.convert_file(source, "made.onnx", opset=opset, ops=[mine], verify=False)

    return Case(name, provoke)


def _rankless(op: Any, x: Any) -> Any:
    return op.Reshape(x, op.Squeeze(op.NonZero(x), [0]))


def _axis_of_data(op: Any, x: Any) -> Any:
    return op.DFT(op.Reshape(x, [1, 4, 1]), None, op.Cast(op.ReduceSum(x, keepdims=0), to=_D.INT64))


def _open_length(op: Any, x: Any) -> Any:
    return op.DFT(op.Unsqueeze(op.Cast(op.Transpose(op.NonZero(x)), to=_D.FLOAT), [0]))


def _long(op: Any, x: Any) -> Any:
    return op.DFT(op.Reshape(x, [1, 4, 1]), op.const(np.int64(1 << 22)))


def _complex_frames(op: Any, x: Any) -> Any:
    return op.STFT(op.Reshape(x, [1, 2, 2]), op.const(np.int64(1)), None, op.const(np.int64(2)), onesided=0)


def _joined_words(op: Any, x: Any) -> Any:
    words = op.Cast(x, to=_D.STRING)
    return op.ScatterND(words, op.const(np.array([[1], [1], [2], [3]])), words, reduction="add")


def _bits(op: Any, x: Any) -> Any:
    return op.BitCast(x, to=_D.INT32)


def _bits_twice(op: Any, x: Any) -> Any:
    return op.Add(_bits(op, x), _bits(op, op.Neg(x)))


def _table(op: Any, x: Any) -> Any:
    numbers, nothing = ir.tensor(np.array([1.0, 2.0])), ir.tensor(np.array([0.0]))
    tables = {"keys_tensor": numbers, "values_tensor": numbers, "default_tensor": nothing}
    return op.LabelEncoder(op.Cast(x, to=_D.DOUBLE), domain="ai.onnx.ml", **tables)


def _pooled(op: Any, x: Any) -> Any:
    image = op.Reshape(x, [1, 1, 2, 4])
    return op.MaxPool(image, kernel_shape=[2, 2], strides=[3, 3], pads=[0, 0, 1, 0], ceil_mode=1)


def _precise(op: Any, x: Any) -> Any:
    return op.QuantizeLinear(x, np.float32(1), np.uint8(0), precision=_D.FLOAT16)


def _blocks_of_float8(op: Any, x: Any) -> Any:
    return op.QuantizeLinear(x, np.ones(2, np.float32), np.zeros(2, _D.FLOAT8E5M2.numpy()), block_size=2)


def _rankless_scale(op: Any, x: Any) -> Any:
    return op.DequantizeLinear(op.Cast(x, to=_D.INT16), _rankless(op, x), block_size=2)


def _volume(op: Any, x: Any) -> Any:
    return op.GridSample(op.Reshape(x, [1, 1, 1, 2, 2]), np.zeros([1, 1, 2, 2, 3], np.float32))


def _regions(op: Any, x: Any) -> Any:
    return op.RoiAlign(op.Reshape(x, _PIXELS), np.zeros([1, 4], np.float32), np.zeros(1, np.int64))


def _scaled(**attributes: Any) -> Callable[[Any, Any], Any]:
    scales = np.array([1, 1, 0.5, 0.5], np.float32)
    return lambda op, x: op.Resize(op.Reshape(x, _PIXELS), None, scales, **attributes)


def _sized(op: Any, x: Any) -> Any:
    wish = {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}
    return op.Resize(op.Reshape(x, _PIXELS), None, None, [3, 3], **wish)


def _scattered(op: Any, x: Any) -> Any:
    return op.ScatterND(x, op.NonZero(x), np.ones([1], np.float32), reduction="add")


def _deformed(op: Any, x: Any) -> Any:
    offsets = np.ones([1, 2, 2, 2], np.float32)
    return op.DeformConv(op.Reshape(x, _PIXELS), np.ones([1, 1, 1, 1], np.float32), offsets)


def _unlike_branches(op: Any, x: Any) -> Any:
    """A choice between one value and two."""
    sides = [op.inside(), op.inside()]
    for count, side in enumerate(sides, 1):
        side.graph.outputs.extend(side.Identity(x) for _ in range(count))
    return op.If(op.const(np.array(True)), then_branch=sides[0].graph, else_branch=sides[1].graph)


def _without_kernels(op: Any, x: Any) -> Any:
    square = op.Reshape(op.Cast(x, to=_D.DOUBLE), [2, 2])
    return op.Add(op.Det(square), op.Det(op.Neg(square)))


_TWO = "(float[3] x) => (float[3] y) { t = Relu(x) y = Neg(t) }"


def _edited(name: str, change: Callable[[ir.Model], object], text: str = _TWO, ml: int = 4) -> Case:
    """A model that was changed in memory, where ONNX's checker does not look again."""

    def provoke() -> None:
        model = surgery.open(parsed(text, ml=ml)(Path()))
        change(model)
        trueport.convert(model, to="tensorflow", verify=False)

    return Case(f"edited-{name}", provoke)


def _first(model: ir.Model) -> ir.Node:
    return next(iter(model.graph))


def _other_domain(model: ir.Model) -> None:
    _first(model).domain = "com.other"


def _one_attribute_more(model: ir.Model) -> None:
    _first(model).attributes.add(ir.AttrInt64("slope", 1))


def _one_input_more(model: ir.Model) -> None:
    _first(model).resize_inputs(2)
    _first(model).replace_input_with(1, model.graph.inputs[0])


def _one_body_input_more(model: ir.Model) -> None:
    more = ir.Value(name="more", type=ir.TensorType(_D.FLOAT), shape=ir.Shape([2]))
    _first(model).attributes["body"].as_graph().inputs.append(more)


def _backwards(model: ir.Model) -> None:
    first, second = model.graph
    model.graph.remove(first)
    model.graph.insert_after(second, first)


def _without_data(model: ir.Model) -> None:
    model.graph.initializers["w"].const_value = None


def _neither_labels_nor_numbers(model: ir.Model) -> None:
    model.graph.inputs[0].type = ir.TensorType(_D.FLOAT)
    _first(model).outputs[0].type = None


_POOL = "(float[1,1,4] x) => (float[M] y) { y = LpPool(x) }"
_GELU = "(float[3] x) => (float[3] y) { y = Gelu(x) }"
_CAST = "(float[3] x) => (double[3] y) { y = Cast<to=11>(x) }"
_WEIGHTED = "(float[3] x) => (float[3] y) <float[3] w = {1.0, 2.0, 3.0}> { y = Add(x, w) }"
_LABELS = """(string[3] x) => (int64[3] y) {
  l = ai.onnx.ml.LabelEncoder<classes_strings=["a"]>(x) y = Neg(l)
}"""
_LOOP = """(float[2] x, int64 n) => (float[2] y) {
  y = Loop(n, , x) <body = g (int64 i, bool c, float[2] s) => (bool d, float[2] r) { d = Identity(c) r = Relu(s) }>
}"""

CASES = [
    _lowered("opset-needs-the-rank", lambda op, x: op.DFT(_rankless(op, x)), 19),
    _lowered("opset-needs-the-rank-of-the-scale", _rankless_scale, 19),
    _lowered("opset-needs-the-last-dim", _scattered),
    _lowered("opset-needs-the-length", _open_length),
    _lowered("opset-needs-a-constant", _axis_of_data, 19),
    _lowered("opset-lacks-the-operator", _deformed),
    _lowered("opset-lacks-bits", _bits),
    _lowered("opset-lacks-two-nodes", _bits_twice),
    _lowered("opset-lacks-joined-strings", _joined_words),
    _lowered("opset-lacks-tables", _table),
    _lowered("opset-lacks-pooling", _pooled, shape=(8,)),
    _lowered("opset-lacks-precision", _precise, 21),
    _lowered("opset-lacks-quantized-type", _blocks_of_float8, 19),
    _lowered("opset-lacks-volumes", _volume, 16),
    _lowered("opset-lacks-half-pixels", _regions),
    _lowered("opset-lacks-symmetric-resize", _scaled(coordinate_transformation_mode="half_pixel_symmetric")),
    _lowered("opset-lacks-antialias", _scaled(mode="linear", antialias=1)),
    _lowered("opset-lacks-aspect-ratio", _sized),
    _lowered("opset-lacks-long-transforms", _long),
    _lowered("opset-lacks-complex-frames", _complex_frames),
    _lowered("handler-makes-no-onnx", lambda op, x: op.MatMul(x, np.ones(3, np.float32))),
    _lowered("handler-makes-no-valid-model", _unlike_branches),
    _lowered("handler-makes-what-does-not-run", lambda op, x: op.Bend(x, domain="com.acme")),
    _lowered("handler-makes-what-no-kernel-has", _without_kernels),
    Case("old-pool-without-a-window", lambda: cli("convert", parsed(_POOL, 1)(Path()), "-o", "saved")),
    _edited("opset", lambda model: model.opset_imports.update({"": 6}), _GELU),
    _edited("domain", _other_domain),
    _edited("attribute-unknown", _one_attribute_more),
    _edited("attribute-missing", lambda model: _first(model).attributes.pop("to"), _CAST),
    _edited("input-missing", lambda model: _first(model).replace_input_with(0, None), _CAST),
    _edited("input-too-many", _one_input_more),
    _edited("body-input-too-many", _one_body_input_more, _LOOP),
    _edited("order", _backwards),
    _edited("weight-without-data", _without_data, _WEIGHTED),
    _edited("labels", _neither_labels_nor_numbers, _LABELS, ml=1),
]
