"""Branches as ONNX Ifs: each side a graph of its own, which sees all values around it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow.control.carried_values import conformed, parts, rebuilt
from trueport.frontends.tensorflow.control.lists import can_stack
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Listing, Opaque, Resource, Translated, Unknown
from trueport.frontends.tensorflow.translate.variables import (
    inner_variable,
    read_variable,
    variable_type,
    write_variable,
)

__all__ = ["choose", "truth"]


def truth(t: Translation, value: ir.Value) -> ir.Value:
    """TensorFlow's idea of true: a scalar that is not zero or not empty, any other tensor that has elements."""
    if value.shape is not None and value.shape.rank() > 0:
        return t.op.Greater(t.op.Size(value), np.array(0, np.int64))
    scalar: ir.Value = value if value.shape is not None else t.op.Reshape(value, np.array([], np.int64))
    if value.dtype == ir.DataType.STRING:
        return t.op.Not(t.op.Equal(scalar, np.array("", object)))
    return t.cast(scalar, ir.DataType.BOOL)


def choose(
    t: Translation, tests: Sequence[ir.Value], branches: Sequence[str], inputs: Sequence[Translated]
) -> list[Translated]:
    """The outputs of the branch whose test is the first that holds; the last branch has none."""
    known = t.static(tests[0]) if tests else None
    if not tests or (known is not None and known):
        return t.inline(branches[0], inputs)
    if known is not None:
        return choose(t, tests[1:], branches[1:], inputs)
    resources = _written(t, branches, inputs)
    sides = []
    for rest, names in (((), branches[:1]), (tests[1:], branches[1:])):
        side = t.inside()
        own = {index: inner_variable(resource, side) for index, resource in resources.items()}
        given = [own.get(index, value) for index, value in enumerate(inputs)]
        results = choose(side, rest, names, given)
        results += [read_variable(side, own[i], variable_type(t, resources[i])) for i in resources]
        sides.append((side, results))
    joined = _joined(t, tests[0], sides)
    count = len(joined) - len(resources)
    for resource, value in zip(resources.values(), joined[count:], strict=True):
        if isinstance(value, ir.Value):
            write_variable(t, resource, value)
    return joined[:count]


def _written(t: Translation, branches: Sequence[str], inputs: Sequence[Translated]) -> dict[int, Resource]:
    """Variables that one of the branches sets."""
    places = {place for name in branches for place in t.written(t.body(name))}
    return {place: value for place in sorted(places) if isinstance(value := inputs[place], Resource)}


def _joined(
    t: Translation, test: ir.Value, sides: Sequence[tuple[Translation, Sequence[Translated]]]
) -> list[Translated]:
    pairs = list(zip(*([_seen_outside(side, value) for value in results] for side, results in sides), strict=True))
    if any(isinstance(value, Unknown) for pair in pairs for value in pair):
        return [Unknown() for _ in pairs]
    forms = [_form(pair) for pair in pairs]
    graphs = []
    for side, results in sides:
        made = [conformed(side, form, r) for form, r in zip(forms, results, strict=True) if form is not None]
        graphs.append(side.close([part for group in made for part in group]))
    count = len(graphs[0].outputs)
    outputs = t.op.several(count).If(test, then_branch=graphs[0], else_branch=graphs[1]) if count else ()
    for index, output in enumerate(outputs):
        one, two = (graph.outputs[index] for graph in graphs)
        output.type = one.type if one.type is not None else two.type
        output.shape = _common_shape(one, two)
    remaining = iter(outputs)
    return [
        pair[0] if form is None else rebuilt(form, [next(remaining) for _ in parts(form)])
        for pair, form in zip(pairs, forms, strict=True)
    ]


def _seen_outside(side: Translation, value: Translated) -> Translated:
    """A variable that the branch sets is, behind it, the one it was before."""
    if isinstance(value, Resource) and value.outer is not None and value.graph is side.op.graph:
        return value.outer
    return value


def _form(pair: Sequence[Translated]) -> Translated | None:
    """In which form a result leaves the branches; None for a handle that is the same on both sides."""
    if all(value is pair[0] for value in pair) and not isinstance(pair[0], ir.Value):
        return None
    if all(isinstance(value, Opaque) and value == pair[0] for value in pair):
        return None
    lists = [value for value in pair if isinstance(value, Listing)]
    if len(lists) == len(pair):
        marker = ir.Value(name="list")
        if all(can_stack(value) for value in lists):
            return Listing(lists[0].dtype, lists[0].shape, stacked=marker)
        return Listing(lists[0].dtype, lists[0].shape, sequence=marker)
    return pair[0]


def _common_shape(one: ir.Value, two: ir.Value) -> ir.Shape | None:
    if one.shape is None or two.shape is None or one.shape.rank() != two.shape.rank():
        return None
    return ir.Shape([a if isinstance(a, int) and a == b else None for a, b in zip(one.shape, two.shape, strict=True)])
