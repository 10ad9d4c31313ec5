"""Activations that are written out: GELU by the error function and by the hyperbolic tangent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import onnx_ir as ir

from trueport.ir.marks import marked
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import maker, orders, put, scalar_of
from trueport.passes.rewrite_rules import Rule, apply_rules

__all__ = ["ACTIVATIONS", "recognize_activations"]


def recognize_activations(model: ir.Model) -> int:
    """Replace the chains by operators, in place; return how many."""
    return apply_rules(model, ACTIVATIONS)


class _Product(NamedTuple):
    """``0.5 · data · weight``"""

    node: ir.Node
    data: ir.Value
    weight: ir.Value


def _half_products(node: ir.Node) -> Iterator[_Product]:
    for half, weight in orders(node):
        data = _scaled(half, 0.5)
        if data is not None:
            yield _Product(node, data, weight)


def _why_not_gelu(product: _Product) -> str | None:
    form = _form(product)
    return "the other factor is neither erfc(-x / √2) nor 1 + tanh(…) of x" if form is None else None


def _form(product: _Product) -> str | None:
    if _by_erfc(product.weight, product.data):
        return "none"
    return "tanh" if _by_tanh(product.weight, product.data) else None


def _gelu(product: _Product, shop: Workshop) -> None:
    """``0.5 · x · erfc(-x / √2)`` or ``0.5 · x · (1 + tanh(…))``."""
    result = product.node.outputs[0]
    shape = list(result.shape) if result.shape is not None else []
    attributes = {"approximate": _form(product)}
    step = shop.node("Gelu", [product.data], attributes, f"{result.name}.Gelu", shape, result.dtype, product.node)
    put(shop, product.node, [step])


def _by_erfc(weight: ir.Value, data: ir.Value) -> bool:
    operand = marked(weight, "Erfc")
    product = maker(operand, "Mul")
    for one, other in orders(product) if product is not None else ():
        negative = maker(one, "Neg")
        if negative is not None and negative.inputs[0] is data and _is(other, math.sqrt(0.5)):
            return True
    return False


def _by_tanh(weight: ir.Value, data: ir.Value) -> bool:
    """``1 + tanh(√(2/π) · (x + 0.044715 · x³))``"""
    shifted = _plus(weight, 1.0)
    tanh = maker(shifted, "Tanh") if shifted is not None else None
    inner = _scaled(tanh.inputs[0], math.sqrt(2 / math.pi)) if tanh is not None else None
    total = maker(inner, "Add")
    for one, other in orders(total) if total is not None else ():
        cube = _scaled(other, 0.044715)
        power = maker(cube, "Pow")
        if one is data and power is not None and power.inputs[0] is data and _is(power.inputs[1], 3.0):
            return True
    return False


def _scaled(value: ir.Value | None, factor: float) -> ir.Value | None:
    return _with(value, "Mul", factor)


def _plus(value: ir.Value | None, number: float) -> ir.Value | None:
    return _with(value, "Add", number)


def _with(value: ir.Value | None, operator: str, number: float) -> ir.Value | None:
    """The other operand where one is this number."""
    node = maker(value, operator)
    return next((other for one, other in orders(node) if _is(one, number)), None) if node is not None else None


def _is(value: ir.Value | None, number: float) -> bool:
    """Whether a constant is the number, as exactly as its type can say it."""
    found = scalar_of(value)
    if found is None or value is None or value.dtype is None:
        return False
    return found == float(value.dtype.numpy().type(number))


ACTIVATIONS = (Rule("gelu", frozenset({"Mul"}), _half_products, _why_not_gelu, _gelu),)
