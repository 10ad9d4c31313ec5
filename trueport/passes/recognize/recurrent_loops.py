"""Taking a cell out of a Loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from trueport.ir.provenance import inherit
from trueport.ir.replace import replace_value
from trueport.passes.layout.workshop import Workshop
from trueport.passes.prune import discard, prune_graph
from trueport.passes.recognize.match import MADE_BY, dims_of, ints_of, is_constant, maker, scalar_of
from trueport.passes.recognize.recurrent_cells import Cell, cells, plain
from trueport.passes.recognize.recurrent_emit import Bench, Recurrence, emit, is_fit, is_reversal, reversed_rows

__all__ = ["extract_cell"]


@dataclass(frozen=True)
class _Loop:
    """A Loop that runs a number of times that is known when it starts."""

    node: ir.Node
    body: ir.Graph

    @property
    def params(self) -> Sequence[ir.Value]:
        return self.body.inputs[2:]

    @property
    def finals(self) -> list[ir.Value]:
        """What the body makes for each variable."""
        return [plain(value) for value in self.body.outputs[1 : 1 + len(self.params)]]

    @property
    def scans(self) -> list[ir.Value]:
        return [plain(value) for value in self.body.outputs[1 + len(self.params) :]]

    def is_outside(self, value: ir.Value) -> bool:
        """Whether a value is the same in all iterations."""
        if value.is_graph_input():
            return value.graph is not self.body
        producer = value.producer()
        graph = value.graph if producer is None else producer.graph
        return graph is not self.body

    def rows_of(self, value: ir.Value) -> ir.Value | None:
        """The tensor whose row a value is, the row of the iteration."""
        node = maker(plain(value), "Gather")
        if node is None or (node.attributes["axis"].as_int() if "axis" in node.attributes else 0) != 0:
            return None
        index = _uncast(node.inputs[1])
        rows = node.inputs[0]
        if index is not self.body.inputs[0] or rows is None or not self.is_outside(rows):
            return None
        return rows if len(dims_of(rows) or ()) == 3 else None


def extract_cell(node: ir.Node, shop: Workshop, root: ir.Graph) -> tuple[bool, ir.Node | None]:
    """Whether a cell was found and put before the loop; and what is left of the loop, if there may be more in it."""
    loop = _counting(node)
    if loop is None:
        return False, None
    for cell in _found(loop):
        places = [loop.params.index(state) for state in cell.state]
        region = _region(loop, cell)
        if not _is_closed(loop, cell, places, region):
            continue
        rows = loop.rows_of(cell.x)
        assert rows is not None
        bench = Bench(shop, root, node, [node])
        initial = [node.inputs[2 + place] for place in places]
        data = _limited(bench, rows, node.inputs[0])
        name = cell.made[0].name or cell.op
        turned = is_reversal(data, 0)
        states = [value for value in initial if value is not None]
        made = emit(bench, cell, turned or data, states, name, backwards=turned is not None)
        if turned is not None:
            made = Recurrence(reversed_rows(bench, made.sequence, f"{name}.reversed"), made.last)
        return True, _without(loop, cell, places, made, region, bench)
    return False, None


def _counting(node: ir.Node) -> _Loop | None:
    """Loops that only their trip count ends."""
    body = node.attributes["body"].as_graph()
    begins = node.inputs[1] if len(node.inputs) > 1 else None
    always = begins is None or (is_constant(begins) and bool(scalar_of(begins)))
    goes_on = plain(body.outputs[0])
    same = goes_on is body.inputs[1] or (is_constant(goes_on) and bool(scalar_of(goes_on)))
    return _Loop(node, body) if always and same and node.inputs and node.inputs[0] is not None else None


def _found(loop: _Loop) -> Iterator[Cell]:
    """Cells whose states are variables of the loop."""
    finals = loop.finals
    for place, made in enumerate(finals):
        for cell in cells(made, loop.is_outside, lambda value: loop.rows_of(value) is not None):
            known = all(state in loop.params for state in cell.state)
            if known and cell.state[0] is loop.params[place] and is_fit(cell):
                places = [loop.params.index(state) for state in cell.state]
                if all(finals[p] is value for p, value in zip(places, cell.made, strict=True)) and _fits(loop, places):
                    yield cell


def _fits(loop: _Loop, places: Sequence[int]) -> bool:
    """Initial states must have as many rows as there are sequences: ONNX does not broadcast them."""
    return all(dims_of(loop.node.inputs[2 + p]) == dims_of(loop.params[p]) or _rows_fit(loop, p) for p in places)


def _rows_fit(loop: _Loop, place: int) -> bool:
    before, inside = dims_of(loop.node.inputs[2 + place]), dims_of(loop.params[place])
    return before is None or inside is None or (before[0] != 1 or inside[0] == 1)


def _region(loop: _Loop, cell: Cell) -> set[ir.Node]:
    """The nodes of a cell: from its results back to its input and its states."""
    borders = {plain(cell.x), *cell.state}
    waiting, found = list(cell.made), set()
    while waiting:
        value = waiting.pop()
        node = value.producer()
        if plain(value) in borders or node is None or node.graph is not loop.body or node in found:
            continue
        found.add(node)
        waiting += [part for part in node.inputs if part is not None]
    return found


def _is_closed(loop: _Loop, cell: Cell, places: Sequence[int], region: set[ir.Node]) -> bool:
    """Whether nothing but the state that is shown in each step is used outside the cell."""
    outputs = set(loop.body.outputs)
    shown = cell.made[0]
    kept = {loop.body.outputs[1 + place] for place in places}
    inner = [value for node in region for value in node.outputs if plain(value) is not shown]
    for value in (*inner, *cell.state):
        if (value in outputs and value not in kept) or not all(
            user in region or (user.op_type == "Identity" and user.outputs[0] in kept) for user, _ in value.uses()
        ):
            return False
    return True


def _uncast(value: ir.Value | None) -> ir.Value | None:
    node = maker(value, "Cast", "Identity")
    while node is not None:
        value = node.inputs[0]
        node = maker(value, "Cast", "Identity")
    return value


def _limited(bench: Bench, rows: ir.Value, count: ir.Value | None) -> ir.Value:
    """As many rows as the loop has iterations."""
    assert count is not None
    if _is_length(rows, count):
        return rows
    name = f"{rows.name}.steps"
    one = bench.ints(f"{name}.one", [1])
    end = bench.node("Reshape", [count, one], {}, f"{name}.end", shape=[1], dtype=ir.DataType.INT64)
    zero = bench.ints(f"{name}.zero", [0])
    return bench.node("Slice", [rows, zero, end, zero], {}, name, shape=[None, *(dims_of(rows) or ())[1:]])


def _is_length(rows: ir.Value, count: ir.Value) -> bool:
    """Whether a number is known to be how many rows there are."""
    known, size = scalar_of(count), (dims_of(rows) or (None,))[0]
    if known is not None:
        return size == int(known)
    value: ir.Value | None = count
    place = 0
    while (node := maker(value, "Cast", "Squeeze", "Reshape", "Identity", "Gather", "Slice")) is not None:
        if node.op_type in ("Gather", "Slice"):
            places = ints_of(node.inputs[1])
            if places is None or len(places) != 1:
                return False
            place = places[0]
        value = node.inputs[0]
    shape = maker(value, "Shape")
    if shape is None or shape.inputs[0] is None:
        return False
    start = shape.attributes["start"].as_int() if "start" in shape.attributes else 0
    return _dim(shape.inputs[0], start + place) == _dim(rows, 0)


def _dim(value: ir.Value, axis: int) -> tuple[ir.Value, int]:
    """The value that a dim comes from, through nodes that move dims or leave them as they are."""
    while (node := maker(value, "Transpose", "Identity", "Slice", "Cast")) is not None and node.inputs[0] is not None:
        if node.op_type == "Transpose":
            axis = node.attributes["perm"].as_ints()[axis]
        elif node.op_type == "Slice" and not any(
            is_reversal(value, turned) is not None for turned in range(len(dims_of(value) or ()))
        ):
            break
        value = node.inputs[0]
    return value, axis


def _without(
    loop: _Loop, cell: Cell, places: Sequence[int], made: Recurrence, region: set[ir.Node], bench: Bench
) -> ir.Node | None:
    """The loop without a cell's variables; None when nothing is left of it."""
    node, finals, scans = loop.node, loop.finals, loop.scans
    shown = cell.made[0]
    count = len(loop.params)
    known: dict[int, ir.Value] = dict(zip(places, made.last, strict=True))
    for place in range(count):
        # A variable that is only set to the state, and never read, is the last state.
        if place not in known and finals[place] is shown and not loop.params[place].uses():
            known[place] = made.last[0]
    known.update({count + i: made.sequence for i, value in enumerate(scans) if value is shown})
    for place, value in known.items():
        output = node.outputs[place]
        if output.is_graph_output():
            value = bench.node("Identity", [value], {}, f"{output.name}.state", shape=list(value.shape or ()))
            replace_value(output, value)
        else:
            replace_value(output, value, keep_name=True)
    left = [place for place in range(len(node.outputs)) if place not in known]
    if not left:
        bench.graph.remove(node, safe=True)
        discard(loop.body)
        return None
    _read_rows(loop, cell, made.sequence, region, bench)
    return _rebuilt(loop, left, bench)


def _read_rows(loop: _Loop, cell: Cell, rows: ir.Value, region: set[ir.Node], bench: Bench) -> None:
    """What uses the state in the loop reads it from the rows that were computed before."""
    shown = cell.made[0]
    users = [(user, index) for user, index in shown.uses() if user not in region]
    first = shown.producer()
    if first is None or not users:
        return
    inner = Bench(bench.shop, bench.root, first, [first])
    row = inner.node(
        "Gather", [rows, loop.body.inputs[0]], {"axis": 0}, f"{shown.name}.row", shape=list(shown.shape or ())
    )
    for user, index in users:
        user.replace_input_with(index, row)


def _rebuilt(loop: _Loop, left: Sequence[int], bench: Bench) -> ir.Node:
    """The same loop with some of its variables and scan outputs."""
    node, body, count = loop.node, loop.body, len(loop.params)
    carried = [place for place in left if place < count]
    params, outputs = [body.inputs[2 + place] for place in carried], [body.outputs[1 + place] for place in left]
    going = body.outputs[0]
    inputs = [node.inputs[0], node.inputs[1], *(node.inputs[2 + place] for place in carried)]
    if not carried and inputs[1] is None:
        inputs = inputs[:1]
    results = [node.outputs[place] for place in left]
    attribute = node.attributes.pop("body")
    new = ir.node("Loop", inputs, {}, num_outputs=len(left), name=node.name)
    new.attributes["body"] = attribute
    inherit([new], node, by=MADE_BY)
    for old, value in zip(results, new.outputs, strict=True):
        replace_value(old, value)
    bench.graph.insert_before(node, new)
    bench.graph.remove(node, safe=True)
    body.outputs[:] = [going, *outputs]
    prune_graph(body)
    body.inputs[:] = [*body.inputs[:2], *params]
    return new
