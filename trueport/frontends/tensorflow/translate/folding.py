"""What depends on constants alone is computed by TensorFlow itself, here, so that handlers know shapes and axes."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.texts import numpy_of
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.dtypes import is_tensor_type
from trueport.frontends.tensorflow.source.eager import run_operation
from trueport.frontends.tensorflow.source.nodes import SourceNode
from trueport.ir.build import known_array
from trueport.quoting import one_line

__all__ = ["folded", "static_value"]

SIZE_LIMIT = 1 << 16
"""Elements of a tensor that is computed here."""
_TEXT_LIMIT = 1 << 22
"""Bytes of all texts of a tensor that is computed here."""
_LONGEST_NUMBER = 400
"""Characters of a float64 that is written without an exponent."""
_NEVER_LARGER = frozenset(
    """Where Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2 ListDiff SetDiff1D NonMaxSuppressionV3 StringSplitV2
    DynamicPartition DecodeRaw StringSplit UnicodeDecode UnicodeDecodeWithOffsets""".split()  # noqa: SIM905
)
"""Operations whose results have at most as many elements as their operands have elements, or bytes of text."""
_DIMS = 16
"""Elements of a vector that TensorFlow is asked for though not all it hangs on is known: shapes, axes, sizes."""


def folded(node: SourceNode, record: Callable[[str], None]) -> list[np.ndarray] | None:
    """Return the outputs of an operation whose inputs are known constants; None where they are not.

    None too where TensorFlow cannot run it here (no kernel, arguments it refuses): ``record`` is given its reason.
    """
    outputs = node.operation.outputs
    if not outputs or not all(is_tensor_type(tensor.dtype) and not tensor.dtype.is_complex for tensor in outputs):
        return None
    if any(tensor.dtype.is_quantized for tensor in outputs):
        return None
    known = [_known(value) for value in node.inputs]
    if node.op_type == "Cast" and _may_be_quantized(node.operation.inputs[0]) and _is_scaled(outputs[0]):
        return None
    if node.inputs and all(array is not None for array in known) and _may_run(node):
        return _evaluate(node, known, record)
    return _dims_known(node)


def _may_be_quantized(tensor: Any) -> bool:
    """True for integers, but for scalars of the types that sizes have: a resize scales those, too."""
    return tensor.dtype.is_integer and not (tensor.shape.rank == 0 and tensor.dtype in (tf.int32, tf.int64))


def _is_scaled(tensor: Any) -> bool:
    """Whether all that is done with integers is to multiply them, less an offset, by what is not known: a scale.

    They are quantized numbers, and are to stay as they are stored.
    """
    users = tensor.consumers()
    return bool(users) and all(_scales(user) for user in users)


def _scales(operation: Any) -> bool:
    made = operation.outputs[0]
    if operation.type in ("Cast", "Sub"):
        return _is_scaled(made)
    unknown = any(static_value(tensor) is None for tensor in operation.inputs)
    return operation.type == "Mul" and made.dtype.is_floating and unknown


def static_value(tensor: Any) -> Any:
    """Return what TensorFlow knows of a tensor; None also for a large one, which it would fill with numbers."""
    size = tensor.shape.num_elements()
    return None if size is None or size > SIZE_LIMIT else tf.get_static_value(tensor)


def _known(value: Any) -> np.ndarray | None:
    if not isinstance(value, ir.Value) or value.meta.get("weight") or value.const_value is None:
        return None
    return known_array(value) if value.const_value.size <= SIZE_LIMIT else None


def _may_run(node: SourceNode) -> bool:
    definition = node.operation.op_def
    calls = any(a.type in ("func", "list(func)") for a in definition.attr)
    sizes = [tensor.shape.num_elements() for tensor in node.operation.outputs]
    small = all(size is None or size <= SIZE_LIMIT for size in sizes)
    return small and not definition.is_stateful and not calls


def _evaluate(node: SourceNode, known: list[Any], record: Callable[[str], None]) -> list[np.ndarray] | None:
    if not _has_small_result(node.operation, known):
        return None
    try:
        constants = [tf.constant(array, dtype=t.dtype) for array, t in zip(known, node.operation.inputs, strict=True)]
        arrays = [numpy_of(tensor.numpy()) for tensor in run_operation(node.operation, constants)]
    except Exception as error:  # a kernel may raise anything; what it cannot compute here stays in the graph
        record(f"{type(error).__name__}: {one_line(error, 200)}")
        return None
    return arrays if all(array.size <= SIZE_LIMIT for array in arrays) else None


def _has_small_result(operation: Any, known: list[Any]) -> bool:
    """True if the results are known to be small before they are computed: a few numbers can ask for gigabytes.

    TensorFlow's shape functions say so once the operands are constants; results that are sized by values are taken
    only of operations that can't give more elements than they are given.
    """
    sizes = [tensor.shape.num_elements() for tensor in operation.outputs]
    if any(size is None for size in sizes):
        with tf.Graph().as_default() as graph:
            constants = [tf.constant(array, t.dtype) for array, t in zip(known, operation.inputs, strict=True)]
            made = graph.create_op(
                operation.type, constants, [t.dtype for t in operation.outputs], attrs=dict(operation.node_def.attr)
            )
            sizes = [tensor.shape.num_elements() for tensor in made.outputs]
    if operation.type in _NEVER_LARGER:
        sizes = [0 if size is None else size for size in sizes]
    texts = any(tensor.dtype == tf.string for tensor in operation.outputs)
    longest = _longest_text(operation, known) if texts else 0
    return all(size is not None and size <= SIZE_LIMIT and size * longest <= _TEXT_LIMIT for size in sizes)


def _longest_text(operation: Any, known: list[Any]) -> float:
    """Return the bytes that one text of a result can have; infinite where nothing bounds them."""
    lengths = [len(text) for array in known if array.dtype == object for text in array.ravel()]
    longest = max(lengths, default=1)
    if operation.type == "DecodeCompressed":
        return math.inf
    if operation.type == "AsString":
        return float(max(operation.get_attr("width"), operation.get_attr("precision"), _LONGEST_NUMBER))
    if operation.type == "StaticRegexReplace":
        return (longest + 1) * (len(operation.get_attr("rewrite")) + 1)
    if operation.type == "RegexReplace":
        return (longest + 1) * (longest + 1)
    if operation.type in ("StringJoin", "ReduceJoin", "StringFormat", "UnsortedSegmentJoin"):
        names = ("separator", "template")
        between = [operation.get_attr(name) for name in names if name in operation.node_def.attr]
        return sum(lengths) + sum(len(text) * (len(lengths) + 1) for text in between)
    return 4.0 * longest  # an encoding of Unicode takes up to four bytes per character


def _dims_known(node: SourceNode) -> list[np.ndarray] | None:
    """A shape or a size that hangs on static shapes only."""
    if node.op_type == "Const":
        return None
    found = []
    for tensor in node.operation.outputs:
        size = tensor.shape.num_elements()
        if not tensor.dtype.is_integer or size is None or size > _DIMS:
            return None
        value = static_value(tensor)
        value = _part_of_shape(tensor) if value is None and node.op_type == "StridedSlice" else value
        if value is None:
            return None
        found.append(np.asarray(value))
    return found


def _part_of_shape(tensor: Any) -> np.ndarray | None:
    """Dims that are known though others of the shape they are taken from are not."""
    if tensor.shape.rank != 1:
        return None
    # Not public; the public function gives up as soon as one dim of the shape is open.
    shape = importlib.import_module("tensorflow.python.framework.tensor_util").constant_value_as_shape(tensor)
    return np.array(shape.as_list(), tensor.dtype.as_numpy_dtype) if shape.is_fully_defined() else None
