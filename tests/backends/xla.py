"""A case of ONNX's suite compiled by XLA: the converted function inside ``tf.function(jit_compile=True)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import tensorflow as tf
from onnx import numpy_helper

from tests.conformance import suite
from trueport.backends.tensorflow.registry import registry
from trueport.ir.ports import pack, unpack
from trueport.mapping.bind import input_name
from trueport.pipeline import convert

__all__ = ["compiled", "fix_parameters"]


def compiled(name: str) -> tuple[list[Any], list[Any]]:
    """Expected outputs and those of the compiled function."""
    case = suite.cases()[name]
    model = onnx.ModelProto.FromString(suite.model_of(case).SerializeToString())
    inputs, expected = next(iter(suite.data_of(case, model)))
    held = {tensor.name for tensor in model.graph.initializer}
    feeds = dict(zip((v.name for v in model.graph.input if v.name not in held), inputs, strict=True))
    fix_parameters(model, feeds)
    built = convert(model, verify=False).built
    parts = {part: array for port in built.inputs for part, array in pack(port, feeds[port.name]).items()}
    tensors = {part: tf.constant(a, tf.string if a.dtype == object else None) for part, a in parts.items()}
    results = tf.function(lambda **given: built.traced.function(**given), jit_compile=True, autograph=False)(**tensors)
    arrays = {part: value.numpy() for part, value in results.items()}
    return expected, [unpack(port, arrays) for port in built.outputs]


def fix_parameters(model: onnx.ModelProto, feeds: dict[str, Any]) -> None:
    """Shapes, axes and the like, which models hold as constants, for XLA compiles for one shape of everything."""
    declared = {value.name: value for value in model.graph.input}
    for name, value in feeds.items():
        uses = [(node, i) for node in model.graph.node for i, given in enumerate(node.input) if given == name]
        if isinstance(value, np.ndarray) and uses and all(_is_parameter(*use) for use in uses):
            model.graph.initializer.append(numpy_helper.from_array(value, name))
            model.graph.input.remove(declared[name])


def _is_parameter(node: onnx.NodeProto, index: int) -> bool:
    mapping = registry().find(node.op_type, node.domain)
    return mapping is not None and input_name(mapping, index) in mapping.static
