"""One step of a recurrence, read as the cell of an ONNX operator.

A step computes gates: an activation of a sum of products with the step's input and with the last state. Which columns
of which weights a gate uses is followed through splits and slices, of the sums and of the weights, so that it does
not matter in which order a framework joins, splits and adds. Nothing is decided by numbers or by names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import onnx_ir as ir

from trueport.passes.recognize.match import dims_of, ints_of, maker, orders, scalar_of

__all__ = ["Activation", "Cell", "Columns", "Gate", "cells", "plain"]

Is = Callable[[ir.Value], bool]


@dataclass(frozen=True)
class Columns:
    """Some columns of a weight, of one of its rows where ``row`` is given."""

    base: ir.Value
    row: int | None
    begin: int
    end: int


@dataclass(frozen=True)
class Activation:
    """One of ONNX's activations with its parameters."""

    name: str
    alpha: tuple[float, ...] = ()
    beta: tuple[float, ...] = ()


@dataclass(frozen=True)
class Gate:
    """The weights of one gate, for the input and for the state."""

    kernel: Columns
    recurrent: Columns
    biases: tuple[Columns, ...] = ()
    state_biases: tuple[Columns, ...] = ()
    """those that are added to the state's product"""


@dataclass(frozen=True)
class Cell:
    """One step; ``gates`` in ONNX's order."""

    op: str
    x: ir.Value
    state: tuple[ir.Value, ...]
    """before the step: h, and c of an LSTM"""
    made: tuple[ir.Value, ...]
    """after the step"""
    gates: tuple[Gate, ...]
    activations: tuple[Activation, ...]
    attributes: dict[str, int] = field(default_factory=dict)

    @property
    def width(self) -> int:
        kernel = self.gates[0].kernel
        return kernel.end - kernel.begin


@dataclass(frozen=True)
class _Sum:
    """Products of a value with columns of a weight, and vectors, all added up."""

    products: tuple[tuple[ir.Value, Columns], ...] = ()
    biases: tuple[Columns, ...] = ()

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.products + other.products, self.biases + other.biases)


@dataclass(frozen=True)
class _Reader:
    """Reads sums. ``fixed``: which values are the same in each step; ``is_input``: which are a step's input."""

    fixed: Is
    is_input: Is

    def sum(self, value: ir.Value, begin: int, end: int) -> _Sum | None:
        """Columns ``begin`` to ``end`` of a value."""
        value = plain(value)
        dims = dims_of(value)
        if dims is not None and dims and all(dim == 1 for dim in dims[:-1]):
            vector = self.weight(value, begin, end)
            if vector is not None:
                return _Sum(biases=(vector,))
            if (same := _one_row(value)) is not None:
                return self.sum(same, begin, end)
        node = maker(value, "Add", "MatMul", "Split", "Slice")
        if node is None or node.inputs[0] is None:
            return None
        if node.op_type == "Add":
            left = self.sum(node.inputs[0], begin, end)
            right = self.sum(node.inputs[1], begin, end) if left is not None and node.inputs[1] is not None else None
            return None if left is None or right is None else left + right
        if node.op_type == "MatMul":
            found = self.weight(node.inputs[1], begin, end) if len(dims_of(node.inputs[1]) or ()) == 2 else None
            return None if found is None else _Sum(products=((plain(node.inputs[0]), found),))
        offset = _offset(node, value, len(dims or ()) - 1)
        return None if offset is None else self.sum(node.inputs[0], begin + offset, end + offset)

    def weight(self, value: ir.Value | None, begin: int, end: int, row: int | None = None) -> Columns | None:
        """Columns of a fixed value, or of that which it is cut from."""
        while value is not None:
            value = plain(value)
            rank = len(dims_of(value) or ())
            node = maker(value, "Split", "Slice", "Squeeze", "Reshape")
            if node is None:
                break
            source = node.inputs[0]
            if node.op_type in ("Squeeze", "Reshape"):
                if rank != 1 or dims_of(source) != (1, *(dims_of(value) or ())):
                    break
            elif (offset := _offset(node, value, rank - 1)) is not None:
                begin, end = begin + offset, end + offset
            elif rank == 2 and (dims_of(value) or (0,))[0] == 1 and (offset := _offset(node, value, 0)) is not None:
                row = offset
            else:
                break
            value = source
        if value is None or not self.fixed(value) or dims_of(value) is None:
            return None
        lone = len(dims_of(value) or ()) == 2 and dims_of(value)[0] == 1  # type: ignore[index]
        return Columns(value, 0 if lone and row is None else row, begin, end)

    def whole(self, value: ir.Value) -> _Sum | None:
        dims = dims_of(value)
        return None if not dims or dims[-1] is None else self.sum(value, 0, dims[-1])

    def gate(self, value: ir.Value, state: ir.Value | None) -> tuple[Activation, Gate, ir.Value] | None:
        """An activation of x·W + h·R + b; the state is the one asked for, where one is."""
        for activation, inner in _activations(value):
            found = self.whole(inner)
            if found is None or len(found.products) != 2:
                continue
            for (x, kernel), (h, recurrent) in (found.products, found.products[::-1]):
                if self.is_input(x) and not self.is_input(h) and (state is None or h is state):
                    return activation, Gate(kernel, recurrent, found.biases), h
        return None


def plain(value: ir.Value) -> ir.Value:
    """The value behind nodes that only hand it on."""
    node = maker(value, "Identity")
    while node is not None and node.inputs[0] is not None:
        value = node.inputs[0]
        node = maker(value, "Identity")
    return value


def _one_row(value: ir.Value) -> ir.Value | None:
    """What a value is the only row of: with one sequence in a batch, Keras adds a product as if it were a bias."""
    node = maker(value, "Squeeze", "Reshape", "Unsqueeze")
    source = node.inputs[0] if node is not None else None
    dims, own = dims_of(source), dims_of(value)
    single = dims and own and dims[-1] == own[-1] and all(dim == 1 for dim in dims[:-1])
    return source if single else None


def _offset(node: ir.Node, value: ir.Value, axis: int) -> int | None:
    """Where a part that is cut off along an axis begins."""
    source, dims = node.inputs[0], dims_of(value)
    if source is None or dims is None:
        return None
    if node.op_type == "Split":
        along = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
        sizes = [(dims_of(part) or (None,) * len(dims))[axis] for part in node.outputs]
        before = sizes[: node.outputs.index(value)]
        return None if along % len(dims) != axis or None in before else sum(size or 0 for size in before)
    starts, axes = ints_of(node.inputs[1]), ints_of(node.inputs[3]) if len(node.inputs) > 3 else None
    steps = ints_of(node.inputs[4]) if len(node.inputs) > 4 else [1]
    if starts is None or axes is None or len(axes) != 1 or axes[0] % len(dims) != axis or steps != [1]:
        return None
    total = (dims_of(source) or (None,) * len(dims))[axis]
    if starts[0] >= 0:
        return starts[0]
    return None if total is None else max(0, starts[0] + total)


def _activations(value: ir.Value) -> Iterator[tuple[Activation, ir.Value]]:
    """The ways to read a value as an activation of another; at last as no activation at all."""
    value = plain(value)
    node = maker(value, "Sigmoid", "Tanh", "Relu", "Softsign", "Softplus", "Elu", "LeakyRelu", "HardSigmoid")
    if node is not None and node.inputs[0] is not None:
        yield Activation(node.op_type, *_parameters(node)), node.inputs[0]
    yield from _hard_sigmoid(value)
    yield Activation("Affine", (1.0,), (0.0,)), value


def _hard_sigmoid(value: ir.Value) -> Iterator[tuple[Activation, ir.Value]]:
    """clip(x + a, 0, b) / b"""
    quotient = maker(value, "Div")
    clip = maker(quotient.inputs[0], "Clip") if quotient is not None else None
    shift = maker(clip.inputs[0], "Add") if clip is not None and len(clip.inputs) == 3 else None
    if quotient is None or clip is None or shift is None:
        return
    by = scalar_of(quotient.inputs[1])
    for inner, added in orders(shift):
        plus = scalar_of(added)
        if by and plus is not None and scalar_of(clip.inputs[1]) == 0.0 and scalar_of(clip.inputs[2]) == by:
            yield Activation("HardSigmoid", (1 / by,), (plus / by,)), inner


_DEFAULTS = {"Elu": (1.0,), "LeakyRelu": (0.01,), "HardSigmoid": (0.2, 0.5)}


def _parameters(node: ir.Node) -> tuple[tuple[float, ...], tuple[float, ...]]:
    defaults = _DEFAULTS.get(node.op_type, ())
    given = [
        node.attributes[name].as_float() if name in node.attributes else default
        for name, default in zip(("alpha", "beta"), defaults, strict=False)
    ]
    return tuple(given[:1]), tuple(given[1:])


def cells(made: ir.Value, fixed: Is, is_input: Is) -> Iterator[Cell]:
    """The ways to read a value as the state that a cell makes, the fullest first."""
    reader = _Reader(fixed, is_input)
    made = plain(made)
    yield from _lstm(reader, made)
    yield from _gru(reader, made)
    yield from _rnn(reader, made)


def _products(value: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
    node = maker(plain(value), "Mul")
    if node is not None:
        for one, two in orders(node):
            yield plain(one), plain(two)


def _sums(value: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
    node = maker(plain(value), "Add")
    if node is not None:
        for one, two in orders(node):
            yield plain(one), plain(two)


def _lstm(reader: _Reader, made: ir.Value) -> Iterator[Cell]:
    """h' = o · a(c'), c' = f · c + i · g"""
    for out, shown in _products(made):
        for activation, memory in _activations(shown):
            for kept, new in _sums(memory):
                for forget, c in _products(kept):
                    for into, candidate in _products(new):
                        parts = _lstm_gates(reader, (into, out, forget, candidate))
                        if parts is not None:
                            x, h, gates, (inner, g) = parts
                            yield Cell("LSTM", x, (h, c), (made, plain(memory)), gates, (inner, g, activation))


def _lstm_gates(
    reader: _Reader, values: Sequence[ir.Value]
) -> tuple[ir.Value, ir.Value, tuple[Gate, ...], tuple[Activation, Activation]] | None:
    """Input, output and forget gates share an activation, the candidate has its own."""
    found = [reader.gate(value, None) for value in values]
    known = [gate for gate in found if gate is not None]
    if len(known) < len(found):
        return None
    states = {gate[2] for gate in known}
    inputs = {_input(reader, value) for value in values}
    if len(states) != 1 or len(inputs) != 1 or len({gate[0] for gate in known[:3]}) != 1:
        return None
    (x,) = inputs
    return (x, known[0][2], tuple(gate[1] for gate in known), (known[0][0], known[3][0])) if x is not None else None


def _input(reader: _Reader, value: ir.Value) -> ir.Value | None:
    """The step's input that a gate multiplies."""
    for _, inner in _activations(value):
        found = reader.whole(inner)
        for source, _ in found.products if found is not None else ():
            if reader.is_input(source):
                return source
    return None


def _gru(reader: _Reader, made: ir.Value) -> Iterator[Cell]:
    """h' = z · h + (1 - z) · n"""
    for kept, new in _sums(made):
        for update, h in _products(kept):
            for rest, candidate in _products(new):
                less = maker(rest, "Sub")
                if less is None or scalar_of(less.inputs[0]) != 1.0 or plain(less.inputs[1] or made) is not update:
                    continue
                z = reader.gate(update, h)
                x = _input(reader, update)
                if z is None or x is None:
                    continue
                for activation, inner in _activations(candidate):
                    found = _candidate(reader, inner, x, h)
                    if found is not None and found[0][0] == z[0]:
                        reset, n, attributes = found
                        gates = (z[1], reset[1], n)
                        yield Cell("GRU", x, (h,), (made,), gates, (z[0], activation), attributes)


_Candidate = tuple[tuple[Activation, Gate, ir.Value], Gate, dict[str, int]]


def _candidate(reader: _Reader, inner: ir.Value, x: ir.Value, h: ir.Value) -> _Candidate | None:
    """The new state of a GRU: the reset gate is applied to the state, or to the state's product."""
    found = reader.whole(inner)
    for (source, kernel), (gated, recurrent) in (
        (found.products, found.products[::-1]) if found is not None and len(found.products) == 2 else ()
    ):
        for reset, state in _products(gated):
            r = reader.gate(reset, h)
            known = source is x and _input(reader, reset) is x
            if known and state is h and r is not None and found is not None:
                return r, Gate(kernel, recurrent, found.biases), {"linear_before_reset": 0}
    for plus, product in _sums(inner):
        for reset, linear in _products(product):
            r = reader.gate(reset, h)
            one, two = reader.whole(plus), reader.whole(linear)
            if r is None or one is None or two is None or len(one.products) != 1 or len(two.products) != 1:
                continue
            (source, kernel), (state, recurrent) = one.products[0], two.products[0]
            if source is x and state is h and _input(reader, reset) is x:
                return r, Gate(kernel, recurrent, one.biases, two.biases), {"linear_before_reset": 1}
    return None


def _rnn(reader: _Reader, made: ir.Value) -> Iterator[Cell]:
    """h' = a(x·W + h·R + b)"""
    gate, x = reader.gate(made, None), _input(reader, made)
    if gate is not None and x is not None:
        yield Cell("RNN", x, (gate[2],), (made,), (gate[1],), (gate[0],))
