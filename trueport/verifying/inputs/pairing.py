"""Which input or output of one model is which of another: by name, else by position, and in which order of axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueport.errors import UsageError
from trueport.ir.artifact import InnerValue
from trueport.ir.ports import Port
from trueport.runtimes.base import Model, Operation

__all__ = ["PairedModel", "Pairing", "are_both_onnx", "pair"]

_MAX_RANK = 5
"""Permutations of more axes are not looked for."""
_ONNX = ("onnxruntime", "onnx reference")


@dataclass(frozen=True)
class Pairing:
    """One port of the source and the target's for it; ``perm`` turns the source's data into the target's order."""

    source: str
    target: str
    perm: tuple[int, ...] | None = None
    shape: tuple[int | str | None, ...] | None = None
    """the source's dims, those that are open there but not in the target as they are in the target"""

    def __str__(self) -> str:
        order = f", axes in the order {list(self.perm)}" if self.perm else ""
        return f"{self.source!r} is {self.target!r} in the target{order}"


def pair(source: Model, target: Model) -> tuple[list[Pairing], list[Pairing]]:
    """Pair all inputs, and the outputs: one that the target lacks has no pair, another shape of one is for the judge.

    Raises `UsageError` where the target cannot be called with the source's inputs, and where the models have another
    number of outputs and none of the same name.
    """
    # An ONNX file has no other convention for channels than the one that it was made from.
    permute = not are_both_onnx(source, target)
    return _pair_inputs(source.inputs, target.inputs), _pair_outputs(source.outputs, target.outputs, permute)


def are_both_onnx(source: Model, target: Model) -> bool:
    """True if both models are called as ONNX models are."""
    return source.runtime in _ONNX and target.runtime in _ONNX


def _pair_inputs(source: Sequence[Port], target: Sequence[Port]) -> list[Pairing]:
    partners = _partners(source, target)
    if partners is None:
        raise _numbers_differ(source, target, "inputs")
    found = [Pairing(s.name, t.name, _order(s, t)) for s, t in zip(source, partners, strict=True)]
    return _narrowed(found, source, partners)


def _pair_outputs(source: Sequence[Port], target: Sequence[Port], permute: bool) -> list[Pairing]:
    partners = _partners(source, target)
    if partners is not None:
        orders = [_permutation(s, t)[1] if permute else None for s, t in zip(source, partners, strict=True)]
        found = [Pairing(s.name, t.name, perm) for s, t, perm in zip(source, partners, orders, strict=True)]
        return _narrowed(found, source, partners)
    by_name = {_plain(port.name): port for port in target}
    shared = [port for port in source if _plain(port.name) in by_name]
    if not shared:
        raise _numbers_differ(source, target, "outputs")
    return _pair_outputs(shared, [by_name[_plain(port.name)] for port in shared], permute)


def _partners(source: Sequence[Port], target: Sequence[Port]) -> list[Port] | None:
    """Return the target's port for each of the source's, by name or else by position; None if their numbers differ."""
    if len(source) != len(target):
        return None
    by_name = {_plain(port.name): port for port in target}
    named = len(by_name) == len(target) and all(_plain(port.name) in by_name for port in source)
    return [by_name[_plain(port.name)] for port in source] if named else list(target)


def _numbers_differ(source: Sequence[Port], target: Sequence[Port], what: str) -> UsageError:
    return UsageError(
        f"the source has {len(source)} {what}, the target {len(target)}",
        remedy=f"source: {[p.name for p in source]}; target: {[p.name for p in target]}",
    )


def _narrowed(found: Sequence[Pairing], source: Sequence[Port], target: Sequence[Port]) -> list[Pairing]:
    """With the dims that both sides take; what a name stands for holds wherever the name does."""
    named: dict[str, int] = {}
    shapes: list[list[int | str | None] | None] = []
    for pairing, s, t in zip(found, source, target, strict=True):
        dims = None if s.shape is None else list(s.shape)
        if dims is not None and t.shape is not None and len(dims) == len(t.shape):
            for axis, there in enumerate(t.shape):
                own = pairing.perm[axis] if pairing.perm else axis
                if isinstance(there, int) and not isinstance(dims[own], int):
                    named |= {name: there} if isinstance(name := dims[own], str) else {}
                    dims[own] = there
        shapes.append(dims)
    return [
        replace(p, shape=None if dims is None else tuple(named.get(d, d) if isinstance(d, str) else d for d in dims))
        for p, dims in zip(found, shapes, strict=True)
    ]


def _plain(name: str) -> str:
    """A name without what tools add to it: an output's number, a signature's prefix."""
    return name.split(":")[0].removeprefix("serving_default_")


def _order(source: Port, target: Port) -> tuple[int, ...] | None:
    """Return the permutation of an input's axes with which shapes agree; None where they agree as they are."""
    known, perm = _permutation(source, target)
    if known:
        return perm
    own, other = list(source.shape or ()), list(target.shape or ())
    if len(own) != len(other):
        words = f"{source.name!r} has rank {len(own)} in the source, {len(other)} in the target"
    else:
        words = f"{source.name!r} is {own} in the source and {other} in the target"
    raise UsageError(words, where="inputs", remedy="compare models that take the same inputs")


def _permutation(source: Port, target: Port) -> tuple[bool, tuple[int, ...] | None]:
    """Return whether declared shapes can agree, and the permutation of axes with which they do (None: as they are)."""
    if source.shape is None or target.shape is None or source.kind != "tensor" or target.kind != "tensor":
        return True, None
    rank = len(source.shape)
    if rank != len(target.shape):
        return False, None
    if _fit(source.shape, target.shape) or rank > _MAX_RANK:
        return True, None
    fitting = [
        perm
        for perm in itertools.permutations(range(rank))
        if _fit([source.shape[axis] for axis in perm], target.shape)
    ]
    # An open dim fits any size: an order of axes is told by the sizes that it puts in their places.
    as_it_is = _known(source.shape, target.shape, range(rank))
    fitting = [perm for perm in fitting if _known(source.shape, target.shape, perm) > as_it_is]
    # The usual ones first: channels moved to the end, or to the front.
    usual = [(0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))]
    chosen = [perm for perm in usual if perm in fitting] or fitting
    return (True, chosen[0]) if chosen else (False, None)


def _known(source: Sequence[Any], target: Sequence[Any], perm: Sequence[int]) -> int:
    """Count the axes whose sizes both declare, and declare alike, in an order of axes."""
    return sum(isinstance(s, int) and s == t for s, t in zip((source[a] for a in perm), target, strict=True))


def _fit(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return all(a == b or not isinstance(a, int) or not isinstance(b, int) for a, b in zip(one, other, strict=True))


class PairedModel(Model):
    """A target that is called with the source's names and orders."""

    def __init__(self, model: Model, inputs: Sequence[Pairing], outputs: Sequence[Pairing]) -> None:
        self._model = model
        self.runtime = model.runtime
        self._inputs, self._outputs = list(inputs), list(outputs)
        taken = {port.name: port for port in model.inputs}
        given = {port.name: port for port in model.outputs}
        self.inputs = tuple(replace(taken[p.target], name=p.source, shape=p.shape) for p in inputs)
        self.outputs = tuple(replace(given[p.target], name=p.source, shape=None) for p in outputs)

    @property
    def model(self) -> Model:
        """The target under its own names."""
        return self._model

    @property
    def names(self) -> Mapping[str, str]:
        """The source's names of inputs by the target's."""
        return {p.target: p.source for p in self._inputs}

    @property
    def input_pairs(self) -> Sequence[Pairing]:
        """Which input of the source is which of the target."""
        return self._inputs

    @property
    def output_pairs(self) -> Sequence[Pairing]:
        """Which output of the source is which of the target."""
        return self._outputs

    @property
    def notes(self) -> list[str]:
        """What was matched other than by its plain name."""
        return [str(p) for p in (*self._inputs, *self._outputs) if p.perm or p.source != p.target]

    def around(self, model: Model) -> PairedModel:
        """Another execution of the same model, called in the same way."""
        return PairedModel(model, self._inputs, self._outputs)

    def as_run_here(self) -> Model | None:
        model = self._model.as_run_here()
        return None if model is None else self.around(model)

    def inner(self) -> Mapping[str, InnerValue]:
        return self._model.inner()

    @property
    def keeps_names(self) -> bool:
        return self._model.keeps_names

    def input_values(self) -> Mapping[str, InnerValue]:
        own = self._model.input_values()
        return {p.source: InnerValue(own[p.target].tensor, p.perm) for p in self._inputs}

    def operations(self) -> Sequence[Operation]:
        return self._model.operations()

    def constants(self) -> Mapping[str, Any]:
        return self._model.constants()

    def constants_of(self, tensors: Iterable[str]) -> Iterator[tuple[str, Any]]:
        return self._model.constants_of(tensors)

    def segment(self, fed: Mapping[str, Any], fetch: Sequence[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
        return self._model.segment(fed, fetch, self._fed(feeds))

    def cut(self, fed: Mapping[str, Any], fetch: str, feeds: Mapping[str, Any], place: Path) -> None:
        self._model.cut(fed, fetch, self._fed(feeds), place)

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        if fetch is None:
            made = self._model.run(self._fed(feeds))
            return {p.source: _back(made[p.target], p.perm) for p in self._outputs}
        outputs = {p.source: p for p in self._outputs}
        inner = self._model.inner()
        asked = [outputs[name].target if name in outputs and name not in inner else name for name in fetch]
        made = self._model.run(self._fed(feeds), fetch=asked)
        return {
            name: _back(made[own], outputs[name].perm) if name in outputs and name not in inner else made[own]
            for name, own in zip(fetch, asked, strict=True)
        }

    def _fed(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return {
            p.target: np.ascontiguousarray(np.transpose(feeds[p.source], p.perm)) if p.perm else feeds[p.source]
            for p in self._inputs
        }


def _back(array: Any, perm: tuple[int, ...] | None) -> Any:
    return np.transpose(array, np.argsort(perm)) if perm else array
