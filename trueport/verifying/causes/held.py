"""What the target's own operations hold, beside the constants and lists of the source's node.

A constant is recognized by its elements: most of them are those of an operand or of a list attribute, in the order in
which the node has them, in another order of axes, or in the order that another constant of the target gives. What the
few others are is read in the target; it counts if the node with them gives the target's numbers.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.attributes import bound_attributes
from trueport.verifying.causes.bodies import body_constants
from trueport.verifying.causes.hypothesis import (
    STRUCTURE,
    among,
    copied,
    formal,
    hypothesis,
    run_on,
    text,
)
from trueport.verifying.causes.relation import relation
from trueport.verifying.causes.search import fits, texts_of
from trueport.verifying.locate.result import Cause

__all__ = ["differences_as_held", "differences_of_constants"]

_MOST = 12
"""Readings of one slot that are tried."""
_PLACES = 16
_RECOGNIZED = 8
"""Different numbers that are the same from which on a constant is the slot's, whatever else differs."""
_SCALED, _SLICE, _SAME = 1 << 17, 6, 1e-5
"""Elements of a constant, and of a slice, between which it is compared without a scale; how near it must be then."""
_TELLING = 2
"""Different elements from which on a constant that is found as it is can't be another one by chance."""
_CHANCE = 4.0
"""Bits more of integers that agree in nothing, nor in their type: a graph is full of small ones."""
_WORDS = 3
"""Different words from which on a list of them is recognized in another order."""
_LARGEST = 1 << 22
"""Elements of a constant from which on it is not compared."""
_EVIDENCE = "read in the target's {}; put in its place it gives the target's numbers"


Held = Sequence[tuple[str, np.ndarray]]


@dataclass(frozen=True)
class Slot:
    """A constant operand or a list attribute of the source's node."""

    name: str
    mine: np.ndarray
    kind: str
    edit: Callable[[NodeCase, np.ndarray], NodeCase]
    """the node with another array there"""


@dataclass(frozen=True)
class Reading:
    """A constant of the target in the place of a slot's; ``agree``: elements that are the same."""

    name: str
    array: np.ndarray
    agree: int

    def is_alike(self, mine: np.ndarray) -> bool:
        """Whether it is a list of the same type."""
        return self.array.dtype == mine.dtype and mine.ndim > 0

    def is_recognized(self, mine: np.ndarray) -> bool:
        """Whether so many different elements are the same that it is the slot's, or it is its words reordered."""
        one, other = mine.ravel().tolist(), self.array.ravel().tolist()
        if mine.dtype.kind == "U" and len(set(one)) >= _WORDS and sorted(one) == sorted(other):
            return True
        same = np.unique(mine[~_apart(mine, self.array)]).size >= _RECOGNIZED
        return same or (len(set(other)) >= _RECOGNIZED and bool(relation(mine, self.array)))


def differences_of_constants(case: NodeCase) -> list[Hypothesis]:
    """Return the node with what the target holds in the place of its own constants, those that agree most first."""
    held, slots = _readable(case), list(_slots(case))
    orders = _orderings(slots, held)
    shapes = (np.shape(array) for array in (*case.inputs, case.target) if not isinstance(array, list))
    most = max((size for shape in shapes for size in shape), default=1)
    found = [(slot, one) for slot in slots if held for one in _of_slot(slot, held, orders, most)]
    said = [_said(case, slot, one, bits) for slot, (one, bits) in found]
    sure = {id(slot): (slot, one.array) for slot, (one, bits) in found if not bits and one.is_recognized(slot.mine)}
    if len(sure) > 1:
        said.append(_all_of(case, list(sure.values())))
    return sorted(said, key=lambda one: one.bits)


def _all_of(case: NodeCase, changes: Sequence[tuple[Slot, np.ndarray]]) -> Hypothesis:
    """All that is recognized and differs, together."""
    names = ", ".join(repr(slot.name) for slot, _ in changes)
    how = {relation(slot.mine, theirs) for slot, theirs in changes}
    words = f"weights {names} differ{': ' + how.pop() if len(how) == 1 and any(how) else ''}"
    on = functools.partial(_edited, changes=changes)
    evidence = _EVIDENCE.format("constants")
    return replace(hypothesis(case, "weight", words, on, STRUCTURE + 2 + 2 * len(changes), evidence), is_read=True)


def differences_as_held(case: NodeCase, constants: Sequence[Hypothesis], k: float) -> Iterator[Cause]:
    """What is read in the target for certain where the node's numbers with it are others, or in other places.

    ``constants``: the differences of the case's constants.
    """
    for one in constants:
        if one.is_read:
            yield Cause(
                one.kind, one.what, f"{one.evidence.split(';')[0]}; it is not known to explain all of the numbers"
            )
            return
        if np.shape(case.truth) != np.shape(case.target) and _is_turned(one, case, k):
            yield Cause(one.kind, one.what, f"{one.evidence}, with its axes in another order")
            return


def _is_turned(one: Hypothesis, case: NodeCase, k: float) -> bool:
    """Whether the target's numbers are those that are predicted, in another order of axes."""
    got = np.asarray(case.target)
    for perm in itertools.islice(itertools.permutations(range(got.ndim)), 1, 24):
        turned = replace(case, target=got.transpose(perm), noisy=(), noisy_again=())
        if fits(one, turned, k):
            return True
    return False


def _readable(case: NodeCase) -> list[tuple[str, np.ndarray]]:
    arrays = ((name, _plain(array)) for name, array in case.target_holds)
    return [(name, array) for name, array in arrays if array.size <= _LARGEST and array.dtype.kind in "fiubU"]


def _plain(value: Any) -> np.ndarray:
    """Text as such, whether it is kept as bytes or not."""
    array = np.asarray(value)
    if array.dtype.kind not in "OSU":
        return array
    return np.array(texts_of(array), dtype=np.str_).reshape(array.shape)


def _slots(case: NodeCase) -> Iterator[Slot]:
    for index, value in enumerate(case.node.inputs):
        if value is not None and value.const_value is not None:
            mine = _plain(value.const_value.numpy())
            kind = "weight" if mine.size > 8 or (mine.dtype.kind == "f" and mine.size > 1) else "operand"
            yield Slot(formal(case.node, index), mine, kind, functools.partial(_as_operand, index=index))
    for name, now in bound_attributes(case).items():
        if isinstance(now, float):
            yield Slot(name, np.asarray(now), "attribute", functools.partial(_as_attribute, name=name))
        if isinstance(now, (list, tuple)) and len(now) > 0 and isinstance(now[0], (int, float, str, bytes)):
            yield Slot(name, _plain(now), "attribute", functools.partial(_as_attribute, name=name))
    for where, mine, change in body_constants(case):
        yield Slot(where, _plain(mine), "weight" if mine.size > 1 else "operand", change)


def _as_operand(case: NodeCase, array: np.ndarray, index: int) -> NodeCase:
    given = list(case.inputs)
    given[index] = array.astype(np.asarray(given[index]).dtype)
    return replace(case, inputs=tuple(given))


def _as_attribute(case: NodeCase, array: np.ndarray, name: str) -> NodeCase:
    return replace(case, node=copied(case.node, {name: array.tolist()}))


def _edited(case: NodeCase, changes: Sequence[tuple[Slot, np.ndarray]]) -> Any:
    for slot, array in changes:
        case = slot.edit(case, array)
    return run_on(case, case.node, case.inputs)


def _is_moderate(mine: np.ndarray, other: np.ndarray, most: int) -> bool:
    """Whether integers are of the size of the node's own and its dims: sizes and counts could ask for any memory."""
    if mine.dtype.kind not in "iu" or not mine.size:
        return True
    return int(np.abs(other.astype(np.float64)).max()) <= max(most, int(np.abs(mine.astype(np.float64)).max()))


def _of_slot(slot: Slot, held: Held, orders: Sequence[np.ndarray], most: int) -> list[tuple[Reading, float]]:
    """What may stand for a slot, each with the bits that say which."""
    readings = list(_readings(slot.mine, held, orders))
    others = [one for one in readings if one.agree < slot.mine.size and _is_moderate(slot.mine, one.array, most)]
    same = [one for one in readings if one.agree == slot.mine.size]
    if any(np.unique(slot.mine).size >= _TELLING or one.array.dtype == slot.mine.dtype for one in same):
        return []
    readings = [*others, *_in_any_order(slot.mine, held)]
    fitting = sorted(readings, key=lambda one: (-one.agree, not one.is_alike(slot.mine)))[:_MOST]
    return [(one, among(number + 1)) for number, one in enumerate(fitting)]


def _said(case: NodeCase, slot: Slot, reading: Reading, bits: float) -> Hypothesis:
    mine, theirs = slot.mine, reading.array
    differ = np.argwhere(_apart(mine, theirs))
    place = tuple(int(i) for i in differ[0])
    if slot.kind == "attribute" and mine.ndim == 0:
        words = f"it behaves as with {slot.name} = {text(theirs)}, the source has {text(mine)}"
    elif mine.size <= 8:
        words = f"{slot.kind} {slot.name!r} is {text(theirs)}, the source has {text(mine)}"
    else:
        how = relation(mine, theirs)
        words = f"{slot.kind} {slot.name!r} differs in {len(differ)} of {mine.size} elements{': ' + how if how else ''}"
        first = [text(array[place].item()) for array in (theirs, mine)]
        words += f", first at {[*place]}: {first[0]}, the source has {first[1]}"
    # What agrees in little is not recognized, only tried.
    bits += STRUCTURE + 0.5 + 3.0 * (1 - reading.agree / mine.size)
    if mine.dtype.kind in "iub" and not reading.agree and not reading.is_alike(mine):
        bits += _CHANCE
    on = functools.partial(_edited, changes=[(slot, theirs)])
    made = hypothesis(case, slot.kind, words, on, bits, _EVIDENCE.format(repr(reading.name)))
    return replace(made, is_read=reading.is_recognized(mine))


def _apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    if one.dtype.kind == "U" or other.dtype.kind == "U":
        return np.asarray(one != other)
    a, b = one.astype(np.float64), other.astype(np.float64)
    return np.asarray(~((a == b) | (np.isnan(a) & np.isnan(b))))


def _readings(mine: np.ndarray, held: Held, orders: Sequence[np.ndarray]) -> Iterator[Reading]:
    """Constants of as many elements, in the orders of axes and of elements that can be meant."""
    if not mine.size:
        return
    for name, array in held:
        if array.size != mine.size or (array.dtype.kind == "U") != (mine.dtype.kind == "U"):
            continue
        typed = _typed(mine, array)
        for other in _orders(mine, typed, orders) if typed is not None else ():
            agree = mine.size - int(np.count_nonzero(_apart(mine, other)))
            if agree == mine.size or _is_likely(mine, other, agree):
                yield Reading(name, other, agree)
    yield from _in_parts(mine, held)


def _in_parts(mine: np.ndarray, held: Held) -> Iterator[Reading]:
    """A list of integers of which the target holds some by themselves, each under its number."""
    parts: dict[str, dict[int, int]] = {}
    for name, array in held if mine.dtype.kind in "iu" and mine.ndim == 1 else ():
        begin, _, number = name.rpartition("/")
        if number.isdecimal() and array.ndim == 0 and array.dtype.kind in "iu":
            parts.setdefault(begin, {})[int(number)] = int(array)
    for begin, places in parts.items():
        if max(places) < mine.size:
            other = mine.copy()
            other[list(places)] = list(places.values())
            yield Reading(begin, other, mine.size - int(np.count_nonzero(other != mine)))


def _typed(mine: np.ndarray, array: np.ndarray) -> np.ndarray | None:
    """In the source's type; None where it is not of that kind."""
    if mine.dtype.kind == "U":
        return array
    if (mine.dtype.kind == "f") != (array.dtype.kind == "f"):
        return None
    # Numbers of an attribute are kept as Python's: they are compared as the target rounds them.
    return array.astype(np.float64) if mine.dtype == np.float64 else array


def _is_likely(mine: np.ndarray, other: np.ndarray, agree: int) -> bool:
    if mine.size <= 8:
        return mine.dtype.kind != "U" or agree > 0
    return 2 * agree >= mine.size or bool(relation(mine, other))


def _orders(mine: np.ndarray, array: np.ndarray, orders: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """As it stands, transposed where that gives the shape, in the order that another constant gives."""
    if array.shape != mine.shape:
        yield array.reshape(mine.shape)
    for turned in _transposed(mine, array):
        yield turned
        yield from _unscaled(mine, turned)
    for order in orders if mine.ndim == 1 and array.ndim == 1 else ():
        if order.size == array.size:
            yield array[order]
            yield array[np.argsort(order)]


def _transposed(mine: np.ndarray, array: np.ndarray) -> Iterator[np.ndarray]:
    if array.shape == mine.shape:
        yield array
    sizes = [size for size in mine.shape if size > 1]
    compact = array.reshape([size for size in array.shape if size > 1])
    if 1 < len(sizes) <= 4 and sorted(compact.shape) == sorted(sizes):
        for perm in itertools.islice(itertools.permutations(range(len(sizes))), 1, None):
            if [compact.shape[axis] for axis in perm] == sizes:
                yield compact.transpose(perm).reshape(mine.shape)


def _unscaled(mine: np.ndarray, array: np.ndarray) -> Iterator[np.ndarray]:
    """Slices that were each multiplied by a number, as where a normalization is folded into a weight, without it."""
    if mine.dtype.kind != "f" or mine.ndim < 2 or mine.size > _SCALED or np.array_equal(mine, array):
        return
    for axis, size in enumerate(mine.shape):
        if size < 2 or mine.size < _SLICE * size:
            continue
        own, other = (np.moveaxis(a, axis, 0).reshape(size, -1).astype(np.float64) for a in (mine, array))
        with np.errstate(all="ignore"):
            units = [np.nan_to_num(a / np.linalg.norm(a, axis=1, keepdims=True)) for a in (other, own)]
            like = own[np.argmax(np.abs(units[0] @ units[1].T), axis=1)]
            plain = np.nan_to_num(other / np.nanmedian(other / like, axis=1, keepdims=True))
        near = np.where(np.isclose(plain, like, rtol=_SAME, atol=0), like, plain)
        rest = [size for at, size in enumerate(mine.shape) if at != axis]
        yield np.moveaxis(near.reshape(size, *rest), 0, axis).astype(mine.dtype)


def _orderings(slots: Sequence[Slot], held: Held) -> list[np.ndarray]:
    """Constants of the target that are permutations, and none of the node's own lists."""
    whole = [a for _, a in held if a.dtype.kind in "iu" and a.ndim == 1 and a.size > 1]
    found = [a for a in whole if np.array_equal(np.sort(a), np.arange(a.size)) and np.any(np.diff(a) != 1)]
    return [a for a in found if not any(np.array_equal(a, slot.mine) for slot in slots)]


def _in_any_order(mine: np.ndarray, held: Held) -> Iterator[Reading]:
    """A constant with all elements but one in any order: the one that is missing is one that only the target has."""
    own = Counter(mine.ravel().tolist())
    if len(own) < 3 or mine.dtype.kind not in "fU":
        return
    for name, array in held:
        typed = _typed(mine, array) if (array.dtype.kind == "U") == (mine.dtype.kind == "U") else None
        if typed is None or array.size < mine.size / 2 or array.size > 4 * mine.size:
            continue
        flat = mine.ravel().astype(array.dtype)
        lost = [place for place, one in enumerate(flat.tolist()) if one not in set(typed.ravel().tolist())]
        fresh = [one for one in dict.fromkeys(typed.ravel().tolist()) if one not in set(flat.tolist()) and one != 0]
        if not 1 <= len(lost) <= 4 or not 1 <= len(fresh) <= 4 or len(lost) > len(own) / 2:
            continue
        for place, one in itertools.islice(itertools.product(lost, fresh), _PLACES):
            changed = mine.astype(object).ravel()
            changed[place] = one
            yield Reading(name, changed.astype(mine.dtype).reshape(mine.shape), mine.size - 1)
