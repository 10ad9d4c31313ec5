"""Which value of the target is which of the source's: by name, by their numbers on a probe, by structure.

A target that Trueport made says so itself. Another tool's may keep names, in another order of axes; what it renamed is
recognized by its numbers, and what is wrong, so that its numbers don't tell, by what it is made from. None of this
says whether a value is right.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.artifact import InnerValue
from trueport.reference.walk import Walkable
from trueport.runtimes.base import Model, Operation
from trueport.runtimes.on_demand import OnDemand
from trueport.verifying.align.failures import has_parts, run_each
from trueport.verifying.align.families import family
from trueport.verifying.align.graphs import STILL, source_graph, target_graph
from trueport.verifying.align.matching import Match, Matcher
from trueport.verifying.align.probes import probe_values
from trueport.verifying.align.readings import exchange_results, stand_ins
from trueport.verifying.locate.result import Alignment

__all__ = ["AlignedModel", "align"]


_HEAVY = 1 << 28
"""Bytes of weights from which on values are not fetched to be recognized where both graphs are the same."""


class AlignedModel(Model):
    """A target whose inner values stand under the source's names, in the source's order of axes."""

    def __init__(
        self,
        model: Model,
        values: Mapping[str, InnerValue],
        found: Alignment,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        certain: frozenset[str] = frozenset(),
        stands: Mapping[str, InnerValue] | None = None,
        weights: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """``values``: by the source's names, the target's own name for each and the order in which it holds it.

        ``shapes`` of the target's values, by its own names; none where the names are the source's and nothing was
        guessed. ``certain``: values made by the same operator, of the same values. ``stands``: what is read in the
        place of a value by all that reads it. ``weights``: of the nodes that make values, what the target's node has in
        the place of the source's constants, by the source's names.
        """
        self._model = model
        self._values = dict(values)
        self._shapes = shapes
        self._certain = certain
        self.stands = dict(stands or {})
        self._weights = dict(weights or {})
        self.found = found
        self.runtime = model.runtime
        self.inputs, self.outputs = model.inputs, model.outputs
        self._makers = {made: operation for operation in model.operations() for made in operation.outputs}

    def inner(self) -> Mapping[str, InnerValue]:
        return self._values

    def operations(self) -> Sequence[Operation]:
        return self._model.operations()

    def constants(self) -> Mapping[str, Any]:
        if not self._weights:
            return self._model.constants()
        stored = self._model.constants()
        pairs = {mine: theirs for node in self._weights.values() for mine, theirs in node.items() if theirs in stored}
        return OnDemand({mine: functools.partial(stored.__getitem__, theirs) for mine, theirs in pairs.items()})

    def at(self, value: str) -> AlignedModel:
        """Return the same model, its constants those of the node that makes a value: the source's may be shared."""
        here = {value: self._weights[value]} if value in self._weights else self._weights
        return self._with(self._values, self.found, here)

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
        return self._with({**self._values, **more}, found, self._weights)

    def standing_in(self, value: str) -> AlignedModel:
        """Return the same model with what is read in the place of a value aligned to it."""
        return self._with({**self._values, value: self.stands[value]}, self.found, self._weights)

    def _with(
        self, values: Mapping[str, InnerValue], found: Alignment, weights: Mapping[str, Mapping[str, str]]
    ) -> AlignedModel:
        return AlignedModel(self._model, values, found, self._shapes, self._certain, self.stands, weights)

    @property
    def has_parts(self) -> bool:
        """Whether the runtime can run parts of the model."""
        return has_parts(self._model)

    @property
    def exact(self) -> bool:
        """Whether the alignment is the target's own word, and no guess."""
        return self._shapes is None

    def is_certain(self, value: str) -> bool:
        """True if nothing was guessed: the target says so itself, or it is the same operator on the same values."""
        return self.exact or value in self._certain

    def families_before(self, value: str) -> frozenset[str]:
        """Return the families of the operations that make a value out of aligned ones."""
        behind = [self.own_names(value)[0], *self._made_of(value)]
        aligned = set(self.source_names()) - {behind[0]}
        makers = (self._makers.get(tensor) for tensor in behind if tensor not in aligned)
        return frozenset(family(maker.op) for maker in makers if maker is not None and maker.op not in STILL)

    def shapes_before(self, value: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The target's values that one is made from, up to aligned ones, the nearest first; its names, their shapes."""
        known, shapes = self._model.inner(), self._shapes or {}
        keys = {known[key].tensor: key for key in shapes}
        yield from ((keys[tensor], shapes[keys[tensor]]) for tensor in self._made_of(value) if tensor in keys)

    def _made_of(self, value: str, along: Collection[str] = ()) -> Iterator[str]:
        """The target's tensors behind a value, back to aligned ones but those ``along`` it, the nearest first."""
        known = self._model.inner()
        stops = (held.tensor for name, held in self._values.items() if name not in along)
        aligned = {known[tensor].tensor for tensor in stops if tensor in known}
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

    def values(self, feeds: Mapping[str, Any], fetch: Sequence[str]) -> dict[str, Any]:
        """Return values by the source's names, a `Failure` for each that the target fails to compute."""
        return run_each(self, feeds, fetch)

    def constants_before(self, value: str) -> Iterator[tuple[str, Any]]:
        """Weights of the operations that make a value out of aligned ones, under the target's names."""
        stored = self._model.constants()
        yield from ((tensor, stored[tensor]) for tensor in self._made_of(value) if tensor in stored)

    def held_before(self, value: str, along: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
        """What the operations that make a value out of aligned ones hold, small constants and those of bodies too.

        ``along``: values that are made together with it, which hide nothing behind them.
        """
        behind = [v for v in dict.fromkeys((value, *along)) if v in self._values]
        tensors = [tensor for one in behind for tensor in (self.own_names(one)[0], *self._made_of(one, behind))]
        return self._model.constants_of(tensors)

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
    """Return the target under the source's names.

    ``outputs``: of the source's outputs, the target's inner value and order; ``feeds`` is what both are run on.
    """
    names = [name for place in walk.places for name in place.makes if name and name not in walk.unseen]
    known = target.inner()
    ends = {walk.outputs[port]: held for port, held in outputs.items() if walk.outputs[port] in names}
    same_form = target.runtime == walk.executions[0].runtime
    if target.keeps_names and not same_form:
        values = {**{name: InnerValue(name) for name in names if name in known}, **ends}
        # Made of the same model in another form, the source's names may have another beginning.
        if 4 * len(values) > len(names) or len(values) == len(names):
            return AlignedModel(target, values, Alignment(by_name=len(values)))
    if same_form and walk.weight_bytes > _HEAVY and _is_same_graph(walk, target):
        values = {**{name: InnerValue(name) for name in names}, **ends}
        weights = _weights(walk, target, {name: name for name in names})
        return AlignedModel(target, values, Alignment(by_name=len(values)), weights=weights)
    source = source_graph(walk, probe_values(walk.executions[0], feeds, names))
    keys = _keys(target)
    probes = probe_values(target, feeds, list(keys.values()))
    named = {tensor: probes[key] for tensor, key in keys.items() if key in probes}
    inputs = _inputs(walk, target, feeds)
    other = target_graph(target, [match.tensor for match in inputs.values()], named, _tensors(target, ends.values()))
    begin = {name: Match(known[held.tensor].tensor, held.perm, "name") for name, held in ends.items()}
    matcher = Matcher(source, other, same_form, _spoken(target), {**inputs, **begin})
    names = [name for name in matcher.run() if name not in inputs]
    exchange_results(matcher)
    return _aligned(walk, target, matcher, keys, names, ends)


def _aligned(
    walk: Walkable,
    target: Model,
    matcher: Matcher,
    keys: Mapping[str, str],
    names: Sequence[str],
    ends: Mapping[str, InnerValue],
) -> AlignedModel:
    """The target with what a matcher found."""
    found = matcher.found
    values = {n: InnerValue(keys[found[n].tensor], found[n].perm) for n in names if n not in ends} | dict(ends)
    counts = Counter(found[name].by for name in names)
    alignment = Alignment(counts["name"], counts["structure"], counts["values"])
    shapes = {keys[tensor]: probe.shape for tensor, probe in matcher.target.probes.items()}
    certain = frozenset(name for name in names if matcher.is_certain(name))
    stands = {name: InnerValue(keys[tensor]) for name, tensor in stand_ins(matcher).items() if name in values}
    weights = _weights(walk, target, {name: found[name].tensor for name in names})
    return AlignedModel(target, values, alignment, shapes, certain, stands, weights)


def _weights(walk: Walkable, target: Model, tensors: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """By values: the names of the source's constants that make one, and of the target's at the same positions."""
    makers = {made: operation for operation in target.operations() for made in operation.outputs}
    found: dict[str, dict[str, str]] = {}
    for place in walk.places:
        for name in place.makes:
            other = makers.get(tensors.get(name, ""))
            if other is not None and other.op == place.op and isinstance(place.node, ir.Node):
                constants = [v.name if v is not None and v.const_value is not None else None for v in place.node.inputs]
                pairs = zip(constants, other.operands, strict=False)
                found[name] = {mine: theirs for mine, theirs in pairs if mine and theirs}
    return found


def _is_same_graph(walk: Walkable, target: Model) -> bool:
    """True if the same operators make values of the same names of values of the same names."""
    makers = {made: operation for operation in target.operations() for made in operation.outputs}
    values = {*makers, *(read for place in walk.places for read in place.reads)}
    for place in walk.places:
        other = makers.get(next((name for name in place.makes if name), ""))
        if other is None or other.op != place.op or set(other.outputs) != set(place.makes):
            return False
        if tuple(dict.fromkeys(name for name in other.inputs if name in values)) != place.reads:
            return False
    return True


def _keys(target: Model) -> dict[str, str]:
    """By tensors that operations compute, the key under which each can be fetched as it is held."""
    computed = {made for o in target.operations() if o.op not in STILL for made in o.outputs}
    found: dict[str, str] = {}
    for key, held in target.inner().items():
        if held.tensor in computed and held.perm is None and (held.tensor not in found or key == held.tensor):
            found[held.tensor] = key
    return found


def _spoken(target: Model) -> dict[str, frozenset[str]]:
    """By tensors, the names that a source may have for them: their own, or those of all that were fused into one."""
    found: dict[str, set[str]] = {}
    for key, held in target.inner().items():
        found.setdefault(held.tensor, set()).update({key}, (part.removesuffix(":0") for part in (key, *key.split(";"))))
    return {tensor: frozenset(names) for tensor, names in found.items()}


def _inputs(walk: Walkable, target: Model, feeds: Mapping[str, Any]) -> dict[str, Match]:
    """The models' inputs, as far as the target's operations name them."""
    own = target.input_values()
    read = {name for operation in target.operations() for name in (*operation.inputs, *operation.outputs)}
    found = {}
    for name, port in zip(walk.start(feeds), feeds, strict=True):
        held = own.get(port)
        tensor = next((t for t in (held.tensor, f"{held.tensor}:0") if t in read), None) if held is not None else None
        if held is not None and tensor is not None:
            found[name] = Match(tensor, held.perm, "name")
    return found


def _tensors(target: Model, held: Iterable[InnerValue]) -> list[str]:
    known = target.inner()
    return [known[value.tensor].tensor for value in held if value.tensor in known]


def _turned(array: Any, perm: tuple[int, ...] | None) -> Any:
    return np.ascontiguousarray(np.transpose(array, perm)) if perm else array


def _back(array: Any, perm: tuple[int, ...] | None) -> Any:
    return np.transpose(array, np.argsort(perm)) if perm else array
