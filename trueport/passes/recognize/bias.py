"""A vector that is added to a convolution's result, one number per channel, is the convolution's bias."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import onnx_ir as ir

from trueport.ir.layouts import rewrite_held
from trueport.ir.provenance import set_origins
from trueport.ir.replace import replace_node
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import behind_views, dims_of, maker, orders
from trueport.passes.rewrite_rules import Rule, apply_rules

__all__ = ["BIASES", "recognize_biases"]


def recognize_biases(model: ir.Model) -> int:
    """Join Add with the Conv or ConvTranspose before it, in place; return how many."""
    return apply_rules(model, BIASES)


class _Sum(NamedTuple):
    """A sum of a convolution's result, maybe transposed, and something else."""

    node: ir.Node
    data: ir.Value
    vector: ir.Value
    conv: ir.Node
    moved: ir.Node | None

    @property
    def steps(self) -> list[ir.Node]:
        return [step for step in (self.conv, self.moved) if step is not None]

    @property
    def bias(self) -> ir.Value | None:
        return _per_channel(self.vector, self.conv.outputs[0], self.moved)


def _sums(node: ir.Node) -> Iterator[_Sum]:
    for data, vector in orders(node):
        moved = maker(data, "Transpose")
        conv = maker(moved.inputs[0] if moved is not None else data, "Conv", "ConvTranspose")
        if conv is not None:
            yield _Sum(node, data, vector, conv, moved)


def _why_no_bias(found: _Sum) -> str | None:
    if len(found.conv.inputs) > 2:
        return "the convolution has a bias already"
    if not all(_is_only_for_this(step, found.node) for step in found.steps):
        return "the convolution's result is used elsewhere"
    bias = found.bias
    if bias is None:
        return "what is added is not a constant with one number per channel"
    if dims_of(found.node.outputs[0]) != dims_of(found.data):
        return "the sum has another shape than the convolution's result"
    cast = bias.producer()
    if cast is not None and (len(bias.uses()) != 1 or cast.graph is not found.conv.graph):
        return "the cast of the bias is used elsewhere"
    return None


def _join(found: _Sum, shop: Workshop) -> None:
    conv, bias = found.conv, found.bias
    assert bias is not None
    cast = bias.producer()
    if cast is not None:  # it is to stand before the convolution that takes it
        assert isinstance(conv.graph, ir.Graph)
        conv.graph.remove(cast)
        conv.graph.insert_before(conv, cast)
    conv.resize_inputs(3)
    conv.replace_input_with(2, bias)
    set_origins(conv, conv, found.node)
    for step in found.steps:
        rewrite_held(step.outputs[0], {})  # these aliases name the value without the bias
    replace_node(found.node, [found.data])


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


BIASES = (Rule("bias", frozenset({"Add"}), _sums, _why_no_bias, _join),)
