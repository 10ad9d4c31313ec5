"""LpPool and GlobalLpPool took a real exponent before 2."""

from __future__ import annotations

from math import prod
from typing import Any

from onnx_ir import Value

from trueport.errors import InvalidModel
from trueport.ir.places import place
from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("LpPool", 1, 2)
def lp_pool_1_to_2(op: AdapterBuilder, X: Value, *, p: float, kernel_shape: list[int] | None, **attributes: Any) -> Any:
    """A whole exponent stays; with another one the sum is taken as an average times its count."""
    if kernel_shape is None:
        raise InvalidModel("has no kernel_shape", where=place(op.node), remedy="give the node its kernel_shape")
    if p == int(p):
        return op.again(X, p=int(p), kernel_shape=kernel_shape, **attributes)
    mean = op.at(7).AveragePool(_power(op, op.Abs(X), p), kernel_shape=kernel_shape, count_include_pad=1, **attributes)
    return _power(op, op.at(7).Mul(mean, op.like(prod(kernel_shape), X)), 1 / p)


@upgrades("GlobalLpPool", 1, 2)
def global_lp_pool_1_to_2(op: AdapterBuilder, X: Value, *, p: float) -> Any:
    """A whole exponent stays; with another one the sum is taken as an average times its count."""
    if p == int(p):
        return op.again(X, p=int(p))
    mean = op.GlobalAveragePool(_power(op, op.Abs(X), p))
    count = op.at(7).Div(op.Size(X), op.Size(mean))
    return _power(op, op.at(7).Mul(mean, op.at(15).CastLike(count, X)), 1 / p)


def _power(op: AdapterBuilder, value: Value, exponent: float) -> Value:
    return op.at(13).Pow(value, op.const(exponent, "float32"))
