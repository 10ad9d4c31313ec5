"""Constant folding: what depends on constants alone is computed, so that handlers know shapes, axes and sizes.

What may be folded is chosen so that no number changes and no weight is lost:

* integers, booleans and strings: any operator whose record says so, up to a size;
* dims: a part of a shape that is known is folded though other dims are open (``Shape(x)[1]``);
* floats: only where they carry on a computation on integers (``Floor(dim * 0.5)``), and only by operators that
  IEEE 754 rounds correctly, which every runtime computes alike;
* weights (other floats, large tables): only transposed, and only when nothing else uses the weight. It stays one
  weight under its own name, and records the order that it is held in (see trueport.ir.layouts).

DequantizeLinear and QuantizeLinear of constants stay: quantization must survive. So do random operators and
control flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from trueport.ir.dtypes import BOOL, FLOATS, INTEGERS, STRINGS
from trueport.ir.layouts import compose, held_names, identity, rewrite_held
from trueport.ir.provenance import NOT_FOLDED
from trueport.ir.replace import remove_node, replace_value
from trueport.operators.record import Folding
from trueport.operators.table import facts_of
from trueport.passes.dims import OpenDims
from trueport.passes.evaluate import evaluated
from trueport.passes.result_sizes import bytes_of_result

__all__ = ["fold_constants"]

SIZE_LIMIT = 1 << 19
"""Bytes of a result that is computed here."""
WEIGHT_BYTES = 4096
"""Constants above this size are weights or tables."""

_FROM_INTEGERS = frozenset({"Cast", "ConstantOfShape"})
"""Make floats without a float among their inputs."""
_EXACT_TYPES = INTEGERS | BOOL | STRINGS
_COMPUTED = "trueport.computed"
"""Marks constants that were made here: no weights, whatever their type."""


@dataclass
class _Folding:
    """What is known of one model while it is folded."""

    model: ir.Model
    dims: OpenDims = field(default_factory=OpenDims)
    folded: int = 0


def fold_constants(model: ir.Model) -> int:
    """Fold, in place; how many nodes went. New constants may let shape inference know more: infer and call again."""
    folding = _Folding(model)
    _fold_graph(model.graph, folding)
    if folding.folded:
        RemoveUnusedNodesPass()(model)
    return folding.folded


def _fold_graph(graph: ir.Graph, folding: _Folding) -> None:
    for node in list(graph):
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                _fold_graph(attribute.as_graph(), folding)
        _fold_node(node, folding)


def _fold_node(node: ir.Node, folding: _Folding) -> None:
    folding.dims.learn(node)
    _close_shape(node, folding)
    if node.domain or any(value.is_graph_output() for value in node.outputs):
        return
    known = folding.dims.constant(node)
    if known is not None:
        _replace(node, [known], folding)
        return
    if not all(value is None or _is_constant(value) for value in node.inputs):
        return
    if not _may_compute(node, folding):
        _fold_view(node, folding)
    elif NOT_FOLDED not in node.metadata_props and (results := evaluated(node)) is not None:
        _replace(node, results, folding)


def _is_constant(value: ir.Value) -> bool:
    return value.const_value is not None and not value.is_graph_input()


def _constants(node: ir.Node) -> Iterator[ir.TensorProtocol]:
    return (value.const_value for value in node.inputs if value is not None and value.const_value is not None)


def _may_compute(node: ir.Node, folding: _Folding) -> bool:
    if any(tensor.nbytes > WEIGHT_BYTES for tensor in _constants(node) if tensor.dtype not in STRINGS):
        return False
    dtypes = [value.dtype for value in node.outputs] + [tensor.dtype for tensor in _constants(node)]
    if any(dtype is None for dtype in dtypes):
        return False
    return _folds(node, dtypes) and bytes_of_result(node, folding.model.opset_imports[""]) <= SIZE_LIMIT


def _folds(node: ir.Node, dtypes: Sequence[ir.DataType | None]) -> bool:
    folds = facts_of(node).folds
    if all(dtype in _EXACT_TYPES for dtype in dtypes):
        return folds is not Folding.NEVER
    if not all(dtype in FLOATS | _EXACT_TYPES for dtype in dtypes):
        return False
    floats = [value for value in node.inputs if value is not None and value.dtype in FLOATS]
    if not floats:
        return node.op_type in _FROM_INTEGERS
    return folds is Folding.ALWAYS and any(value.meta.get(_COMPUTED) for value in floats)


def _replace(node: ir.Node, arrays: Sequence[np.ndarray], folding: _Folding) -> None:
    for value, array in zip(node.outputs, arrays, strict=True):
        made = _constant(value, array, folding)
        made.meta[_COMPUTED] = True
        folding.dims.know(made, array)
        replace_value(value, made)
    _remove(node, folding)


def _constant(value: ir.Value, array: np.ndarray, folding: _Folding) -> ir.Value:
    """An initializer in the place, and under the name, of a computed value."""
    name, value.name = value.name or "constant", None
    return _new_initializer(name, _tensor(array, value.dtype), folding)


def _tensor(array: np.ndarray, dtype: ir.DataType | None) -> ir.TensorProtocol:
    if dtype != ir.DataType.STRING:
        return ir.tensor(array, dtype=dtype)
    encoded = np.array([item if isinstance(item, bytes) else str(item).encode() for item in array.ravel()], object)
    return ir.StringTensor(encoded.reshape(array.shape), shape=ir.Shape(array.shape))


def _new_initializer(name: str, tensor: ir.TensorProtocol, folding: _Folding) -> ir.Value:
    """In the main graph, where branches that use the same name for different things meet."""
    graph = folding.model.graph
    while name in graph.initializers:
        name += "_"
    made = ir.Value(
        name=name, shape=ir.Shape(tensor.shape.numpy()), type=ir.TensorType(tensor.dtype), const_value=tensor
    )
    graph.register_initializer(made)
    return made


def _remove(node: ir.Node, folding: _Folding) -> None:
    remove_node(node)
    folding.folded += 1


def _close_shape(node: ir.Node, folding: _Folding) -> None:
    """A computed target shape of which all dims but one are known is a constant with -1 for that one."""
    target = node.inputs[1] if node.op_type == "Reshape" and len(node.inputs) > 1 and not node.domain else None
    if target is None or _is_constant(target):
        return
    dims = folding.dims.of(target) or ()
    numbers = [dim for dim in dims if isinstance(dim, int)]
    # Only a dim may become -1: some other number could be a 0 that means "copy".
    if sum(isinstance(dim, str) for dim in dims) != 1 or len(numbers) != len(dims) - 1 or min(numbers, default=1) < 1:
        return
    array = np.array([dim if isinstance(dim, int) else -1 for dim in dims], np.int64)
    node.replace_input_with(1, _new_initializer(f"{node.outputs[0].name}.shape", ir.tensor(array), folding))
    folding.folded += 1


def _fold_view(node: ir.Node, folding: _Folding) -> None:
    """A weight that is used in one other order only is stored in that order."""
    weight = node.inputs[0] if node.op_type == "Transpose" else None
    if weight is None or weight.name is None or len(weight.uses()) != 1 or weight.is_graph_output():
        return
    tensor = weight.const_value
    assert tensor is not None
    given = node.attributes.get("perm")
    perm = tuple(given.as_ints()) if given else tuple(reversed(range(len(tensor.shape))))
    weight.shape = ir.Shape([tensor.shape.numpy()[axis] for axis in perm])
    weight.const_value = ir.LazyTensor(
        lambda: ir.tensor(np.ascontiguousarray(np.transpose(tensor.numpy(), perm)), dtype=tensor.dtype),
        dtype=tensor.dtype,
        shape=weight.shape,
        name=weight.name,
        cache=True,
    )
    made = node.outputs[0]
    before = {weight.name: identity(len(perm)), **held_names(weight)}
    rewrite_held(weight, {name: compose(order, perm) for name, order in before.items()})
    replace_value(made, weight, keep_name=True)
    _remove(node, folding)
