"""A product of the last axis with a matrix, written as a reshape to two axes, MatMul, and a reshape back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import onnx_ir as ir

from trueport.ir.provenance import set_origins
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import dims_of, ints_of, maker, put
from trueport.passes.rewrite_rules import Rule, apply_rules

__all__ = ["DENSE", "recognize_dense"]


def recognize_dense(model: ir.Model) -> int:
    """Let MatMul work on the last axis of data of any rank, in place; return how many."""
    return apply_rules(model, DENSE)


class _Chain(NamedTuple):
    """``back(product(flat(data), matrix))``"""

    back: ir.Node
    product: ir.Node
    flat: ir.Node
    data: ir.Value
    matrix: ir.Value


def _chains(back: ir.Node) -> Iterator[_Chain]:
    product = maker(back.inputs[0], "MatMul")
    flat = maker(product.inputs[0], "Reshape") if product is not None else None
    if product is None or flat is None or flat.inputs[0] is None or product.inputs[1] is None:
        return
    yield _Chain(back, product, flat, flat.inputs[0], product.inputs[1])


def _why_not_dense(chain: _Chain) -> str | None:
    product = chain.product.outputs[0]
    if chain.product.graph is not chain.back.graph or len(product.uses()) != 1 or product.is_graph_output():
        return "the product is used elsewhere"
    given, rows, made = dims_of(chain.data), dims_of(chain.flat.outputs[0]), dims_of(chain.back.outputs[0])
    weight = dims_of(chain.matrix)
    if given is None or rows is None or made is None or weight is None or len(weight) != 2:
        return "a rank is not known, or the second operand is not a matrix"
    # With the same last dim the rows are all the other axes together, and with the product's last dim as well.
    if len(rows) != 2 or given[-1] is None or given[-1] != rows[-1]:
        return "the first reshape does not keep the last axis alone"
    if len(made) != len(given) or len(given) < 3 or weight[1] is None or made[-1] != weight[1]:
        return "the second reshape does not bring the axes of the data back"
    copied = _copied(chain.back.inputs[1], chain.data)
    if not _same_but_one(given[copied:-1], made[copied:-1]):
        return "the axes before the last one may have other lengths afterwards"
    return None


def _join(chain: _Chain, shop: Workshop) -> None:
    result = chain.back.outputs[0]
    made = dims_of(result)
    assert made is not None
    name = f"{result.name}.MatMul"
    step = shop.node("MatMul", [chain.data, chain.matrix], {}, name, list(made), result.dtype, chain.product)
    put(shop, chain.back, [step], chain.product)
    set_origins(step, chain.product)


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


DENSE = (Rule("dense", frozenset({"Reshape"}), _chains, _why_not_dense, _join),)
