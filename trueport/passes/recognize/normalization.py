"""Batch, layer and RMS normalizations that are written out as sums and products.

Keras writes ``x · f + (b - m · f)`` with ``f = g / sqrt(v + ε)``. With constants along one axis for all of g, b, m, v
that is a BatchNormalization in inference; with the mean and the variance of x itself along its last axes it is a
LayerNormalization. The operator takes the very weights that the chain took.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from trueport.ir.dtypes import numpy_dtype
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import behind_views, dims_of, ints_of, maker, orders, put, scalar_of
from trueport.passes.rewrite_rules import Rule, apply_rules

__all__ = ["NORMALIZATIONS", "recognize_normalizations"]


@dataclass(frozen=True)
class _Factor:
    """``scale / sqrt(spread + epsilon)``"""

    scale: ir.Value | None
    spread: ir.Value
    epsilon: float


@dataclass(frozen=True)
class _Affine:
    """``data · factor + bias - mean · factor``"""

    node: ir.Node
    data: ir.Value
    factor: _Factor
    bias: ir.Value | None
    mean: ir.Value


def recognize_normalizations(model: ir.Model) -> int:
    """Replace the chains by operators, in place; return how many."""
    return apply_rules(model, NORMALIZATIONS)


def _affine_forms(node: ir.Node) -> Iterator[_Affine]:
    """The ways to read an Add as a normalization; at most one leads on."""
    for scaled, shift in orders(node):
        product = maker(scaled, "Mul")
        if product is None:
            continue
        for data, by in orders(product):
            factor = _factor(by)
            moved = _shift(shift, by) if factor else None
            if factor is not None and moved is not None:
                yield _Affine(node, data, factor, *moved)


def _factor(value: ir.Value) -> _Factor | None:
    root = _inverse_root(value)
    if root is not None:
        return _Factor(None, *root)
    product = maker(value, "Mul")
    for one, other in orders(product) if product is not None else ():
        root = _inverse_root(one)
        if root is not None:
            return _Factor(other, *root)
    return None


def _inverse_root(value: ir.Value) -> tuple[ir.Value, float] | None:
    """What and ε in ``1 / sqrt(what + ε)``."""
    inverse = maker(value, "Reciprocal")
    root = maker(inverse.inputs[0], "Sqrt") if inverse is not None else None
    total = maker(root.inputs[0], "Add") if root is not None else None
    for spread, number in orders(total) if total is not None else ():
        epsilon = scalar_of(number)
        # The operators hold ε in single precision: that of a double-precision model may not be one.
        if epsilon is not None and epsilon == float(np.float32(epsilon)) and scalar_of(spread) is None:
            return spread, epsilon
    return None


def _shift(value: ir.Value, factor: ir.Value) -> tuple[ir.Value | None, ir.Value] | None:
    """Bias and mean in ``bias - mean · factor``, however it is written."""
    whole = _negated_mean(value, factor)
    if whole is not None:
        return None, whole
    difference = maker(value, "Sub")
    if difference is not None:
        product = maker(difference.inputs[1], "Mul")
        mean = _other(product, factor) if product is not None else None
        return None if mean is None else (difference.inputs[0], mean)
    total = maker(value, "Add")
    for one, bias in orders(total) if total is not None else ():
        mean = _negated_mean(one, factor)
        if mean is not None:
            return bias, mean
    return None


def _negated_mean(value: ir.Value, factor: ir.Value) -> ir.Value | None:
    """The mean in ``(-mean) · factor`` or ``-(mean · factor)``."""
    negative = maker(value, "Neg")
    product = maker(negative.inputs[0] if negative is not None else value, "Mul")
    mean = _other(product, factor) if product is not None else None
    if mean is None or negative is not None:
        return mean
    inner = maker(mean, "Neg")
    return inner.inputs[0] if inner is not None else None


def _other(product: ir.Node, operand: ir.Value) -> ir.Value | None:
    return next((other for one, other in orders(product) if one is operand), None)


def _why_not_batch(form: _Affine) -> str | None:
    dims = dims_of(form.data)
    spread = _vector(form.factor.spread, dims)
    if dims is None or spread is None:
        return "the variance is not a constant vector along one axis of the data"
    given = [_vector(value, dims) for value in (form.factor.scale, form.bias, form.mean) if value is not None]
    if any(item is None or item[1] != spread[1] for item in given):
        return "scale, bias or mean is not a constant vector along the axis of the variance"
    if spread[1] == 0:
        return "it normalizes along the batch"
    return None if dims_of(form.node.outputs[0]) == dims else "the result has another shape than the data"


def _batch(form: _Affine, shop: Workshop) -> None:
    node, dims = form.node, dims_of(form.data)
    spread = _vector(form.factor.spread, dims)
    assert dims is not None and spread is not None
    axis = spread[1]
    graph = spread[0].graph if isinstance(spread[0].graph, ir.Graph) else node.graph
    assert isinstance(graph, ir.Graph) and form.data.dtype is not None
    parameters = []
    for value, missing in ((form.factor.scale, 1), (form.bias, 0), (form.mean, 0)):
        known = _vector(value, dims) if value is not None else None
        array = np.full(dims[axis] or 1, missing, numpy_dtype(form.data.dtype))
        parameters.append(known[0] if known else shop.constant(graph, f"{node.outputs[0].name}.{missing}s", array))
    steps = []
    data, rank = form.data, len(dims)
    there = [0, axis, *(place for place in range(1, rank) if place != axis)]
    if axis != 1:
        steps.append(_step(shop, "Transpose", [data], {"perm": there}, node, [dims[place] for place in there]))
        data = steps[-1].outputs[0]
    attributes = {"epsilon": form.factor.epsilon}
    shape = [dims[place] for place in there]
    steps.append(_step(shop, "BatchNormalization", [data, *parameters, spread[0]], attributes, node, shape))
    if axis != 1:
        back = [there.index(place) for place in range(rank)]
        steps.append(_step(shop, "Transpose", [steps[-1].outputs[0]], {"perm": back}, node, dims))
    put(shop, node, steps)


def _vector(value: ir.Value, dims: tuple[int | None, ...] | None) -> tuple[ir.Value, int] | None:
    """A constant vector along one axis of the data, and the axis."""
    shape, source = dims_of(value), behind_views(value)
    if dims is None or shape is None or source is None or len(dims_of(source) or ()) != 1 or len(shape) > len(dims):
        return None
    lifted = (1,) * (len(dims) - len(shape)) + shape
    size = dims_of(source)
    places = [place for place, dim in enumerate(lifted) if dim != 1] or ([len(dims) - 1] if len(shape) == 1 else [])
    return (source, places[0]) if len(places) == 1 and size == (dims[places[0]],) else None


def _why_not_layer(form: _Affine) -> str | None:
    dims = dims_of(form.data)
    axis = _normalized_from(form, dims)
    if dims is None or axis is None:
        return "mean and variance are not the data's own along its last axes"
    if None in dims[axis:]:
        return "the length of a normalized axis is not known"
    wanted = tuple(dims[axis:])
    if any(value is not None and _of_shape(value, wanted) is None for value in (form.factor.scale, form.bias)):
        return "scale or bias is not a constant of the shape of the normalized axes"
    return None


def _layer(form: _Affine, shop: Workshop) -> None:
    node, dims = form.node, dims_of(form.data)
    axis = _normalized_from(form, dims)
    assert isinstance(node.graph, ir.Graph) and form.data.dtype is not None and dims is not None and axis is not None
    wanted = tuple(dims[axis:])
    scale, bias = (_of_shape(value, wanted) for value in (form.factor.scale, form.bias))
    if scale is None:
        ones = np.ones([dim or 0 for dim in wanted], numpy_dtype(form.data.dtype))
        scale = shop.constant(node.graph, f"{node.outputs[0].name}.ones", ones)
    attributes = {"axis": axis - len(dims), "epsilon": form.factor.epsilon}
    inputs = [form.data, scale, *([bias] if bias is not None else [])]
    put(shop, node, [_step(shop, "LayerNormalization", inputs, attributes, node, dims)])


def _normalized_from(form: _Affine, dims: tuple[int | None, ...] | None) -> int | None:
    """The first of the last axes, if mean and variance are the data's own along these."""
    variance, mean = maker(form.factor.spread, "ReduceMean"), maker(form.mean, "ReduceMean")
    if variance is None or mean is None or dims is None or mean.inputs[0] is not form.data:
        return None
    axes = _last_axes(mean, len(dims))
    square = maker(variance.inputs[0], "Mul")
    if (
        axes is None
        or axes != _last_axes(variance, len(dims))
        or square is None
        or square.inputs[0] is not square.inputs[1]
    ):
        return None
    centred = maker(square.inputs[0], "Sub")
    return axes if centred is not None and list(centred.inputs) == [form.data, form.mean] else None


def _last_axes(node: ir.Node, rank: int) -> int | None:
    """From which axis on a reduction goes, if it is over all from there and keeps them as unit axes."""
    axes = ints_of(node.inputs[1]) if len(node.inputs) > 1 else None
    kept = node.attributes["keepdims"].as_int() if "keepdims" in node.attributes else 1
    places = sorted(axis % rank for axis in axes) if axes else []
    return places[0] if kept and places and places == list(range(places[0], rank)) else None


def _of_shape(value: ir.Value | None, wanted: tuple[int | None, ...]) -> ir.Value | None:
    """The constant behind a weight that is broadcast over the axes before."""
    source = behind_views(value) if value is not None else None
    shape = dims_of(value)
    lasts = shape is not None and (*(1,) * (len(shape) - len(wanted)), *wanted) == shape
    return source if lasts and dims_of(source) == wanted else None


class _Scaled(NamedTuple):
    """``data / sqrt(mean(data²) + epsilon) · scale``"""

    node: ir.Node
    data: ir.Value
    scale: ir.Value
    mean: ir.Node
    epsilon: float
    dims: tuple[int | None, ...]


def _root_mean_squares(node: ir.Node) -> Iterator[_Scaled]:
    for normal, scale in orders(node):
        product = maker(normal, "Mul")
        for data, by in orders(product) if product is not None else ():
            root = _inverse_root(by)
            mean = maker(root[0], "ReduceMean") if root is not None else None
            square = maker(mean.inputs[0], "Mul") if mean is not None else None
            dims = dims_of(data)
            if root is not None and mean is not None and square is not None and set(square.inputs) == {data} and dims:
                yield _Scaled(node, data, scale, mean, root[1], dims)


def _why_not_root_mean_square(found: _Scaled) -> str | None:
    axis = _last_axes(found.mean, len(found.dims))
    if axis is None:
        return "the mean is not over the last axes"
    is_weight = _of_shape(found.scale, found.dims[axis:]) is not None
    return None if is_weight else "the scale is not a constant of the shape of the normalized axes"


def _root_mean_square(found: _Scaled, shop: Workshop) -> None:
    axis = _last_axes(found.mean, len(found.dims))
    assert axis is not None
    weight = _of_shape(found.scale, found.dims[axis:])
    assert weight is not None
    attributes = {"axis": axis - len(found.dims), "epsilon": found.epsilon}
    step = _step(shop, "RMSNormalization", [found.data, weight], attributes, found.node, found.dims)
    put(shop, found.node, [step])


def _step(
    shop: Workshop,
    op: str,
    inputs: list[ir.Value],
    attributes: Mapping[str, Any],
    node: ir.Node,
    shape: Sequence[int | None],
) -> ir.Node:
    name = node.outputs[0].name or op
    return shop.node(op, inputs, attributes, f"{name}.{op}", shape, node.outputs[0].dtype, node)


NORMALIZATIONS: tuple[Rule[Any], ...] = (
    Rule("batch normalization", frozenset({"Add"}), _affine_forms, _why_not_batch, _batch),
    Rule("layer normalization", frozenset({"Add"}), _affine_forms, _why_not_layer, _layer),
    Rule("RMS normalization", frozenset({"Mul"}), _root_mean_squares, _why_not_root_mean_square, _root_mean_square),
)
