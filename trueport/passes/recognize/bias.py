"""A vector that is added to a convolution's result, one number per channel, is the convolution's bias."""

from __future__ import annotations

import onnx_ir as ir

from trueport.ir.layouts import rewrite_held
from trueport.ir.provenance import set_origins
from trueport.ir.replace import replace_node
from trueport.passes.recognize.match import behind_views, dims_of, maker, orders

__all__ = ["recognize_biases"]


def recognize_biases(model: ir.Model) -> int:
    """Join Add with the Conv or ConvTranspose before it, in place; how many."""
    return sum(_join(node) for graph in model.graphs() for node in list(graph) if node.op_type == "Add")


def _join(node: ir.Node) -> bool:
    if node.domain:
        return False
    for data, vector in orders(node):
        moved = maker(data, "Transpose")
        conv = maker(moved.inputs[0] if moved is not None else data, "Conv", "ConvTranspose")
        steps = [step for step in (conv, moved) if step is not None]
        if conv is None or len(conv.inputs) > 2 or not all(_is_only_for_this(step, node) for step in steps):
            continue
        bias = _per_channel(vector, conv.outputs[0], moved)
        if bias is None or dims_of(node.outputs[0]) != dims_of(data) or not _made_before(bias, conv):
            continue
        conv.resize_inputs(3)
        conv.replace_input_with(2, bias)
        set_origins(conv, conv, node)
        for step in steps:
            rewrite_held(step.outputs[0], {})  # with the bias it is no longer what these names stand for
        replace_node(node, [data])
        return True
    return False


def _is_only_for_this(step: ir.Node, node: ir.Node) -> bool:
    made = step.outputs[0]
    return step.graph is node.graph and len(made.uses()) == 1 and not made.is_graph_output()


def _per_channel(vector: ir.Value, made: ir.Value, moved: ir.Node | None) -> ir.Value | None:
    """The constant vector that broadcasts over the channels alone."""
    shape, dims, source = dims_of(vector), dims_of(made), behind_views(vector)
    if shape is None or dims is None or source is None or len(dims_of(source) or ()) != 1:
        return None
    axis = 1 if moved is None else list(moved.attributes["perm"].as_ints()).index(1)
    lifted = (1,) * (len(dims) - len(shape)) + shape
    places = [place for place, dim in enumerate(lifted) if dim != 1]
    fits = places == [axis] or (not places and len(shape) == 1 and axis == len(dims) - 1)
    return source if fits and dims_of(source) == (dims[1],) else None


def _made_before(bias: ir.Value, conv: ir.Node) -> bool:
    """See to it that a cast of the bias stands before the convolution that takes it."""
    cast = bias.producer()
    if cast is None:
        return True
    if len(bias.uses()) != 1 or cast.graph is not conv.graph or not isinstance(conv.graph, ir.Graph):
        return False
    conv.graph.remove(cast)
    conv.graph.insert_before(conv, cast)
    return True
