"""While loops as ONNX Loops.

What never changes stays outside the loop; counters follow from the number of the iteration; a list that gets one
element in each iteration is a scan output. All else is carried from iteration to iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow.control.carried_values import conformed, parts, rebuilt
from trueport.frontends.tensorflow.control.lists import as_rows, as_sequence, length, lengthened, merged_shape, zeros
from trueport.frontends.tensorflow.control.loop_facts import (
    LIST_WRITES,
    Facts,
    Limit,
    examine,
    list_writes,
    plain,
    users,
)
from trueport.frontends.tensorflow.source.dtypes import is_tensor_type, onnx_type
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Listing, Resource, Translated, Unknown
from trueport.frontends.tensorflow.translate.variables import (
    inner_variable,
    read_variable,
    variable_type,
    write_variable,
)

__all__ = ["translate_while"]

_JOINS = {"TensorListConcat", "TensorListConcatV2"}
_STACKS = {"TensorListStack", "TensorListGather", "TensorListLength"}


@dataclass
class _Written:
    """A variable of the model that the loop sets."""

    index: int
    resource: Translated
    inside: Resource | None = None


@dataclass
class _Variable:
    """One loop variable: what it is before, in and after the loop."""

    index: int
    begin: Any
    """the body's input, a TensorFlow tensor"""
    end: Any
    """the tensor that the body makes for it"""
    before: Translated
    params: tuple[ir.Value, ...] = ()
    """inputs of the loop's body"""
    after: Translated = field(default_factory=Unknown)


def translate_while(t: Translation, variables: Sequence[Translated], cond: str, body: str) -> list[Translated]:
    """The variables after the loop."""
    return _Loop(t, variables, cond, body).build()


class _Loop:
    def __init__(self, t: Translation, variables: Sequence[Translated], cond: str, body: str) -> None:
        self.t = t
        shapes = [tensor.shape for tensor in t.node.operation.outputs]
        self.cond = t.body(cond, shapes)
        self.body = t.body(body, shapes)
        known = {i: found for i, v in enumerate(variables) if (found := t.static(v)) is not None and found.ndim == 0}
        written = t.written(self.body)
        outputs = t.node.operation.outputs
        # What is written to a variable may hang on all others.
        used = [i for i, tensor in enumerate(outputs) if written or _is_used(tensor)]
        self.facts: Facts = examine(self.cond, self.body, used, known)
        self.written = [_Written(i, value) for i, value in enumerate(variables) if i in written]
        self.variables = [
            _Variable(i, begin, end, value)
            for i, (begin, end, value) in enumerate(zip(self.body.inputs, self.body.outputs, variables, strict=True))
        ]
        self.counters: list[_Variable] = []
        self.grown: list[_Variable] = []
        self.carried: list[_Variable] = []
        self.trip = self._trip_count() if self.facts.limits is not None else None

    def _trip_count(self) -> ir.Value | None:
        """The number of iterations as an int64 scalar."""
        counts: dict[Any, tuple[ir.Value, Any]] = {}
        for limit in self.facts.limits or ():
            bound, key = self._bound(limit)
            start = self._start(limit.counter)
            if start is None:
                counts[key, limit.counter] = bound, self.variables[limit.counter].before
            else:
                counts[key] = bound, max(start, counts.get(key, (bound, start))[1])
        found = [self._distance(bound, start) for bound, start in counts.values()]
        return self.t.op.Min(*found) if len(found) > 1 else next(iter(found), None)

    def _start(self, counter: int) -> int | None:
        known = self.t.static(self.variables[counter].before)
        return None if known is None else int(known)

    def _distance(self, bound: ir.Value, start: Any) -> ir.Value:
        begin = self.t.op.const(np.array(start, np.int64)) if isinstance(start, int) else self.t.int64(start)
        known = self.t.static(bound), self.t.static(begin)
        if known[0] is not None and known[1] is not None:
            return self.t.op.const(known[0] - known[1])
        return bound if known[1] is not None and known[1] == 0 else self.t.op.Sub(bound, begin)

    def _bound(self, limit: Limit) -> tuple[ir.Value, Any]:
        """What a counter is compared with, and what tells it from other bounds."""
        if limit.bound is None:
            return self.t.op.const(np.array(limit.number, np.int64)), limit.number
        (value,) = self.t.enter(self.cond, [v.before for v in self.variables], [limit.bound])
        if not isinstance(value, ir.Value):
            raise self.t.fail(
                "ends at a number that is computed by what can't be converted", "replace that operation first"
            )
        bound = self.t.int64(value)
        return (self.t.op.Add(bound, limit.number) if limit.number else bound), (value, limit.number)

    def build(self) -> list[Translated]:
        for variable in self.variables:
            self._sort(variable)
        made = self._loop()
        return [Unknown() for _ in self.variables] if made is None else [variable.after for variable in self.variables]

    def _sort(self, variable: _Variable) -> None:
        """What becomes of a variable: it stays outside, counts, collects, or is carried."""
        facts = self.facts
        if variable.index in facts.invariant:
            variable.after = variable.before
        elif variable.index not in facts.live:
            return
        elif variable.index in facts.counters and facts.limits is not None:
            self.counters.append(variable)
        elif self._grows(variable):
            self.grown.append(variable)
        else:
            self._carry(variable)

    def _write(self, variable: _Variable) -> Any:
        """The one operation that writes to a list in the body, where nothing else looks at the list."""
        write = plain(variable.end).op
        if write.type not in LIST_WRITES or plain(write.inputs[0]).name != variable.begin.name:
            return None
        looked_at = users(self.cond, self.cond.inputs[variable.index]) and self.facts.limits is None
        return None if looked_at or len(users(self.body, variable.begin)) > 1 else write

    def _grows(self, variable: _Variable) -> bool:
        """Whether each iteration writes the element after those that are there."""
        listing = variable.before
        write = self._write(variable) if isinstance(listing, Listing) else None
        if write is None or self._is_uneven(variable):
            return False
        assert isinstance(listing, Listing)
        if write.type == "TensorListPushBack":
            return listing.count is None
        index = plain(write.inputs[1]).name
        counter = next((v for v in self.variables if v.begin.name == index and v.index in self.facts.counters), None)
        start = None if counter is None else self.t.static(counter.before)
        if start is None or listing.elements is None:
            return False
        written = [place for place, value in enumerate(listing.elements) if value is not None]
        return list(range(int(start))) == written

    def _is_uneven(self, variable: _Variable) -> bool:
        """Whether elements may differ in shape: they are joined, or of an unknown shape and not only stacked."""
        tensor = self.t.node.operation.outputs[variable.index]
        kinds = {user.type for user in users(tensor.graph, tensor)}
        dims = self._element(variable)
        return bool(kinds & _JOINS) or (bool(kinds - _STACKS) and (dims is None or None in dims))

    def _is_slot(self, variable: _Variable) -> bool:
        """A list of one element that is written again and again."""
        listing = variable.before
        if not isinstance(listing, Listing) or listing.count is not None or listing.elements != (None,):
            return False
        write = self._write(variable)
        index = None if write is None or write.type != "TensorListSetItem" else plain(write.inputs[1])
        return index is not None and index.op.type == "Const"

    def _carry(self, variable: _Variable) -> None:
        """Make the body's inputs for a variable that each iteration computes anew."""
        value = variable.before
        if isinstance(value, Listing):
            value = variable.before = self._carried_list(variable, value)
        if not parts(value):
            raise self.t.fail(
                "each iteration has another variable or table; ONNX's loops hand on values only",
                "use one variable or table throughout, or hand on its value",
            )
        dims = self._carried_dims(variable)
        variable.params = tuple(
            ir.Value(name=part.name, type=part.type, shape=None if dims is None else ir.Shape(dims))
            for part in parts(value)
        )
        self.carried.append(variable)

    def _carried_dims(self, variable: _Variable) -> Sequence[int | None] | None:
        """A shape that holds in all iterations."""
        value = variable.before
        if _is_tensor(variable.begin):
            rank = variable.begin.shape.rank
            return None if rank is None else list(variable.begin.shape.as_list())
        element = self._element(variable)
        if element is None or (isinstance(value, Listing) and value.sequence is not None):
            return None
        return element if isinstance(value, ir.Value) else [None, *element]

    def _element(self, variable: _Variable) -> tuple[int | None, ...] | None:
        """What is known of the shape of a list's elements, from the list and from what is written to it."""
        listing = variable.before
        declared = listing.shape if isinstance(listing, Listing) else None
        shapes = [op.inputs[-1].shape for op in list_writes(self.body, variable.begin)]
        known = [tuple(shape.as_list()) for shape in shapes if shape.rank is not None]
        common = [tuple(dims[0] if len(set(dims)) == 1 else None for dims in zip(*known, strict=True))] if known else []
        return merged_shape(declared, *common)

    def _carried_list(self, variable: _Variable, listing: Listing) -> Translated:
        dims = self._element(variable)
        if self._is_slot(variable) and dims is not None:
            # Its shape is that of what is written first; no iteration would be an error in TensorFlow.
            return zeros(self.t, listing.dtype, tuple(dim or 0 for dim in dims))
        resized = any(
            op.type != "TensorListSetItem" or op.get_attr("resize_if_index_out_of_bounds")
            for op in list_writes(self.body, variable.begin)
        )
        if resized or listing.sequence is not None or dims is None or None in dims:
            return Listing(listing.dtype, dims, sequence=as_sequence(self.t, listing, dims))
        return Listing(listing.dtype, dims, stacked=as_rows(self.t, listing, dims))

    def _loop(self) -> tuple[ir.Value, ...] | None:
        """The Loop node; None where something in it was refused."""
        t = self.t
        iteration = ir.Value(name="iteration", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([]))
        going = ir.Value(name="going", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
        states, stored = self._states()
        inner = t.inside([iteration, going, *(part for v in self.carried for part in v.params), *states])
        values = self._values(inner, iteration)
        for written, state in zip(self.written, states, strict=True):
            assert isinstance(written.resource, Resource)
            values[written.index] = written.inside = inner_variable(written.resource, inner, state)
        wanted = [self._made(v) for v in (*self.carried, *self.grown)]
        results = inner.enter(self.body, values, wanted)
        begins = None
        if self.facts.limits is None:
            (begins,) = t.enter(self.cond, [v.before for v in self.variables], self.cond.outputs)
            following = [v.before if v.index in self.facts.invariant else Unknown() for v in self.variables]
            for written in self.written:
                following[written.index] = written.inside or Unknown()
            for variable, result in zip((*self.carried, *self.grown), results, strict=True):
                following[variable.index] = result
            (going_on,) = inner.enter(self.cond, following, self.cond.outputs)
        else:
            going_on = going
        if any(isinstance(value, Unknown) for value in (begins, going_on, *results)):
            return None
        carried = [
            part
            for v, result in zip(self.carried, results, strict=False)
            for part in conformed(inner, v.before, result)
        ]
        carried += [w.inside.value for w in self.written if w.inside is not None and w.inside.value is not None]
        scanned = [self._tensor(result) for result in results[len(self.carried) :]]
        graph = inner.close([self._truth(inner, going_on), *carried, *scanned])
        initial = [*(part for v in self.carried for part in parts(v.before)), *stored]
        count = len(carried) + len(scanned)
        first = None if begins is None else self._truth(t, begins)
        if first is None and not initial:
            # Two inputs are the least that ONNX's shape inference takes.
            first = t.op.const(np.array(True))
        outputs = t.op.several(count).Loop(self.trip, first, *initial, body=graph) if count else ()
        self._finish(outputs, graph)
        return outputs

    def _states(self) -> tuple[list[ir.Value], list[ir.Value]]:
        """Inputs of the body for variables of the model that it sets, and the values that they have before."""
        stored = []
        for written in self.written:
            assert isinstance(written.resource, Resource), "what is captured or made as a variable is one"
            stored.append(read_variable(self.t, written.resource, variable_type(self.t, written.resource)))
        return [ir.Value(name=v.name, type=v.type, shape=v.shape) for v in stored], stored

    def _values(self, inner: Translation, iteration: ir.Value) -> list[Translated]:
        """The body's inputs."""
        values: list[Translated] = [v.before if v.index in self.facts.invariant else Unknown() for v in self.variables]
        for variable in self.counters:
            start = variable.before
            assert isinstance(start, ir.Value)
            known = self.t.static(start)
            count = iteration if known is not None and known == 0 else inner.op.Add(iteration, self.t.int64(start))
            values[variable.index] = inner.cast(count, onnx_type(variable.begin.dtype))
        for variable in self.carried:
            values[variable.index] = rebuilt(variable.before, variable.params)
        return values

    def _made(self, variable: _Variable) -> Any:
        """The tensor that an iteration makes: of a list that is written once, the element."""
        single = variable in self.grown or (isinstance(variable.before, ir.Value) and not _is_tensor(variable.begin))
        return plain(variable.end).op.inputs[-1] if single else variable.end

    def _tensor(self, value: Translated) -> ir.Value:
        if not isinstance(value, ir.Value):
            raise self.t.fail(
                "collects complex numbers in a list; ONNX has real ones only", "collect the two parts by themselves"
            )
        return value

    def _truth(self, t: Translation, value: Translated) -> ir.Value:
        """A condition as a boolean scalar."""
        tensor = self._tensor(value)
        flat = (
            tensor
            if tensor.shape is not None and tensor.shape.rank() == 0
            else t.op.Reshape(tensor, np.array([], np.int64))
        )
        return t.cast(flat, ir.DataType.BOOL)

    def _finish(self, outputs: Sequence[ir.Value], graph: ir.Graph) -> None:
        """Types of the Loop's outputs, and the variables made of them."""
        remaining = iter(outputs)
        for variable in self.carried:
            finals = [next(remaining) for _ in variable.params]
            for final, param in zip(finals, variable.params, strict=True):
                final.type, final.shape = param.type, param.shape
            if isinstance(variable.before, ir.Value) and not _is_tensor(variable.begin):
                variable.after = Listing(self.t.dtype(finals[0]), elements=tuple(finals))
            else:
                variable.after = rebuilt(variable.before, finals)
        for written in self.written:
            final, inside = next(remaining), written.inside
            assert inside is not None and inside.value is not None
            final.type, final.shape = inside.value.type, inside.value.shape
            write_variable(self.t, written.resource, final)
        for variable in self.grown:
            rows = next(remaining)
            element = graph.outputs[len(outputs) + 1 - len(self.grown) + self.grown.index(variable)]
            rows.type = element.type
            rows.shape = None if element.shape is None else ir.Shape([None, *element.shape])
            variable.after = self._collected(variable, rows)
        for variable in self.counters:
            start = variable.before
            assert isinstance(start, ir.Value) and self.trip is not None
            ran = self.t.op.Add(self.t.int64(start), self.t.op.Max(self.trip, 0))
            variable.after = self.t.cast(ran, self.t.dtype(start))

    def _collected(self, variable: _Variable, rows: ir.Value) -> Listing:
        """The list after the loop: what was there, what was added, and elements that were never written."""
        t, listing = self.t, variable.before
        assert isinstance(listing, Listing)
        made = [rows]
        if listing.stacked is not None or listing.sequence is not None or any(listing.elements or ()):
            written = tuple(value for value in listing.elements or () if value is not None)
            there = Listing(listing.dtype, listing.shape, listing.stacked, listing.sequence, written or None)
            made.insert(0, as_rows(t, there))
        joined = t.op.Concat(*made, axis=0) if len(made) > 1 else rows
        if not self._fills(variable, listing):
            have = t.op.Shape(joined, start=0, end=1)
            joined = lengthened(t, joined, t.op.Max(t.op.Sub(length(t, listing), have), [0]))
        return Listing(listing.dtype, listing.shape, stacked=joined)

    def _fills(self, variable: _Variable, listing: Listing) -> bool:
        """Whether the loop is known to write every element that the list has."""
        if plain(variable.end).op.type == "TensorListPushBack" or (listing.elements == () and listing.count is None):
            return True
        limits = self.facts.limits or ()
        starts = [self._start(limit.counter) for limit in limits]
        written = sum(value is not None for value in listing.elements or ())
        # Counters that started earlier than the list's own, with the same bound, end the loop later.
        if written not in starts or any(start is None or start > written for start in starts):
            return False
        return all(self._is_length(limit, listing) for limit in limits)

    def _is_length(self, limit: Limit, listing: Listing) -> bool:
        if limit.bound is None:
            return listing.count is None and len(listing.elements or ()) == limit.number
        place = next((v.index for v in self.variables if self.cond.inputs[v.index].name == limit.bound.name), None)
        same = place is not None and listing.count is not None and self.variables[place].before is listing.count
        return same and limit.number == 0


def _is_tensor(tensor: Any) -> bool:
    return is_tensor_type(tensor.dtype)


def _is_used(tensor: Any) -> bool:
    graph = tensor.graph
    return bool(tensor.consumers()) or any(output is tensor for output in getattr(graph, "outputs", ()))
