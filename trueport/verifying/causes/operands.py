"""Operands taken in another way: left out, exchanged, permuted, shifted, scaled, rounded, or the target's constants."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from trueport.reference.indices import readings
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.align.fingerprints import best_order
from trueport.verifying.causes.hypothesis import (
    OPERAND,
    STRUCTURE,
    Predict,
    among,
    formal,
    hypothesis,
    is_constant,
    is_data,
    run_on,
    text,
    with_operand,
    with_operands,
)
from trueport.verifying.causes.quantization import role
from trueport.verifying.causes.relation import relation

__all__ = ["all_weights", "earlier_operands", "other_indices", "other_operands", "other_outputs", "other_weights"]

_MOST = 16
"""Constants of the target that are tried."""
_MAX_RANK = 4
_FEW = 64
"""Integers of a constant that are changed one by one."""
_SHOWN = 8
"""Integers of an operand that are said."""
Change = Callable[[Any], Any]


def other_operands(case: NodeCase) -> Iterator[Hypothesis]:
    """The same node with one input, or a pair of them, taken in another way; the shortest descriptions first."""
    found = [*_swapped(case), *_moved_together(case)]
    for index, array in enumerate(case.inputs):
        if not isinstance(array, np.ndarray):
            continue
        name, constant = formal(case.node, index), is_constant(case, index)
        which = OPERAND + among(len(case.inputs))
        listed = [
            *_dropped(index, name, array, is_data=is_data(case, index)),
            *_with_values(name, array, _integers(name, array, constant), constant=constant),
            *_orders(name, array),
        ]
        for number, (kind, words, change) in enumerate(listed):
            found.append(hypothesis(case, kind, words, with_operand(index, change), which + among(number + 1)))
    yield from sorted(found, key=lambda one: one.bits)


def _swapped(case: NodeCase) -> Iterator[Hypothesis]:
    present = [i for i, array in enumerate(case.inputs) if isinstance(array, np.ndarray)]
    for a, b in itertools.combinations(present[:5], 2):
        one, other = case.inputs[a], case.inputs[b]
        if one.dtype == other.dtype and (one.shape == other.shape or {a, b} == {0, 1}):
            words = f"inputs {formal(case.node, a)} and {formal(case.node, b)} are swapped"
            yield hypothesis(case, "swapped", words, _exchanged(a, b), OPERAND + among(len(present)))


def _exchanged(a: int, b: int) -> Predict:
    def predict(case: NodeCase) -> Any:
        inputs = list(case.inputs)
        inputs[a], inputs[b] = inputs[b], inputs[a]
        return run_on(case, case.node, inputs)

    return predict


def _moved_together(case: NodeCase) -> Iterator[Hypothesis]:
    """Constants that say where something begins and ends, off by the same."""
    whole = [
        i
        for i, array in enumerate(case.inputs)
        if i and isinstance(array, np.ndarray) and array.dtype.kind in "iu" and is_constant(case, i)
    ]
    for a, b in itertools.combinations(whole[:4], 2):
        for step in (1, -1, 2, -2):
            words = f"{formal(case.node, a)} and {formal(case.node, b)} are off by {step:+d}"
            change = functools.partial(_plus, step=step)
            yield hypothesis(case, "constant", words, with_operands({a: change, b: change}), OPERAND + 4)


def _plus(array: Any, step: int) -> Any:
    return (array.astype(np.int64) + step).astype(array.dtype)


def _dropped(index: int, name: str, array: np.ndarray, *, is_data: bool) -> Iterator[tuple[str, str, Change]]:
    if index:
        yield "dropped", f"input {name} is ignored", lambda _: None
    if array.dtype.kind in "fiu" and index:
        yield "dropped", f"input {name} is taken as zero", np.zeros_like
        yield "dropped", f"input {name} is taken as one", np.ones_like
    if not is_data:
        return
    if array.dtype.kind in "fiu":
        yield "operand", f"{name} is negated", np.negative
        yield "operand", f"{name} is doubled", lambda a: a * np.asarray(2, a.dtype)
        yield "operand", f"{name} is halved", lambda a: (a / 2).astype(a.dtype)
    elif array.dtype == bool:
        if index:
            yield "dropped", f"the mask {name} is ignored", np.ones_like
        yield "operand", f"{name} is inverted", np.logical_not
    if array.dtype.kind == "f":
        yield "operand", f"the square root of {name} is taken", np.sqrt
        yield "operand", f"{name} is squared", np.square
        yield "operand", f"the reciprocal of {name} is taken", np.reciprocal
        yield "operand", f"the magnitude of {name} is taken", np.abs
        yield "operand", f"the logarithm of {name} is taken", np.log
        yield "operand", f"the exponential of {name} is taken", np.exp


def _with_values(
    name: str, array: np.ndarray, listed: Iterable[tuple[str, str, Change]], *, constant: bool
) -> Iterator[tuple[str, str, Change]]:
    """Say also what a constant is then, where that is short."""
    for kind, words, change in listed:
        short = constant and array.size <= _SHOWN
        said = f"operand {name!r} is {text(change(array))}, the source has {text(array)}: " if short else ""
        yield kind, said + words, change


def _integers(name: str, array: np.ndarray, constant: bool) -> Iterator[tuple[str, str, Change]]:
    if array.dtype.kind not in "iu":
        return
    for step in (1, -1, 2, -2):
        yield "constant", f"{name} is off by {step:+d}", functools.partial(_plus, step=step)
    if not constant or array.size > _FEW or array.size < 2:
        return
    for place in range(min(array.size, 16)):
        for step in (1, -1, 2, -2):
            words = f"element {place} of {name} is off by {step:+d}"
            yield "constant", words, functools.partial(_plus_at, places={place: step})
    if array.size <= 8:
        for one, other in itertools.permutations(range(array.size), 2):
            words = f"element {one} of {name} is off by +1, element {other} by -1"
            yield "constant", words, functools.partial(_plus_at, places={one: 1, other: -1})


def _plus_at(array: Any, places: dict[int, int]) -> Any:
    flat = array.astype(np.int64).ravel()
    for place, step in places.items():
        flat[place] += step
    return flat.reshape(array.shape).astype(array.dtype)


def _orders(name: str, array: np.ndarray) -> Iterator[tuple[str, str, Change]]:
    """Transposed where the shape allows it, reversed, rolled, reshaped from another order of axes."""
    if not 1 <= array.ndim <= _MAX_RANK or array.size < 2:
        return
    for perm in itertools.permutations(range(array.ndim)):
        if perm == tuple(range(array.ndim)):
            continue
        turned = functools.partial(np.transpose, axes=perm)
        if array.transpose(perm).shape == array.shape or array.ndim == 2:
            yield "layout", f"{name} is transposed by {list(perm)}", turned
        yield "layout", f"{name} is read with its axes in the order {list(perm)}", functools.partial(_reread, perm=perm)
    for axis, size in enumerate(array.shape):
        if size < 2:
            continue
        yield "layout", f"{name} is reversed along axis {axis}", functools.partial(np.flip, axis=axis)
        for step in (1, -1):
            words = f"{name} is shifted by {step:+d} along axis {axis}"
            yield "layout", words, functools.partial(np.roll, shift=step, axis=axis)
        for groups in (n for n in range(2, min(size, 9)) if size % n == 0):
            words = f"{name} is interleaved in {groups} groups along axis {axis}"
            yield "layout", words, functools.partial(_interleaved, axis=axis, groups=groups)
            words = f"{name} has its {groups} groups along axis {axis} in reverse"
            yield "layout", words, functools.partial(_groups_reversed, axis=axis, groups=groups)
            for one, other in itertools.combinations(range(groups), 2) if groups <= 4 else ():
                words = f"groups {one} and {other} of {groups} of {name} along axis {axis} are exchanged"
                yield "layout", words, functools.partial(_exchanged_groups, axis=axis, groups=groups, pair=(one, other))
        for one, other in itertools.islice(itertools.combinations(range(size), 2), _FEW):
            words = f"elements {one} and {other} of {name} along axis {axis} are swapped"
            yield "layout", words, functools.partial(_exchanged_groups, axis=axis, groups=size, pair=(one, other))


def _reread(array: Any, perm: tuple[int, ...]) -> Any:
    return array.transpose(perm).reshape(array.shape)


def _split(array: Any, axis: int, groups: int) -> Any:
    size = array.shape[axis]
    return array.reshape(*array.shape[:axis], groups, size // groups, *array.shape[axis + 1 :])


def _interleaved(array: Any, axis: int, groups: int) -> Any:
    return _split(array, axis, groups).swapaxes(axis, axis + 1).reshape(array.shape)


def _groups_reversed(array: Any, axis: int, groups: int) -> Any:
    return np.flip(_split(array, axis, groups), axis).reshape(array.shape)


def _exchanged_groups(array: Any, axis: int, groups: int, pair: tuple[int, int]) -> Any:
    order = list(range(groups))
    order[pair[0]], order[pair[1]] = order[pair[1]], order[pair[0]]
    return np.take(_split(array, axis, groups), order, axis=axis).reshape(array.shape)


def other_weights(case: NodeCase, stored: Iterable[tuple[str, Any]]) -> Iterator[Hypothesis]:
    """``stored``: constants of the target's part, by its names. One that differs counts if it explains the result."""
    theirs = [(name, np.asarray(array)) for name, array in stored]
    for index, value in enumerate(case.node.inputs):
        if value is None or value.const_value is None or np.asarray(case.inputs[index]).dtype.kind not in "fiu":
            continue
        mine = np.asarray(value.const_value.numpy())
        alike = ((n, a) for n, a in theirs if a.dtype.kind == mine.dtype.kind and a.size == mine.size)
        for name, array in itertools.islice(alike, _MOST):
            for number, other in enumerate(_in_our_order(mine, array)):
                if not np.array_equal(mine, other, equal_nan=mine.dtype.kind == "f"):
                    yield _other_weight(case, index, name, mine, other, STRUCTURE + 1 + number)


def all_weights(case: NodeCase, stored: Iterable[tuple[str, Any]]) -> Iterator[Hypothesis]:
    """Several constants of the target in the place of the source's, where each place has one that fits its shape."""
    chosen: dict[int, tuple[str, np.ndarray]] = {}
    theirs = {name: np.asarray(array) for name, array in stored}
    for index, value in enumerate(case.node.inputs):
        if value is None or value.const_value is None:
            continue
        mine = np.asarray(value.const_value.numpy())
        fitting = [name for name, a in theirs.items() if (a.shape, a.dtype) == (mine.shape, mine.dtype)]
        if len(fitting) == 1 and not np.array_equal(theirs[fitting[0]], mine):
            chosen[index] = fitting[0], theirs.pop(fitting[0])
    if len(chosen) > 1:
        names = ", ".join(repr(formal(case.node, index)) for index in chosen)
        words = f"weights {names} differ"
        evidence = f"the target's {', '.join(repr(name) for name, _ in chosen.values())} give the target's numbers"
        changes = {index: functools.partial(_replaced, array=array) for index, (_, array) in chosen.items()}
        yield hypothesis(case, "weight", words, with_operands(changes), STRUCTURE + 2 + 2 * len(chosen), evidence)


def _replaced(given: Any, array: np.ndarray) -> Any:
    return array.astype(np.asarray(given).dtype)


def _other_weight(
    case: NodeCase, index: int, name: str, mine: np.ndarray, other: np.ndarray, bits: float
) -> Hypothesis:
    differ = np.argwhere(np.asarray(other != mine))
    place = tuple(int(i) for i in differ[0])
    how = relation(mine, other)
    words = f"weight {formal(case.node, index)!r} differs in {len(differ)} of {mine.size} elements"
    words += f": {how}" if how else ""
    if mine.size == 1:
        words = f"{formal(case.node, index)} is {text(other.item())}, the source has {text(mine.item())}"
    evidence = (
        f"the target's {name!r}, put in its place, gives the target's numbers; "
        f"first at {list(place)}: {other[place]!s}, the source has {mine[place]!s}"
    )
    change = functools.partial(_replaced, array=other)
    kind = role(case, index) or ("constant" if mine.size == 1 else "weight")
    return hypothesis(case, kind, words, with_operand(index, change), bits, evidence)


def _in_our_order(mine: np.ndarray, array: np.ndarray) -> Iterator[np.ndarray]:
    """The target's constant as it stands, where it has the source's shape, then in the order of axes that fits best."""
    if array.shape in (mine.shape, ()):
        yield array.reshape(mine.shape)
    found = best_order(mine, array) if mine.size > 1 and mine.dtype.kind == "f" else None
    if found is not None and found[0] != tuple(range(mine.ndim)):
        yield np.transpose(array, np.argsort(found[0]))


def other_indices(case: NodeCase) -> Iterator[Hypothesis]:
    """The node with indices that other frameworks would make of its own."""
    sizes = {*np.shape(case.truth), *(np.shape(case.inputs[0]) if case.inputs else ())}
    for index, array in enumerate(case.inputs):
        if isinstance(array, np.ndarray):
            for words, moved in readings(formal(case.node, index), array, sizes):
                again = functools.partial(_read_again, index=index, words=words, sizes=sizes)
                bits = OPERAND + among(len(case.inputs))
                yield hypothesis(case, "indices", words, functools.partial(_with, index=index, change=again), bits)
                del moved


def _with(case: NodeCase, index: int, change: Callable[[NodeCase], Any]) -> Any:
    return run_on(case, case.node, [change(case) if i == index else array for i, array in enumerate(case.inputs)])


def _read_again(case: NodeCase, index: int, words: str, sizes: set[int]) -> Any:
    """The same way to read the indices; where it changes nothing, as they are."""
    array = case.inputs[index]
    return dict(readings(formal(case.node, index), array, sizes)).get(words, array)


def earlier_operands(case: NodeCase) -> Iterator[Hypothesis]:
    """The node reads another value of the graph, one that is made before it, in the place of an operand."""
    found = []
    for index, value in enumerate(case.node.inputs):
        mine = case.inputs[index]
        if value is None or value.const_value is not None or not isinstance(mine, np.ndarray):
            continue
        alike = [(n, a) for n, a in case.earlier.items() if (a.shape, a.dtype.kind) == (mine.shape, mine.dtype.kind)]
        others = ((n, a) for n, a in alike if n != value.name and not np.array_equal(a, mine))
        for number, (name, array) in enumerate(others):
            words = f"operand {formal(case.node, index)!r} (input {index}) reads {name!r}, in the source {value.name!r}"
            change = functools.partial(_replaced, array=array)
            bits = OPERAND + among(len(case.inputs)) + among(number + 1)
            predict = functools.partial(with_operand(index, change), case)
            # On other inputs nothing is known of that value: it is not made of what the node reads.
            found.append(Hypothesis("operand", words, predict, bits=bits))
    yield from sorted(found, key=lambda one: one.bits)


def other_outputs(case: NodeCase) -> Iterator[Hypothesis]:
    """One of the node's outputs in the place of another."""
    names = [value.name for value in case.node.outputs]
    for place, name in enumerate(names) if len(names) > 1 else ():
        if name != case.output:
            words = f"output {names.index(case.output)} is output {place} of the node, they are exchanged"

            def predict(case: NodeCase, place: int = place) -> Any:
                return case.again(case.node, list(case.inputs))[place]

            yield hypothesis(case, "swapped", words, predict, OPERAND + among(len(names)))
