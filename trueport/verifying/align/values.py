"""Which value of the target is which of the source's: by name, by their numbers on a probe, by structure.

A target that Trueport made says so itself. Another tool's may keep names, in another order of axes; what it renamed is
recognized by its numbers, and what is wrong, so that its numbers don't tell, by what it is made from. None of this
says whether a value is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueport.ir.artifact import InnerValue
from trueport.operators.record import Trait
from trueport.operators.table import with_trait
from trueport.reference.walk import Place, Walkable
from trueport.runtimes.base import Model, Operation
from trueport.verifying.align.families import family
from trueport.verifying.align.fingerprints import Sketch, best_order, orders, sketch
from trueport.verifying.locate.result import Alignment

__all__ = ["AlignedModel", "align"]

_CHUNK = 64
"""Values that are fetched at once to be recognized."""
_CLOSE = 1e-2
"""A relative distance up to which numbers are taken to be the same value's."""
_MOVES = frozenset(known.name for known in with_trait(Trait.SAME_NUMBERS))
"""Operators of ONNX and TensorFlow, which have these names in common."""
_STILL = frozenset({"Const", "Constant", "Placeholder", "ReadVariableOp", "NoOp", "VarHandleOp"})


class AlignedModel(Model):
    """A target whose inner values stand under the source's names, in the source's order of axes."""

    def __init__(
        self,
        model: Model,
        values: Mapping[str, InnerValue],
        found: Alignment,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        """``values``: by the source's names, the target's own name for each and the order in which it holds it.

        ``shapes`` of the target's values, by its own names; none where the names are the source's and nothing was
        guessed.
        """
        self._model = model
        self._values = dict(values)
        self._shapes = shapes
        self.found = found
        self.runtime = model.runtime
        self.inputs, self.outputs = model.inputs, model.outputs
        self._makers = {made: operation for operation in model.operations() for made in operation.outputs}

    def inner(self) -> Mapping[str, InnerValue]:
        return self._values

    def operations(self) -> Sequence[Operation]:
        return self._model.operations()

    def constants(self) -> Mapping[str, Any]:
        return self._model.constants()

    def own_names(self, value: str) -> tuple[str, str]:
        """What the target calls a value, and the node that makes it."""
        held = self._values.get(value)
        if held is None:
            return "", ""
        tensor = self._model.inner().get(held.tensor, held).tensor
        maker = self._makers.get(tensor)
        return tensor, maker.name or maker.op if maker is not None else ""

    def own_arrays(self, arrays: Mapping[str, Any], ports: Mapping[str, str]) -> dict[str, Any]:
        """Return arrays by the target's own names, in its order of axes; ``ports``: those that are inputs, and as such.

        What is not aligned is left out.
        """
        inputs = self._model.input_values()
        held = {n: inputs.get(ports[n]) if n in ports else self._values.get(n) for n in arrays}
        return {v.tensor: _turned(np.asarray(arrays[n]), v.perm) for n, v in held.items() if v is not None}

    def source_names(self) -> dict[str, str]:
        """Return the source's names by the target's own ones, of what is aligned."""
        return {self.own_names(name)[0]: name for name in self._values}

    def with_values(self, more: Mapping[str, InnerValue]) -> AlignedModel:
        found = Alignment(self.found.by_name, self.found.by_structure, self.found.by_values + len(more))
        return AlignedModel(self._model, {**self._values, **more}, found, self._shapes)

    @property
    def exact(self) -> bool:
        """Whether the alignment is the target's own word, and no guess."""
        return self._shapes is None

    def shapes_before(self, value: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The target's values that one is made from, up to aligned ones, the nearest first; its names, their shapes."""
        keys = {held.tensor: key for key, held in self._model.inner().items()}
        for tensor in self._made_of(value):
            if tensor in keys and keys[tensor] in (self._shapes or {}):
                yield keys[tensor], (self._shapes or {})[keys[tensor]]

    def _made_of(self, value: str) -> Iterator[str]:
        """The target's tensors behind a value, back to aligned ones, the nearest first."""
        known = self._model.inner()
        aligned = {known[held.tensor].tensor for held in self._values.values() if held.tensor in known}
        waiting = [known[self._values[value].tensor].tensor] if value in self._values else []
        seen = set(waiting)
        while waiting:
            maker = self._makers.get(waiting.pop(0))
            fresh = [t for t in (maker.inputs if maker is not None else ()) if t not in seen]
            seen.update(fresh)
            waiting += [tensor for tensor in fresh if tensor not in aligned]
            yield from fresh

    def segment(self, fed: Mapping[str, Any], fetch: Sequence[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
        given = {self._values[name].tensor: _turned(array, self._values[name].perm) for name, array in fed.items()}
        keys = list(dict.fromkeys(self._values[name].tensor for name in fetch))
        made = self._model.segment(given, keys, feeds)
        return {name: _back(made[self._values[name].tensor], self._values[name].perm) for name in fetch}

    def constants_before(self, value: str) -> Iterator[tuple[str, Any]]:
        """Weights of the operations that make a value out of aligned ones, under the target's names."""
        stored = self._model.constants()
        yield from ((tensor, stored[tensor]) for tensor in self._made_of(value) if tensor in stored)

    def write_part(
        self, given: Mapping[str, Any], ports: Mapping[str, str], fetch: str, feeds: Mapping[str, Any], place: Path
    ) -> tuple[dict[str, InnerValue], InnerValue]:
        """The part under the target's own names: for each given value, and for what it makes, the name and the order.

        ``ports``: which of the given values are inputs of the model, and their names as such.
        """
        inputs = self._model.input_values()
        taken = {name: inputs[ports[name]] if name in ports else self._values[name] for name in given}
        turned = {taken[name].tensor: _turned(np.asarray(array), taken[name].perm) for name, array in given.items()}
        self._model.cut(turned, self._values[fetch].tensor, feeds, place)
        return taken, self._values[fetch]

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        if fetch is None:
            return self._model.run(feeds)
        known = {name: self._values.get(name, InnerValue(name)) for name in fetch}
        made = self._model.run(feeds, fetch=list(dict.fromkeys(value.tensor for value in known.values())))
        return {name: _back(made[value.tensor], value.perm) for name, value in known.items()}


def align(walk: Walkable, target: Model, outputs: Mapping[str, InnerValue], feeds: Mapping[str, Any]) -> AlignedModel:
    """``outputs``: of the source's outputs, the target's inner value and order; ``feeds`` is what both are run on."""
    names = [name for place in walk.places for name in place.makes if name and name not in walk.unseen]
    known = target.inner()
    ends = {walk.outputs[port]: held for port, held in outputs.items() if walk.outputs[port] in names}
    plain = target.keeps_names or target.runtime == walk.executions[0].runtime
    if plain:
        values = {**{name: InnerValue(name) for name in names if name in known}, **ends}
        # Made of the same model in another form, the source's names may have another beginning.
        recorded = target.keeps_names and 4 * len(values) > len(names)
        if recorded or len(values) == len(names):
            return AlignedModel(target, values, Alignment(by_name=len(values)))
    same = target.runtime == walk.executions[0].runtime
    return _Aligner(walk, target, feeds, names, same_form=same).run(ends)


@dataclass
class _Aligner:
    walk: Walkable
    target: Model
    feeds: Mapping[str, Any]
    names: Sequence[str]
    same_form: bool

    def run(self, ends: Mapping[str, InnerValue]) -> AlignedModel:
        self._operations = list(self.target.operations())
        self._sources = dict(_fetched(self.walk.executions[0], self.feeds, self.names))
        still = {made for o in self._operations if o.op in _STILL for made in o.outputs}
        known = self.target.inner()
        self._keys = [key for key, held in known.items() if held.tensor not in still]
        self._targets = dict(_fetched(self.target, self.feeds, self._keys))
        order = {made: index for index, o in enumerate(self._operations) for made in o.outputs}
        self._order = {key: order.get(known[key].tensor, 0) for key in self._keys}
        self._ops = {made: o for o in self._operations for made in o.outputs}
        self._named = {known[key].tensor: key for key in self._keys}
        self._users = _users(self._operations)
        self._makers = {name: place for place in self.walk.places for name in place.makes}
        self._readers = _readers(self.walk.places)
        # Outputs are what they are said to be, however wrong their numbers.
        self._values: dict[str, InnerValue] = dict(ends)
        by_name = self._by_name()
        by_values = self._by_numbers()
        by_structure = self._by_structure()
        shapes = {key: np.shape(array) for key, array in self._targets.items()}
        return AlignedModel(self.target, self._values, Alignment(by_name, by_structure, by_values), shapes)

    def _by_name(self) -> int:
        """The same name, or one of those that a fused value is named after; in whatever order fits best."""
        listed: dict[str, list[str]] = {}
        for key in self._keys:
            for part in {key, *key.split(";")}:
                listed.setdefault(part.removesuffix(":0"), []).append(key)
        for name in self.names:
            for key in listed.get(name, []) if name not in self._values else ():
                pair = self._pair(name, key)
                # A name that several values were fused under is one of theirs: the numbers say whose.
                if pair is not None and (";" not in key or pair[1] < _CLOSE):
                    self._values[name] = pair[0]
        return len(self._values)

    def _pair(self, name: str, key: str) -> tuple[InnerValue, float] | None:
        mine, theirs = self._sources.get(name), self._targets.get(key)
        if not isinstance(mine, np.ndarray) or not isinstance(theirs, np.ndarray):
            return None
        if self.same_form and mine.shape == theirs.shape:
            return InnerValue(key), 0.0
        found = best_order(mine, theirs) if mine.dtype.kind in "fiub" else None
        if found is None:
            return (InnerValue(key), 1.0) if mine.shape == theirs.shape else None
        perm, gap = found
        return InnerValue(key, None if perm == tuple(range(mine.ndim)) else perm), gap

    def _by_numbers(self) -> int:
        marks = {key: mark for key in self._keys if (mark := sketch(self._targets.get(key))) is not None}
        before = len(self._values)
        used = {held.tensor for held in self._values.values()}
        for name in self.names:
            mark = sketch(self._sources.get(name))
            if name in self._values or mark is None:
                continue
            place = self._makers[name]
            after = max((self._order[h.tensor] for h in self._known_before(place)), default=-1)
            best = self._nearest(name, mark, marks, place, after, used)
            if best is not None:
                self._values[name] = best
                used.add(best.tensor)
        return len(self._values) - before

    def _nearest(
        self, name: str, mark: Sketch, marks: Mapping[str, Sketch], place: Place, after: int, used: set[str]
    ) -> InnerValue | None:
        """Of the values with these numbers one that is not taken, of the same kind of operator before all."""
        found: list[tuple[tuple[bool, bool], str, InnerValue]] = []
        for key, other in marks.items():
            # Two values in one tensor: only where one is the other, moved.
            if self._order[key] < after or not mark.near(other) or (key in used and place.op not in _MOVES):
                continue
            pair = self._pair(name, key)
            if pair is not None and pair[1] < _CLOSE:
                found.append(((key in used, not self._same_kind(place, key)), key, pair[0]))
        least = min((score for score, *_ in found), default=None)
        best = [(key, held) for score, key, held in found if score == least]
        if len(best) > 1:
            best.sort(key=lambda item: self._unlikeness(name, place, item[0]))
        return best[0][1] if best else None

    def _unlikeness(self, name: str, place: Place, key: str) -> tuple[bool, int, int]:
        """Of values with the same numbers: made of other ones, used otherwise, later in the graph."""
        tensor = self.target.inner()[key].tensor
        users = self._users.get(tensor, [])
        alike = sum(max((self._agree(reader, user) for user in users), default=0) for reader in self._readers[name])
        tensors = {self.target.inner()[held.tensor].tensor for held in self._values.values()}
        wanted = {self.target.inner()[held.tensor].tensor for held in self._known_before(place)}
        return self._aligned_before(key, tensors) != wanted, -alike, self._order[key]

    def _agree(self, reader: Place, user: Operation) -> int:
        """How much two operations are alike: not at all, of one kind, and with the same numbers."""
        if family(reader.op) != family(user.op) or not user.outputs:
            return 0
        key = self._named.get(user.outputs[0], "")
        mine, theirs = sketch(self._sources.get(reader.makes[0])), sketch(self._targets.get(key))
        return 2 if mine is not None and theirs is not None and mine.near(theirs) else 1

    def _same_kind(self, place: Place, key: str) -> bool:
        maker = self._ops.get(self.target.inner()[key].tensor)
        return maker is not None and family(maker.op) == family(place.op)

    def _known_before(self, place: Place) -> Iterator[InnerValue]:
        return (self._values[name] for name in place.reads if name in self._values)

    def _by_structure(self) -> int:
        """What is made of aligned values by the same kind of operator, if only one is; what lies between may be not."""
        before = len(self._values)
        tensors = {self.target.inner()[held.tensor].tensor for held in self._values.values()}
        candidates = [key for key in self._keys if self.target.inner()[key].tensor not in tensors]
        for place in self.walk.places:
            for name in place.makes:
                if name in self._values:
                    continue
                behind, depth = self._behind(place)
                wanted = {self.target.inner()[self._values[read].tensor].tensor for read in behind}
                fitting = [key for key in candidates if self._may_be(place, name, key, wanted, tensors)]
                if len(fitting) > 1:
                    fitting = [key for key in fitting if self._depth(key, tensors) == depth]
                if len(fitting) == 1:
                    self._values[name] = InnerValue(fitting[0], self._likely_order(behind, name, fitting[0]))
                    tensors.add(self.target.inner()[fitting[0]].tensor)
                    candidates.remove(fitting[0])
        return len(self._values) - before

    def _behind(self, place: Place) -> tuple[list[str], int]:
        """The nearest aligned values behind a place, and how many places of its kind lie between."""
        waiting, found, between = list(place.reads), list[str](), set[Place]()
        while waiting:
            read = waiting.pop(0)
            maker = self._makers.get(read)
            if read in self._values:
                found.append(read)
            elif maker is not None and maker not in between:
                between.add(maker)
                waiting += maker.reads
        return found, sum(family(other.op) == family(place.op) for other in between)

    def _depth(self, key: str, tensors: set[str]) -> int:
        """How many of its kind lie between a value of the target and the aligned ones behind it."""
        maker = self._ops[self.target.inner()[key].tensor]
        between = [o for o in self._between(maker, tensors) if o is not maker]
        return sum(family(other.op) == family(maker.op) for other in between)

    def _may_be(self, place: Place, name: str, key: str, wanted: set[str], tensors: set[str]) -> bool:
        mine, theirs = self._sources.get(name), self._targets.get(key)
        if not self._same_kind(place, key) or mine is None or theirs is None:
            return False
        if sorted(np.shape(mine)) != sorted(np.shape(theirs)):
            return False
        return self._aligned_before(key, tensors) == wanted

    def _aligned_before(self, key: str, tensors: set[str]) -> set[str]:
        """The nearest aligned values that a value of the target is made from."""
        maker = self._ops.get(self.target.inner()[key].tensor)
        passed = self._between(maker, tensors) if maker is not None else []
        return {tensor for operation in passed for tensor in operation.inputs if tensor in tensors}

    def _between(self, maker: Operation, tensors: set[str]) -> list[Operation]:
        """An operation of the target and those behind it, up to aligned values."""
        found, seen = [maker], set(maker.outputs)
        for operation in found:
            for tensor in operation.inputs:
                if tensor not in seen and tensor not in tensors and tensor in self._ops:
                    seen.update(self._ops[tensor].outputs)
                    found.append(self._ops[tensor])
        return found

    def _likely_order(self, behind: Sequence[str], name: str, key: str) -> tuple[int, ...] | None:
        """That of what it is made from, where it fits; else the first that does."""
        shapes = np.shape(self._sources[name]), np.shape(self._targets[key])
        fitting = list(orders(*shapes))
        before = [self._values[read].perm or tuple(range(np.ndim(self._sources[read]))) for read in behind]
        chosen = next((perm for perm in before if perm in fitting), fitting[0])
        return None if chosen == tuple(range(len(chosen))) else chosen


def _users(operations: Sequence[Operation]) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    for operation in operations:
        for tensor in dict.fromkeys(operation.inputs):
            found.setdefault(tensor, []).append(operation)
    return found


def _readers(places: Sequence[Place]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {name: [] for place in places for name in place.makes}
    for place in places:
        for name in place.reads:
            found.setdefault(name, []).append(place)
    return found


def _fetched(model: Model, feeds: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Values by name, in chunks; what a runtime does not hand out is left out."""
    waiting = [list(names[start : start + _CHUNK]) for start in range(0, len(names), _CHUNK)]
    while waiting:
        chunk = waiting.pop(0)
        try:
            yield from model.run(feeds, fetch=chunk).items()
        except Exception:  # runtimes raise what they like for a value that they keep to themselves
            half = len(chunk) // 2
            waiting[:0] = [chunk[:half], chunk[half:]] if half else []


def _turned(array: Any, perm: tuple[int, ...] | None) -> Any:
    return np.ascontiguousarray(np.transpose(array, perm)) if perm else array


def _back(array: Any, perm: tuple[int, ...] | None) -> Any:
    return np.transpose(array, np.argsort(perm)) if perm else array
