"""The ONNX node of a recurrence: weights gathered gate by gate, states with their leading axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.provenance import inherit
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import MADE_BY, dims_of, ints_of, is_constant, maker, scalar_of
from trueport.passes.recognize.recurrent_cells import Cell, Columns, Gate

__all__ = ["Bench", "Recurrence", "emit", "is_fit", "is_reversal", "reversed_rows"]

_LAST = np.iinfo(np.int64).max


@dataclass
class Bench:
    """Puts new nodes before a node of a graph."""

    shop: Workshop
    root: ir.Graph
    """where constants stand"""
    anchor: ir.Node
    origins: Sequence[ir.Node]

    @property
    def graph(self) -> ir.Graph:
        assert isinstance(self.anchor.graph, ir.Graph)
        return self.anchor.graph

    def node(
        self, op: str, inputs: Sequence[ir.Value | None], attributes: dict[str, Any], name: str, **known: Any
    ) -> ir.Value:
        """A node with one float output of a known shape."""
        return self.nodes(op, inputs, attributes, [name], [known["shape"]], known.get("dtype", ir.DataType.FLOAT))[0]

    def nodes(
        self,
        op: str,
        inputs: Sequence[ir.Value | None],
        attributes: dict[str, Any],
        names: Sequence[str],
        shapes: Sequence[Sequence[Any]],
        dtype: ir.DataType = ir.DataType.FLOAT,
    ) -> Sequence[ir.Value]:
        made = ir.node(op, inputs, attributes, num_outputs=len(names), name=self.shop.fresh(f"{op}:{names[0]}"))
        for output, name, shape in zip(made.outputs, names, shapes, strict=True):
            output.name, output.shape, output.type = self.shop.fresh(name), ir.Shape(shape), ir.TensorType(dtype)
        inherit([made], *self.origins, by=MADE_BY)
        self.graph.insert_before(self.anchor, made)
        return made.outputs

    def ints(self, what: str, items: Sequence[int]) -> ir.Value:
        return self.shop.constant(self.root, what, np.array(items, np.int64))


@dataclass(frozen=True)
class Recurrence:
    """What the node of a recurrence makes, without the axis of directions."""

    sequence: ir.Value
    """the state after the step of each row, (time, batch, width)"""
    last: tuple[ir.Value, ...]
    """the states after the last step"""


def is_fit(cell: Cell) -> bool:
    """Whether the cell's weights have the shapes that ONNX has for them, and the type that its runtimes compute in."""
    sizes = {c.end - c.begin for gate in cell.gates for c in _columns(gate)}
    inputs = {(dims_of(gate.kernel.base) or (None,))[0] for gate in cell.gates}
    states = {(dims_of(gate.recurrent.base) or (None,))[0] for gate in cell.gates}
    biases = all(len(gate.biases) <= (1 if gate.state_biases else 2) for gate in cell.gates)
    single = all(len(gate.state_biases) <= 1 for gate in cell.gates)
    types = {c.base.dtype for gate in cell.gates for c in _columns(gate)}
    matrices = [c for gate in cell.gates for c in (gate.kernel, gate.recurrent)]
    whole = all(c.row is None or (dims_of(c.base) or (0,))[0] == 1 for c in matrices)
    known = whole and len(sizes) == 1 and states == sizes and len(inputs) == 1 and None not in inputs
    return known and biases and single and types == {ir.DataType.FLOAT}


def _columns(gate: Gate) -> tuple[Columns, ...]:
    return (gate.kernel, gate.recurrent, *gate.biases, *gate.state_biases)


def emit(
    bench: Bench, cell: Cell, data: ir.Value, initial: Sequence[ir.Value], name: str, *, backwards: bool
) -> Recurrence:
    """``data`` is (time, batch, features), ``initial`` the states before the first step."""
    width = cell.width
    time, batch = (dims_of(data) or (None, None))[:2]
    inputs = [
        data,
        _weights(bench, [gate.kernel for gate in cell.gates], f"{name}.W"),
        _weights(bench, [gate.recurrent for gate in cell.gates], f"{name}.R"),
        _biases(bench, cell, f"{name}.B"),
        None,
        *(_state(bench, value, f"{name}.{what}0") for value, what in zip(initial, "hc", strict=False)),
    ]
    while inputs[-1] is None:
        inputs.pop()
    names = [f"{name}.Y", *(f"{name}.Y_{what}" for what in "hc"[: len(cell.state)])]
    shapes = [[time, 1, batch, width], *([1, batch, width] for _ in cell.state)]
    attributes = {**_attributes(cell), "direction": "reverse" if backwards else "forward"}
    whole, *last = bench.nodes(cell.op, inputs, attributes, names, shapes)
    rows = bench.node(
        "Squeeze", [whole, bench.ints(f"{name}.axis", [1])], {}, f"{name}.rows", shape=[time, batch, width]
    )
    zero = bench.ints(f"{name}.axis", [0])
    states = [bench.node("Squeeze", [value, zero], {}, f"{value.name}.state", shape=[batch, width]) for value in last]
    return Recurrence(rows, tuple(states))


_USUAL = {
    "LSTM": ["Sigmoid", "Tanh", "Tanh"],
    "GRU": ["Sigmoid", "Tanh"],
    "RNN": ["Tanh"],
}


def _attributes(cell: Cell) -> dict[str, Any]:
    names = [activation.name for activation in cell.activations]
    given: dict[str, Any] = {"hidden_size": cell.width, **cell.attributes}
    if names != _USUAL[cell.op]:
        given["activations"] = names
        given["activation_alpha"] = [number for activation in cell.activations for number in activation.alpha] or None
        given["activation_beta"] = [number for activation in cell.activations for number in activation.beta] or None
    return {name: value for name, value in given.items() if value is not None}


def _weights(bench: Bench, columns: Sequence[Columns], name: str) -> ir.Value:
    """The columns of all gates as rows, one gate after the other: (1, gates · width, inputs)."""
    depth = (dims_of(columns[0].base) or (None,))[0]
    total = sum(c.end - c.begin for c in columns)

    def array() -> np.ndarray:
        parts = [_array(c.base)[:, c.begin : c.end] for c in columns]
        return np.ascontiguousarray(np.concatenate(parts, axis=1).T[None])

    if all(is_constant(c.base) for c in columns):
        return _stored(bench, name, array, (1, total, depth or 0))
    parts = [_cut(bench, c, f"{name}.gate") for c in columns]
    joined = bench.node("Concat", parts, {"axis": 1}, f"{name}.gates", shape=[depth, total])
    turned = bench.node("Transpose", [joined], {"perm": [1, 0]}, f"{name}.turned", shape=[total, depth])
    axes = bench.ints(f"{name}.axes", [0])
    return bench.node("Unsqueeze", [turned, axes], {}, name, shape=[1, total, depth])


def _biases(bench: Bench, cell: Cell, name: str) -> ir.Value | None:
    """Those of the inputs, then those of the states, (1, 2 · gates · width); a second plain one joins the latter."""
    inputs = [gate.biases[0] if gate.biases else None for gate in cell.gates]
    states = [(*gate.state_biases, *gate.biases[1:], None)[0] for gate in cell.gates]
    found = [*inputs, *states]
    if not any(found):
        return None
    width = cell.width

    def array() -> np.ndarray:
        parts = [np.zeros(width, np.float32) if c is None else _vector(c) for c in found]
        return np.concatenate(parts)[None]

    if all(c is None or is_constant(c.base) for c in found):
        return _stored(bench, name, array, (1, len(found) * width))
    zeros = bench.shop.constant(bench.root, f"{name}.none", np.zeros(width, np.float32))
    flat = bench.ints(f"{name}.flat", [-1])
    parts = [
        zeros
        if c is None
        else bench.node("Reshape", [_cut(bench, c, f"{name}.gate"), flat], {}, f"{name}.vector", shape=[width])
        for c in found
    ]
    joined = bench.node("Concat", parts, {"axis": 0}, f"{name}.gates", shape=[len(found) * width])
    axes = bench.ints(f"{name}.axes", [0])
    return bench.node("Unsqueeze", [joined, axes], {}, name, shape=[1, len(found) * width])


def _array(value: ir.Value) -> np.ndarray:
    assert value.const_value is not None
    return np.asarray(value.const_value.numpy())


def _vector(columns: Columns) -> np.ndarray:
    array = _array(columns.base)
    row = array if array.ndim == 1 else array[columns.row or 0]
    return row[columns.begin : columns.end]


def _stored(bench: Bench, name: str, array: Callable[[], np.ndarray], shape: tuple[int, ...]) -> ir.Value:
    """A weight that is put together when the model is written."""
    fresh = bench.shop.fresh(name)
    tensor = ir.LazyTensor(
        lambda: ir.tensor(array()), dtype=ir.DataType.FLOAT, shape=ir.Shape(shape), name=fresh, cache=True
    )
    value = ir.Value(name=fresh, shape=ir.Shape(shape), type=ir.TensorType(ir.DataType.FLOAT), const_value=tensor)
    bench.root.register_initializer(value)
    return value


def _cut(bench: Bench, columns: Columns, name: str) -> ir.Value:
    """Columns of a weight that is computed while the model runs."""
    dims = dims_of(columns.base) or ()
    begin, end, axes = [columns.begin], [columns.end], [len(dims) - 1]
    shape: list[int | None] = [*dims[:-1], columns.end - columns.begin]
    if columns.row is not None and len(dims) == 2:
        begin, end, axes = [columns.row, *begin], [columns.row + 1, *end], [0, *axes]
        shape[0] = 1
    bounds = [bench.ints(f"{name}.{what}", items) for what, items in (("begin", begin), ("end", end), ("axes", axes))]
    return bench.node("Slice", [columns.base, *bounds], {}, name, shape=shape)


def _state(bench: Bench, value: ir.Value, name: str) -> ir.Value | None:
    """An initial state with the axis of directions; zeros are what ONNX starts with."""
    if _is_zero(value):
        return None
    axes = bench.ints(f"{name}.axes", [0])
    return bench.node("Unsqueeze", [value, axes], {}, name, shape=[1, *(dims_of(value) or (None, None))])


def _is_zero(value: ir.Value) -> bool:
    node = maker(value, "ConstantOfShape", "Expand")
    if node is None:
        small = is_constant(value) and value.const_value is not None and value.const_value.size <= 1 << 16
        return small and not _array(value).any()
    if node.op_type == "Expand":
        return scalar_of(node.inputs[0]) == 0
    filled = node.attributes.get("value")
    return filled is None or not np.asarray(filled.as_tensor().numpy()).any()


def is_reversal(value: ir.Value, axis: int) -> ir.Value | None:
    """What a value is the reverse of along one axis."""
    node = maker(value, "Slice")
    rank = len(dims_of(value) or ())
    if node is None or len(node.inputs) < 5 or not rank:
        return None
    starts, ends, axes, steps = (ints_of(part) for part in node.inputs[1:5])
    if starts is None or ends is None or axes is None or steps != [-1] or len(axes) != 1 or axes[0] % rank != axis:
        return None
    size = (dims_of(value) or ())[axis]
    whole = starts[0] == -1 or starts[0] >= (_LAST if size is None else size - 1)
    return node.inputs[0] if whole and ends[0] <= -(1 << 31) else None


def reversed_rows(bench: Bench, value: ir.Value, name: str) -> ir.Value:
    """The last row first."""
    bounds = [
        bench.ints(f"{name}.{what}", [number])
        for what, number in (("begin", -1), ("end", -_LAST), ("axis", 0), ("step", -1))
    ]
    return bench.node("Slice", [value, *bounds], {}, name, shape=list(value.shape or ()))
