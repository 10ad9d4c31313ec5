"""A product of the last axis with a matrix, written as a reshape to two axes, MatMul, and a reshape back."""

from __future__ import annotations

import onnx_ir as ir

from trueport.ir.provenance import set_origins
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import dims_of, ints_of, maker, put

__all__ = ["recognize_dense"]


def recognize_dense(model: ir.Model) -> int:
    """Let MatMul work on the last axis of data of any rank, in place; how many."""
    shop = Workshop(model)
    return sum(
        _join(node, shop)
        for graph in model.graphs()
        for node in list(graph)
        if node.op_type == "Reshape" and not node.domain
    )


def _join(back: ir.Node, shop: Workshop) -> bool:
    product = maker(back.inputs[0], "MatMul")
    flat = maker(product.inputs[0], "Reshape") if product is not None else None
    data = flat.inputs[0] if flat is not None else None
    if product is None or flat is None or data is None or product.graph is not back.graph:
        return False
    if len(product.outputs[0].uses()) != 1 or product.outputs[0].is_graph_output():
        return False
    given, rows, made = dims_of(data), dims_of(flat.outputs[0]), dims_of(back.outputs[0])
    weight = dims_of(product.inputs[1])
    if given is None or rows is None or made is None or weight is None or len(weight) != 2:
        return False
    # With the same last dim the rows are all the other axes together, and with the product's last dim as well.
    keeps_last = len(rows) == 2 and given[-1] is not None and given[-1] == rows[-1]
    if not keeps_last or len(made) != len(given) or len(given) < 3 or weight[1] is None or made[-1] != weight[1]:
        return False
    copied = _copied(back.inputs[1], data)
    if not _same_but_one(given[copied:-1], made[copied:-1]):
        return False
    matrix = product.inputs[1]
    assert matrix is not None
    name = f"{back.outputs[0].name}.MatMul"
    step = shop.node("MatMul", [data, matrix], {}, name, list(made), back.outputs[0].dtype, product)
    put(shop, back, [step], product)
    set_origins(step, product)
    return True


def _same_but_one(given: tuple[int | None, ...], made: tuple[int | None, ...]) -> bool:
    """One dim that neither side knows follows from all the others, if none of these is 0."""
    open_at = [place for place, pair in enumerate(zip(given, made, strict=True)) if None in pair]
    rest = [pair for place, pair in enumerate(zip(given, made, strict=True)) if place not in open_at]
    return len(open_at) <= 1 and all(one == other and one for one, other in rest)


def _copied(shape: ir.Value | None, data: ir.Value) -> int:
    """How many of the data's own first dims a target shape begins with."""
    whole = maker(shape, "Concat")
    first = _through_casts(whole.inputs[0]) if whole is not None else None
    picked = maker(first, "Gather")
    if picked is not None:
        source, places = maker(_through_casts(picked.inputs[0]), "Shape"), ints_of(picked.inputs[1])
        in_order = places is not None and places == list(range(len(places)))
        return len(places or ()) if in_order and source is not None and _is_whole(source, data) else 0
    source = maker(first, "Shape")
    if source is None or source.inputs[0] is not data or "end" not in source.attributes:
        return 0
    start = source.attributes["start"].as_int() if "start" in source.attributes else 0
    return max(source.attributes["end"].as_int(), 0) if start == 0 else 0


def _is_whole(shape: ir.Node, data: ir.Value) -> bool:
    return shape.inputs[0] is data and not shape.attributes.keys() & {"start", "end"}


def _through_casts(value: ir.Value | None) -> ir.Value | None:
    cast = maker(value, "Cast")
    return _through_casts(cast.inputs[0]) if cast is not None else value
