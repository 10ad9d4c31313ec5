"""Unrolled recurrences: the same cell written out for one row of a tensor after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from trueport.ir.replace import replace_value
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import dims_of, ints_of, is_constant, maker
from trueport.passes.recognize.recurrent_cells import Cell, cells, plain
from trueport.passes.recognize.recurrent_emit import Bench, Recurrence, emit, is_fit, reversed_rows

__all__ = ["replace_chains"]

_LAST_STEPS = ("Mul", "Add", "Tanh", "Relu", "Sigmoid", "Softsign", "Softplus", "Elu")
"""Operators that can make the state that a cell shows."""


def replace_chains(graph: ir.Graph, shop: Workshop, root: ir.Graph) -> int:
    """Replace all chains of two or more steps, in place; how many."""
    if not any(node.inputs[0] is not None and _row(node.inputs[0]) for node in graph if node.op_type == "MatMul"):
        return 0
    steps = {cell.made[0]: cell for node in graph if (cell := _step(node)) is not None}
    followers = {cell.state[0]: cell for cell in steps.values()}
    done = 0
    for cell in list(steps.values()):
        if cell.state[0] not in steps or not _follows(steps[cell.state[0]], cell):
            chain = _chain(cell, followers)
            done += len(chain) > 1 and _replace(chain, shop, root)
    return done


def _step(node: ir.Node) -> Cell | None:
    if node.domain or node.op_type not in _LAST_STEPS:
        return None
    found = cells(node.outputs[0], is_constant, lambda value: _row(value) is not None)
    return next((cell for cell in found if is_fit(cell)), None)


def _row(value: ir.Value) -> tuple[ir.Value, int] | None:
    """The tensor that a value is one row of, and which."""
    value = plain(value)
    squeeze = maker(value, "Squeeze")
    split = maker(squeeze.inputs[0], "Split") if squeeze is not None else None
    if squeeze is not None and split is not None:
        along = split.attributes["axis"].as_int() if "axis" in split.attributes else 0
        single = all((dims_of(part) or (None,))[0] == 1 for part in split.outputs)
        part, rows = squeeze.inputs[0], split.inputs[0]
        if along == 0 and single and ints_of(squeeze.inputs[1]) == [0] and part is not None and _is_sequence(rows):
            assert rows is not None
            return rows, split.outputs.index(part)
    gather = maker(value, "Gather")
    if gather is None or (gather.attributes["axis"].as_int() if "axis" in gather.attributes else 0) != 0:
        return None
    place, rows = ints_of(gather.inputs[1]), gather.inputs[0]
    if place is None or dims_of(gather.inputs[1]) != () or not _is_sequence(rows):
        return None
    assert rows is not None
    return rows, place[0] % ((dims_of(rows) or (None,))[0] or 1)


def _is_sequence(rows: ir.Value | None) -> bool:
    """Three dims, of which the first is known."""
    dims = dims_of(rows)
    return dims is not None and len(dims) == 3 and bool(dims[0])


def _follows(one: Cell, two: Cell) -> bool:
    """Whether a cell is the same as another and starts where that ends."""
    moved = replace(two, x=one.x, state=one.state, made=one.made)
    return two.state == one.made and moved == one


def _chain(first: Cell, followers: dict[ir.Value, Cell]) -> list[Cell]:
    chain = [first]
    while (following := followers.get(chain[-1].made[0])) is not None and _follows(chain[-1], following):
        chain.append(following)
    return chain


def _replace(chain: Sequence[Cell], shop: Workshop, root: ir.Graph) -> bool:
    rows = [row for cell in chain if (row := _row(cell.x)) is not None]
    data, places = rows[0][0], [place for _, place in rows]
    count = (dims_of(data) or (0,))[0] or 0
    backwards = places == list(range(count))[::-1]
    if any(row[0] is not data for row in rows) or not (backwards or places == list(range(count))):
        return False
    first = chain[0].made[0].producer()
    assert first is not None
    bench = Bench(shop, root, first, [node for cell in chain if (node := cell.made[0].producer()) is not None])
    name = chain[-1].made[0].name or chain[0].op
    made = emit(bench, chain[0], data, chain[0].state, name, backwards=backwards)
    _hand_over(chain, made, places, bench)
    return True


def _hand_over(chain: Sequence[Cell], made: Recurrence, places: Sequence[int], bench: Bench) -> None:
    """Who used the state of a step uses the operator's; who stacked all of them has them stacked already."""
    region = _region(chain)
    last = chain[-1]
    _join_stacks(chain, made, places, bench)
    for value, state in zip(last.made, made.last, strict=True):
        _redirect(value, state, region)
    for cell, place in zip(chain[:-1], places, strict=False):
        shown = cell.made[0]
        if any(user not in region and any(v.uses() for v in user.outputs) for user, _ in shown.uses()):
            index = bench.shop.constant(bench.root, f"{shown.name}.place", np.array(place, np.int64))
            row = bench.node(
                "Gather", [made.sequence, index], {"axis": 0}, f"{shown.name}.row", shape=list(shown.shape or ())
            )
            _redirect(shown, row, region)


def _region(chain: Sequence[Cell]) -> set[ir.Node]:
    """The nodes of all steps."""
    borders = {plain(cell.x) for cell in chain} | set(chain[0].state)
    waiting, found = [value for cell in chain for value in cell.made], set()
    while waiting:
        value = waiting.pop()
        node = value.producer()
        if node is not None and node not in found and plain(value) not in borders:
            found.add(node)
            waiting += [part for part in node.inputs if part is not None]
    return found


def _redirect(old: ir.Value, new: ir.Value, region: set[ir.Node]) -> None:
    if not old.is_graph_output() or new.is_graph_output():
        replace_value(old, new, keep_name=True, except_in=region)
        return
    spare = f"{new.name}.step"
    replace_value(old, new, except_in=region)
    old.name = spare


def _join_stacks(chain: Sequence[Cell], made: Recurrence, places: Sequence[int], bench: Bench) -> None:
    """A stack of the states of all steps, along the first or the second axis."""
    order = {cell.made[0]: place for cell, place in zip(chain, places, strict=True)}
    for stack in _stacks(chain[0].made[0]):
        parts = [_unstacked(part) for part in stack.inputs]
        axis = stack.attributes["axis"].as_int() % 3
        found = [order.get(part) for part in parts if part is not None]
        ones = all((dims_of(part) or (None,) * 3)[axis] == 1 for part in stack.inputs)
        if axis > 1 or not ones or found not in (list(range(len(chain))), list(range(len(chain)))[::-1]):
            continue
        after = Bench(bench.shop, bench.root, stack, [stack])
        rows = made.sequence if found[0] == 0 else reversed_rows(after, made.sequence, f"{made.sequence.name}.reversed")
        old = stack.outputs[0]
        new = after.node(
            "Transpose" if axis else "Identity",
            [rows],
            {"perm": [1, 0, 2]} if axis else {},
            f"{old.name}.rows",
            shape=list(old.shape or ()),
        )
        _redirect(old, new, set())


def _stacks(value: ir.Value) -> list[ir.Node]:
    """Concats of three dims that a value goes into, with only its shape changed."""
    found = []
    for user, _ in value.uses():
        if user.op_type in ("Unsqueeze", "Reshape", "Identity") and len(dims_of(user.outputs[0]) or ()) in (2, 3):
            found += _stacks(user.outputs[0])
        elif user.op_type == "Concat" and len(dims_of(user.outputs[0]) or ()) == 3:
            found.append(user)
    return found


def _unstacked(value: ir.Value | None) -> ir.Value | None:
    while (node := maker(value, "Unsqueeze", "Reshape", "Identity")) is not None:
        value = node.inputs[0]
    return value
