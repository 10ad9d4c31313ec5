"""Faults in the parts that a verification calls covered: a result is wrong there and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from trueport.verifying.coverage.count import Count

__all__ = ["CoveredFault", "faults_of"]

_FLOATS = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}
_INTEGERS = {TensorProto.INT64: np.int64, TensorProto.INT32: np.int32}
_NUMBERS = {**_FLOATS, **_INTEGERS}
_SIDE = re.compile(r"(below|above|equal to) (the other|\S+)")


@dataclass(frozen=True)
class CoveredFault:
    """A model that is wrong in one part of one node."""

    node: str
    part: str
    model: onnx.ModelProto


def faults_of(model: onnx.ModelProto, name: str, counted: Count) -> Iterator[CoveredFault]:
    """Yield a fault for each part of a node of the main graph that was reached; none for a kind without a recipe."""
    reached = {str(counted.labels[int(part)]) for part in np.flatnonzero(counted.hit)}
    for label, change in _recipes(model, name, counted):
        if label in reached:
            wrong = onnx.ModelProto()
            wrong.CopyFrom(model)
            if change(_Edit(wrong, name)):
                yield CoveredFault(name, label, wrong)


Change = Callable[["_Edit"], bool]


def _recipes(model: onnx.ModelProto, name: str, counted: Count) -> Iterator[tuple[str, Change]]:
    """Yield labels of parts, as coverage names them, each with what changes the model there."""
    edit, parts = _Edit(model, name), len(counted.hit)
    if edit.node is None:
        return
    if counted.kind == "rows":
        yield from ((f"row {row}", _with_row(row)) for row in range(0, parts, max(1, parts // 6)))
    elif counted.kind == "branch":
        yield from ((label, _with_branch(f"{label}_branch")) for label in ("then", "else"))
    elif counted.kind == "keys":
        yield from ((str(key), _with_key(index)) for index, key in enumerate(_keys(edit.node)))
    elif counted.kind == "operand":
        yield from ((f"operand {index}", _with_operand(index)) for index in range(parts))
    elif counted.kind == "range" and parts == 1:
        yield "beyond 32 bits", _beyond
    elif counted.kind in ("side", "range"):
        yield from ((label, _with_side(label, counted.kind)) for label in map(str, counted.labels))


class _Edit:
    """One node of the main graph of a model that is changed in place."""

    def __init__(self, model: onnx.ModelProto, name: str) -> None:
        self.graph = model.graph
        self.position = next((i for i, node in enumerate(model.graph.node) if name in (node.name, *node.output)), -1)
        self.node = model.graph.node[self.position] if self.position >= 0 else None
        inferred = onnx.shape_inference.infer_shapes(model).graph
        values = [*inferred.value_info, *inferred.input, *inferred.output]
        self.types = {value.name: value.type.tensor_type.elem_type for value in values}
        self.types |= {weight.name: weight.data_type for weight in model.graph.initializer}
        self._count = 0

    def constant(self, number: Any, dtype: int) -> str:
        """Return a new constant of one element."""
        self._count += 1
        name = f"wrong.c{self._count}"
        array = np.asarray(number).astype(helper.tensor_dtype_to_np_dtype(dtype))
        self.graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op: str, *operands: str) -> str:
        """Append a node and return its result."""
        self._count += 1
        name = f"wrong.v{self._count}"
        self.graph.node.append(helper.make_node(op, operands, [name], name=name))
        return name

    def is_number(self, name: str) -> bool:
        """True if a value is of a type that the faults can compute with."""
        return self.types.get(name) in _NUMBERS

    def disturb_where(self, mask: Callable[[str], str]) -> bool:
        """Make the first result wrong where a mask, computed of the right result, is true."""
        assert self.node is not None
        result = self.node.output[0]
        dtype = self.types.get(result, 0)
        if dtype not in (*_NUMBERS, TensorProto.BOOL):
            return False
        right = "wrong.right"
        self.node.output[0] = right
        said = mask(right)
        if dtype == TensorProto.BOOL:
            self.add("Xor", right, said)
        else:
            step = self.constant(1 if dtype in _INTEGERS else 0.1, dtype)
            moved = self.add("Add", right, self.add("Mul", self.add("Abs", right), step)) if dtype in _FLOATS else right
            self.add("Where", said, self.add("Add", moved, step), right)
        self.graph.node[-1].output[0] = result
        _sort(self.graph)
        return True


def _sort(graph: onnx.GraphProto) -> None:
    """Put the nodes that were appended where their operands are known."""
    waiting, known = list(graph.node), {"", *(v.name for v in graph.input), *(w.name for w in graph.initializer)}
    known |= {weight.values.name for weight in graph.sparse_initializer}
    ordered: list[onnx.NodeProto] = []
    while waiting:
        ready = next(node for node in waiting if known.issuperset(_reads(node, graph)))
        waiting.remove(ready)
        ordered.append(ready)
        known.update(ready.output)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in ordered]
    del graph.node[:]
    graph.node.extend(copies)


def _reads(node: onnx.NodeProto, graph: onnx.GraphProto) -> set[str]:
    """Return the values of the main graph that a node and the graphs in it read."""
    made = {name for other in graph.node for name in other.output}
    found, waiting = set(node.input), [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    while waiting:
        inner = waiting.pop()
        for each in inner.node:
            found |= set(each.input) & made
            waiting += [a.g for a in each.attribute if a.type == onnx.AttributeProto.GRAPH]
        found |= {value.name for value in inner.output} & made
    return found


def _with_row(row: int) -> Change:
    def change(edit: _Edit) -> bool:
        assert edit.node is not None
        weight = next((w for w in edit.graph.initializer if w.name == edit.node.input[0]), None)
        if weight is None or weight.data_type not in _NUMBERS:
            return False
        axis = next((a.i for a in edit.node.attribute if a.name == "axis"), 0)
        array = np.moveaxis(numpy_helper.to_array(weight).copy(), axis, 0)
        array[row] = array[row] + (1 if weight.data_type in _INTEGERS else 0.1 + np.abs(array[row]) * 0.1)
        wrong = np.ascontiguousarray(np.moveaxis(array, 0, axis))
        weight.CopyFrom(numpy_helper.from_array(wrong, weight.name))
        return True

    return change


def _with_branch(name: str) -> Change:
    def change(edit: _Edit) -> bool:
        assert edit.node is not None
        graph = next(a.g for a in edit.node.attribute if a.name == name)
        dtype = graph.output[0].type.tensor_type.elem_type
        made = next((n for n in graph.node if graph.output[0].name in n.output), None)
        if dtype not in _FLOATS or made is None:
            return False
        right, result = "wrong.right", graph.output[0].name
        made.output[list(made.output).index(result)] = right
        for node in graph.node:
            node.input[:] = [right if name == result else name for name in node.input]
        graph.node.append(helper.make_node("Constant", [], ["wrong.c"], value_float=1.1))
        graph.node.append(helper.make_node("Mul", [right, "wrong.c"], [result]))
        return dtype == TensorProto.FLOAT

    return change


def _keys(node: onnx.NodeProto) -> list[Any]:
    given: Mapping[str, Any] = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    keys = next((given[name] for name in ("keys_int64s", "keys_strings", "keys_floats") if name in given), [])
    return [key.decode() if isinstance(key, bytes) else key for key in keys]


def _with_key(index: int) -> Change:
    def change(edit: _Edit) -> bool:
        assert edit.node is not None
        for attribute in edit.node.attribute:
            if attribute.name == "values_floats":
                attribute.floats[index] += 0.5
                return True
            if attribute.name == "values_int64s":
                attribute.ints[index] += 1
                return True
        return False

    return change


def _with_operand(index: int) -> Change:
    def change(edit: _Edit) -> bool:
        assert edit.node is not None
        operand = edit.node.input[index]
        return edit.is_number(operand) and edit.disturb_where(lambda right: edit.add("Equal", right, operand))

    return change


def _beyond(edit: _Edit) -> bool:
    """Make a result one that was computed in 32 bits."""
    assert edit.node is not None
    result = edit.node.output[0]
    if edit.types.get(result) != TensorProto.INT64:
        return False
    edit.node.output[0] = "wrong.right"
    edit.graph.node.append(helper.make_node("Cast", ["wrong.right"], ["wrong.narrow"], to=TensorProto.INT32))
    edit.graph.node.append(helper.make_node("Cast", ["wrong.narrow"], [result], to=TensorProto.INT64))
    _sort(edit.graph)
    return True


def _with_side(label: str, kind: str) -> Change:
    def change(edit: _Edit) -> bool:
        node, found = edit.node, _SIDE.fullmatch(label)
        assert node is not None
        if label in ("true", "false"):
            return _chosen(edit, label)
        operands = [name for name in node.input if name]
        if found is None or not edit.is_number(operands[0]):
            return False
        side, point = found.groups()
        compared = node.op_type in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Min", "Max")
        x, other = operands[0], operands[-1]
        if compared and x in {weight.name for weight in edit.graph.initializer}:
            x, other = other, x
        if point != "the other":
            other = edit.constant(float(point), edit.types[x])
        return edit.disturb_where(lambda right: _near(edit, x, other, side, kind))

    return change


def _near(edit: _Edit, x: str, other: str, side: str, kind: str) -> str:
    """Return where x is on one side of the other, by no more than coverage counts as near."""
    dtype = edit.types[x]
    if side == "equal to":
        return edit.add("Equal", x, other)
    there = edit.add("Less" if side == "below" else "Greater", x, other)
    if kind == "range" or dtype not in _FLOATS:
        return there
    share, least = edit.constant(0.1, dtype), edit.constant(0.5, dtype)
    margin = edit.add("Max", edit.add("Mul", edit.add("Abs", other), share), least)
    return edit.add("And", there, edit.add("LessOrEqual", edit.add("Abs", edit.add("Sub", x, other)), margin))


def _chosen(edit: _Edit, label: str) -> bool:
    node = edit.node
    assert node is not None
    if node.op_type == "Where":
        condition = node.input[0]
        return edit.disturb_where(lambda right: condition if label == "true" else edit.add("Not", condition))
    if node.op_type != "Equal":
        return False
    return edit.disturb_where(lambda right: right if label == "true" else edit.add("Not", right))
