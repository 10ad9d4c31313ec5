"""Nodes that do nothing are removed, paddings join the operator they pad for; every bit stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from trueport.ir.layouts import identity
from trueport.ir.provenance import set_origins
from trueport.ir.replace import remove_node, replace_value
from trueport.operators.table import OPERATORS, facts_of
from trueport.passes.layout.workshop import Workshop
from trueport.passes.pass_list import Fact, Pass
from trueport.passes.rewrite_rules import Rule, apply_rules

__all__ = ["SIMPLIFICATIONS", "SIMPLIFY", "simplify"]


def simplify(model: ir.Model) -> int:
    """Drop what does nothing and join paddings, in place; return how many nodes were removed."""
    return apply_rules(model, SIMPLIFICATIONS)


class _Pair(NamedTuple):
    """A node, and the one that makes its first input."""

    node: ir.Node
    first: ir.Node

    @property
    def between(self) -> ir.Value:
        return self.first.outputs[0]

    @property
    def data(self) -> ir.Value | None:
        return self.first.inputs[0]


def _pairs(first: str) -> Callable[[ir.Node], Iterator[_Pair]]:
    """Return the pattern of a node whose first input is made by this operator."""

    def pattern(node: ir.Node) -> Iterator[_Pair]:
        maker = node.inputs[0].producer() if node.inputs and node.inputs[0] is not None else None
        if maker is not None and maker.op_type == first and not maker.domain:
            yield _Pair(node, maker)

    return pattern


def _why_shared(pair: _Pair) -> str | None:
    """Why the first of two nodes can't be removed, if the second takes its place."""
    if pair.first.graph is not pair.node.graph:
        return f"the {pair.first.op_type} stands in another graph"
    if len(pair.between.uses()) != 1:
        return f"the result of the {pair.first.op_type} is used elsewhere"
    return (
        f"the result of the {pair.first.op_type} is an output of the graph" if pair.between.is_graph_output() else None
    )


def _idle(node: ir.Node) -> Iterator[ir.Node]:
    if node.inputs and node.inputs[0] is not None:
        yield node


def _why_not_idle(node: ir.Node) -> str | None:
    if not _IDLE[node.op_type](node):
        return "it changes its input, or is not known not to"
    if node.outputs[0].is_graph_output():
        return "its result is an output of the graph, which has a name of its own"
    is_used = any(value.uses() or value.is_graph_output() for value in node.outputs[1:])
    return "another of its results is used" if is_used else None


def _bypass(node: ir.Node, shop: Workshop) -> None:
    """Remove a node whose first output is its first input; the output's name is found through the input."""
    source = node.inputs[0]
    assert source is not None
    replace_value(node.outputs[0], source, keep_name=True)
    remove_node(node)


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


def _why_not_put_back(pair: _Pair) -> str | None:
    axes, added = _array(pair.node, 1), _array(pair.first, 1)
    if axes is None or added is None or pair.between.shape is None or pair.data is None:
        return "the axes, or the rank, are not known"
    if pair.node.outputs[0].is_graph_output():
        return "its result is an output of the graph, which has a name of its own"
    rank = pair.between.shape.rank()
    return None if sorted(axes % rank) == sorted(added % rank) else "other axes are removed than were added"


def _put_back(pair: _Pair, shop: Workshop) -> None:
    """A Squeeze of the very axes that an Unsqueeze has added gives what was before both."""
    assert pair.data is not None
    replace_value(pair.node.outputs[0], pair.data, keep_name=True)
    remove_node(pair.node)
    if not pair.between.uses() and not pair.between.is_graph_output():
        remove_node(pair.first)


def _why_not_reshaped_once(pair: _Pair) -> str | None:
    shape = _array(pair.node, 1)
    if shape is None or pair.data is None:
        return "the shape is not known"
    if 0 in shape and not _int(pair.node, "allowzero", 0):
        return "it copies a dimension from the first Reshape"
    return _why_shared(pair)


def _skip_first(pair: _Pair, shop: Workshop) -> None:
    """Let the second node read what the first reads: of two reshapes the second alone says the shape."""
    pair.node.replace_input_with(0, pair.data)
    set_origins(pair.node, pair.first, pair.node)
    remove_node(pair.first)


def _why_not_padded(pair: _Pair) -> str | None:
    if _spatial_pads(pair.first) is None:
        return "the Pad is not one of constant size around height and width"
    if _pad_value(pair.first) != facts_of(pair.node).pads_with:
        return f"the Pad has another value than {pair.node.op_type} pads with"
    if not _pads_explicitly(pair.node):
        return f"{pair.node.op_type} pads by size, rounds up, or leaves its own padding out of means"
    return _why_shared(pair)


def _join_padding(pair: _Pair, shop: Workshop) -> None:
    """A Pad with the value that an operator pads with itself becomes that operator's padding."""
    node, pads = pair.node, _spatial_pads(pair.first)
    assert pads is not None
    own = _ints(node, "pads") or (0,) * len(pads)
    node.attributes["pads"] = ir.AttrInt64s("pads", [a + b for a, b in zip(own, pads, strict=True)])
    node.attributes["auto_pad"] = ir.AttrString("auto_pad", "NOTSET")
    if node.op_type == "AveragePool":
        node.attributes["count_include_pad"] = ir.AttrInt64("count_include_pad", 1)
    _skip_first(pair, shop)


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


_PADDING = frozenset(name for (_, name), known in OPERATORS.items() if known.pads_with is not None)

SIMPLIFICATIONS = (
    Rule("idle", frozenset(_IDLE), _idle, _why_not_idle, _bypass),
    Rule("put back", frozenset({"Squeeze"}), _pairs("Unsqueeze"), _why_not_put_back, _put_back),
    Rule("reshape once", frozenset({"Reshape"}), _pairs("Reshape"), _why_not_reshaped_once, _skip_first),
    Rule("padding", _PADDING, _pairs("Pad"), _why_not_padded, _join_padding),
)

SIMPLIFY = Pass("simplify", simplify, needs=(Fact.KNOWN,), ensures=(Fact.SIMPLE,))
