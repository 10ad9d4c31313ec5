"""Nodes that do nothing go, paddings join the operator they pad for; every bit stays as it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

from trueport.ir.layouts import identity
from trueport.ir.provenance import set_origins
from trueport.ir.replace import remove_node, replace_value

__all__ = ["simplify"]


def simplify(model: ir.Model) -> int:
    """Drop what does nothing and fuse paddings, in place; how many nodes went."""
    gone = 0
    for graph in model.graphs():
        for node in list(graph):
            gone += _bypass(node) or _puts_back(node) or _join_reshapes(node) or _join_padding(node)
    return gone


def _bypass(node: ir.Node) -> bool:
    """Remove a node whose first output is its first input; the output's name is found through the input."""
    does_nothing = _IDLE.get(node.op_type) if not node.domain else None
    source = node.inputs[0] if node.inputs else None
    if does_nothing is None or source is None or not does_nothing(node):
        return False
    made = node.outputs[0]
    if made.is_graph_output() or any(value.uses() or value.is_graph_output() for value in node.outputs[1:]):
        return False
    replace_value(made, source, keep_name=True)
    remove_node(node)
    return True


def _dims(value: ir.Value | None) -> tuple[int | str, ...] | None:
    """Dims that are numbers or named; None as soon as one is open."""
    if value is None or value.shape is None:
        return None
    dims = [dim if isinstance(dim, int) else dim.value for dim in value.shape]
    named = tuple(dim for dim in dims if dim is not None)
    return named if len(named) == len(dims) else None


def _array(node: ir.Node, index: int) -> np.ndarray | None:
    """A constant input."""
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None or value.const_value is None or value.is_graph_input():
        return None
    return np.asarray(value.const_value.numpy())


def _absent(node: ir.Node, index: int) -> bool:
    return index >= len(node.inputs) or node.inputs[index] is None


def _int(node: ir.Node, name: str, default: int) -> int:
    return node.attributes[name].as_int() if name in node.attributes else default


def _ints(node: ir.Node, name: str) -> tuple[int, ...] | None:
    return tuple(node.attributes[name].as_ints()) if name in node.attributes else None


def _text(node: ir.Node, name: str, default: str) -> str:
    return node.attributes[name].as_string() if name in node.attributes else default


def _same_shape(node: ir.Node) -> bool:
    dims = _dims(node.inputs[0])
    return dims is not None and dims == _dims(node.outputs[0])


def _same_type(node: ir.Node) -> bool:
    source = node.inputs[0]
    return source is not None and source.dtype is not None and source.dtype == node.outputs[0].dtype


def _not_training(node: ir.Node) -> bool:
    mode = _array(node, 2)
    return _absent(node, 2) or (mode is not None and not mode.any())


def _in_order(node: ir.Node) -> bool:
    perm = _ints(node, "perm")
    source = node.inputs[0]
    rank = source.shape.rank() if source is not None and source.shape is not None else None
    return perm == identity(len(perm)) if perm else rank in (0, 1)


def _pads_nothing(node: ir.Node) -> bool:
    pads = _array(node, 1)
    return pads is not None and not pads.any()


_IDLE: Mapping[str, Callable[[ir.Node], bool]] = MappingProxyType(
    {
        "Cast": _same_type,
        "Dropout": _not_training,
        "Expand": _same_shape,
        "Identity": lambda node: True,
        "Pad": _pads_nothing,
        "Reshape": _same_shape,
        "Transpose": _in_order,
    }
)
"""When an operator does nothing."""


def _puts_back(node: ir.Node) -> bool:
    """A Squeeze of the very axes that an Unsqueeze has added gives what was before both."""
    source = node.inputs[0] if node.inputs and node.op_type == "Squeeze" else None
    first = source.producer() if source is not None else None
    if source is None or first is None or first.op_type != "Unsqueeze" or source.shape is None:
        return False
    made, rank = node.outputs[0], source.shape.rank()
    axes, added = _array(node, 1), _array(first, 1)
    if axes is None or added is None or first.inputs[0] is None or made.is_graph_output():
        return False
    if sorted(axes % rank) != sorted(added % rank):
        return False
    replace_value(made, first.inputs[0], keep_name=True)
    remove_node(node)
    if not source.uses() and not source.is_graph_output():
        remove_node(first)
    return True


def _join_reshapes(node: ir.Node) -> bool:
    """The second of two reshapes alone says the shape, if it copies no dim from the first."""
    source = node.inputs[0] if node.inputs and node.op_type == "Reshape" else None
    first = source.producer() if source is not None else None
    if first is None or first.op_type != "Reshape" or (shape := _array(node, 1)) is None:
        return False
    data = first.inputs[0]
    copies = 0 in shape and not _int(node, "allowzero", 0)
    if copies or data is None or first.graph is not node.graph or len(first.outputs[0].uses()) != 1:
        return False
    if first.outputs[0].is_graph_output():
        return False
    node.replace_input_with(0, data)
    set_origins(node, first, node)
    remove_node(first)
    return True


def _join_padding(node: ir.Node) -> bool:
    """A Pad with the value that an operator pads with itself becomes that operator's padding."""
    neutral = _PADDED_WITH.get(node.op_type) if not node.domain else None
    pad = node.inputs[0].producer() if neutral is not None and node.inputs[0] is not None else None
    if neutral is None or pad is None or pad.op_type != "Pad" or pad.graph is not node.graph:
        return False
    made = pad.outputs[0]
    pads = _spatial_pads(pad)
    if pads is None or _pad_value(pad) != neutral or len(made.uses()) != 1 or made.is_graph_output():
        return False
    if not _pads_explicitly(node):
        return False
    own = _ints(node, "pads") or (0,) * len(pads)
    node.attributes["pads"] = ir.AttrInt64s("pads", [a + b for a, b in zip(own, pads, strict=True)])
    node.attributes["auto_pad"] = ir.AttrString("auto_pad", "NOTSET")
    if node.op_type == "AveragePool":
        node.attributes["count_include_pad"] = ir.AttrInt64("count_include_pad", 1)
    node.replace_input_with(0, pad.inputs[0])
    set_origins(node, pad, node)
    remove_node(pad)
    return True


_PADDED_WITH: Mapping[str, float] = MappingProxyType({"AveragePool": 0.0, "Conv": 0.0, "MaxPool": -math.inf})


def _pads_explicitly(node: ir.Node) -> bool:
    """Whether adding to ``pads`` means the same as padding before: not with rounding up or padding by size."""
    if _text(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID") or _int(node, "ceil_mode", 0):
        return False
    if node.op_type != "AveragePool":
        return True
    return not any(_ints(node, "pads") or ()) or bool(_int(node, "count_include_pad", 0))


def _spatial_pads(pad: ir.Node) -> tuple[int, ...] | None:
    """Begins and ends of the axes after batch and channel; None when others are padded, or anything is cropped."""
    pads, source = _array(pad, 1), pad.inputs[0]
    if pads is None or source is None or source.shape is None or _text(pad, "mode", "constant") != "constant":
        return None
    rank = source.shape.rank()
    axes = list(range(rank)) if _absent(pad, 3) else _array(pad, 3)
    if axes is None or rank < 3:
        return None
    begins, ends = np.zeros(rank, np.int64), np.zeros(rank, np.int64)
    begins[list(axes)], ends[list(axes)] = pads[: len(axes)], pads[len(axes) :]
    if begins.min() < 0 or ends.min() < 0 or begins[:2].any() or ends[:2].any():
        return None
    return (*begins[2:].tolist(), *ends[2:].tolist())


def _pad_value(pad: ir.Node) -> float | None:
    value = np.zeros(()) if _absent(pad, 2) else _array(pad, 2)
    return None if value is None or value.dtype.kind not in "fi" else float(value.ravel()[0])
