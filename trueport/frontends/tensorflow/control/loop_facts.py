"""What the two graphs of a While show before they are translated: what never changes, what counts, what is used."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from trueport.frontends.tensorflow._tf import tf

__all__ = ["LIST_WRITES", "Facts", "Limit", "examine", "list_writes", "plain", "users"]

LIST_WRITES = ("TensorListSetItem", "TensorListPushBack")

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "Less": operator.lt,
        "LessEqual": operator.le,
        "Greater": operator.gt,
        "GreaterEqual": operator.ge,
        "LogicalAnd": operator.and_,
        "LogicalOr": operator.or_,
    }
)


@dataclass(frozen=True)
class Limit:
    """The loop goes on while a counter is below a number."""

    counter: int
    bound: Any
    """a tensor of the condition's graph that never changes; None where the number is known"""
    number: int = 0
    """what is added to it"""


@dataclass(frozen=True)
class Facts:
    """By the position of a loop variable."""

    invariant: frozenset[int]
    counters: frozenset[int]
    """integers that grow by one in each iteration"""
    live: frozenset[int]
    """those that what is used after the loop depends on"""
    limits: tuple[Limit, ...] | None
    """all that ends the loop; None where something else than counting does"""


def plain(tensor: Any) -> Any:
    """The tensor behind operations that only hand it on."""
    while tensor.op.type in ("Identity", "StopGradient", "PreventGradient"):
        tensor = tensor.op.inputs[0]
    return tensor


def users(graph: Any, tensor: Any) -> list[Any]:
    """Operations that use a tensor, looking through those that only hand it on."""
    found = []
    for user in tensor.consumers():
        found += users(graph, user.outputs[0]) if user.type == "Identity" else [user]
    return found


def list_writes(graph: Any, handle: Any) -> list[Any]:
    """Return the operations that write to a list, one after the other."""
    found, waiting = [], [handle]
    while waiting:
        for user in users(graph, waiting.pop()):
            if user.type in LIST_WRITES and user not in found:
                found.append(user)
                waiting.append(user.outputs[0])
    return found


def examine(cond: Any, body: Any, used: Sequence[int], known: Mapping[int, np.ndarray]) -> Facts:
    """``used``: variables whose final value is used; ``known``: initial values that are known numbers."""
    places = {tensor.name: index for index, tensor in enumerate(body.inputs)}
    ends = [plain(tensor) for tensor in body.outputs]
    invariant = frozenset(index for index, end in enumerate(ends) if places.get(end.name) == index)
    steps = {body.inputs[index].name: known[index] for index in invariant if index in known}
    counters = frozenset(
        index for index, (begin, end) in enumerate(zip(body.inputs, ends, strict=True)) if _counts(begin, end, steps)
    )
    conditions = _Condition(cond, invariant, counters, known)
    limits = conditions.limits(cond.outputs[0])
    needed = set(used)
    if limits is None:
        needed |= _reached(cond, [cond.outputs[0]])
    else:
        needed |= {limit.counter for limit in limits}
    waiting = list(needed)
    while waiting:
        new = _reached(body, [body.outputs[waiting.pop()]]) - needed
        needed |= new
        waiting += new
    return Facts(invariant, counters, frozenset(needed), None if limits is None else tuple(limits))


def _counts(begin: Any, end: Any, steps: Mapping[str, np.ndarray]) -> bool:
    if end.op.type not in ("AddV2", "Add") or not end.dtype.is_integer or end.shape.rank not in (0, None):
        return False
    operands = [plain(tensor) for tensor in end.op.inputs]
    names = [tensor.name for tensor in operands]
    if begin.name not in names:
        return False
    added = operands[1 - names.index(begin.name)]
    step = steps.get(added.name)
    if step is None and added.shape.rank == 0:
        step = tf.get_static_value(added)
    return step is not None and np.ndim(step) == 0 and int(step) == 1


def _reached(graph: Any, outputs: Sequence[Any]) -> set[int]:
    """Inputs of a graph that outputs depend on."""
    places = {tensor.name: index for index, tensor in enumerate(graph.inputs)}
    waiting, seen, found = list(outputs), set(), set()
    while waiting:
        tensor = waiting.pop()
        if tensor.name in places:
            found.add(places[tensor.name])
        elif tensor.op.name not in seen:
            seen.add(tensor.op.name)
            waiting += tensor.op.inputs
    return found


class _Condition:
    """A condition's graph, read as bounds on counters."""

    def __init__(
        self, graph: Any, invariant: frozenset[int], counters: frozenset[int], known: Mapping[int, np.ndarray]
    ) -> None:
        self._graph = graph
        self._places = {tensor.name: index for index, tensor in enumerate(graph.inputs)}
        self._invariant = invariant
        self._counters = counters
        self._known = known

    def limits(self, tensor: Any) -> list[Limit] | None:
        """All bounds that a condition is made of; None where it is made of more than bounds."""
        tensor = plain(tensor)
        if self._value(tensor):
            return []
        inputs = tensor.op.inputs
        match tensor.op.type:
            case "LogicalAnd":
                sides = [self.limits(side) for side in inputs]
                return None if None in sides else [limit for side in sides for limit in side or ()]
            case "LogicalOr":
                open_sides = [side for side in inputs if self._value(plain(side)) is None]
                return self.limits(open_sides[0]) if len(open_sides) == 1 else None
            case "Less":
                return self._limit(inputs[0], inputs[1], 0)
            case "LessEqual":
                return self._limit(inputs[0], inputs[1], 1)
            case "Greater":
                return self._limit(inputs[1], inputs[0], 0)
            case "GreaterEqual":
                return self._limit(inputs[1], inputs[0], 1)
        return None

    def _limit(self, counter: Any, bound: Any, extra: int) -> list[Limit] | None:
        place = self._places.get(plain(counter).name)
        if place is None or place not in self._counters:
            return None
        number = self._value(plain(bound))
        if number is not None:
            return [Limit(place, None, int(number) + extra)]
        fixed = _reached(self._graph, [bound]) <= self._invariant
        return [Limit(place, plain(bound), extra)] if fixed else None

    def _value(self, tensor: Any) -> Any:
        """A scalar that is known before the loop runs, else None."""
        if tensor.name in self._places:
            place = self._places[tensor.name]
            return self._known[place] if place in self._invariant and place in self._known else None
        if tensor.op.type == "Const":
            found = tf.get_static_value(tensor)
            return found if np.ndim(found) == 0 else None
        compare = _COMPARISONS.get(tensor.op.type)
        if compare is None:
            return None
        sides = [self._value(plain(side)) for side in tensor.op.inputs]
        if tensor.op.type == "LogicalAnd" and any(side is not None and not side for side in sides):
            return False
        return None if None in sides else bool(compare(*sides))
