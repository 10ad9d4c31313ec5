"""Loops and unrolled chains whose step is an LSTM, GRU or RNN cell become that operator.

A cell that is found leaves its loop: the loop goes when nothing else is in it, otherwise it reads the operator's
results. So cells that stand on each other in one loop are found one by one.
"""

from __future__ import annotations

import onnx_ir as ir

from trueport.ir.layouts import add_alias, identity
from trueport.ir.replace import can_take_name, replace_value
from trueport.passes.layout.workshop import Workshop
from trueport.passes.prune import prune
from trueport.passes.recognize.match import dims_of, ints_of, maker
from trueport.passes.recognize.recurrent_chains import replace_chains
from trueport.passes.recognize.recurrent_emit import Bench, is_reversal
from trueport.passes.recognize.recurrent_loops import extract_cell

__all__ = ["recognize_recurrences"]


def recognize_recurrences(model: ir.Model) -> int:
    """Replace loops by recurrent operators, in place; how many."""
    shop = Workshop(model)
    found = 0
    for graph in list(model.graphs()):
        for node in list(graph):
            loop: ir.Node | None = node if node.op_type == "Loop" and not node.domain else None
            while loop is not None:
                done, loop = extract_cell(loop, shop, model.graph)
                found += done
        found += replace_chains(graph, shop, model.graph)
    if found:
        prune(model)
        for graph in model.graphs():
            for node in list(graph):
                _read_only_row(node)
                _cancel_reversal(node, shop, model.graph)
        prune(model)
    return found


def _read_only_row(node: ir.Node) -> None:
    """The first or last of one row is that row."""
    stacked = maker(node.inputs[0], "Unsqueeze") if node.op_type == "Gather" and not node.domain else None
    axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
    if stacked is None or ints_of(stacked.inputs[1]) != [axis] or ints_of(node.inputs[1]) not in ([0], [-1]):
        return
    row = stacked.inputs[0]
    if dims_of(node.inputs[1]) == () and row is not None:
        _replace(node.outputs[0], row)


def _cancel_reversal(node: ir.Node, shop: Workshop, root: ir.Graph) -> None:
    """Reversed, its axes moved, and reversed again: only its axes are moved."""
    made = node.outputs[0] if node.op_type == "Slice" and not node.domain else None
    rank = len(dims_of(made) or ())
    axis = next((a for a in range(rank) if made is not None and is_reversal(made, a) is not None), None)
    if made is None or axis is None:
        return
    middle = is_reversal(made, axis)
    turn = maker(middle, "Transpose")
    inner = middle if turn is None else turn.inputs[0]
    perm = list(turn.attributes["perm"].as_ints()) if turn is not None else list(range(rank))
    source = None if inner is None else is_reversal(inner, perm[axis])
    if source is None:
        return
    result = source
    if turn is not None:
        bench = Bench(shop, root, node, [turn, node])
        result = bench.node("Transpose", [source], {"perm": perm}, made.name or "turned", shape=list(made.shape or ()))
    _replace(made, result)


def _replace(old: ir.Value, new: ir.Value) -> None:
    """One value in the place of another, a result of the graph under its name."""
    if not old.is_graph_output():
        replace_value(old, new, keep_name=True)
    elif can_take_name(old, new):
        add_alias(new, new.name or "", identity(len(new.shape or ())))
        replace_value(old, new)
