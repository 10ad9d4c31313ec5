"""What a rewritten ``if``, ``while`` or ``for`` does when it runs: Python's way where it is Python's to decide, and
PyTorch's control-flow operators where a tensor, or a size that stays open, decides.

PyTorch traces through this code: it is imported plainly, where it is used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from trueport.errors import ConversionError

__all__ = [
    "UNDEFINED",
    "as_count",
    "as_test",
    "between",
    "choose",
    "count",
    "element",
    "equal",
    "every",
    "greatest",
    "least",
    "length",
    "negate",
    "peek",
    "repeat",
    "some",
    "unlike",
]

Branch = Callable[..., Any]


class _Undefined:
    """A name that has no value yet."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Any = _Undefined()


def peek(read: Callable[[], Any]) -> Any:
    """A variable's value, or that it has none yet."""
    try:
        return read()
    except NameError:
        return UNDEFINED


def choose(test: Any, then: Branch, otherwise: Branch, values: Sequence[Any], names: str) -> Any:
    """``if``: both branches take the variables that they change and give them back, or the function's result."""
    import torch

    # Inside of a branch that is being traced a comparison of sizes looks like a bool; torch.cond knows them apart.
    traced = torch.compiler.is_dynamo_compiling() and isinstance(test, bool)
    if not traced and not _hangs_on_data(test):
        return then(*values) if test else otherwise(*values)
    test = test != 0 if isinstance(test, torch.SymInt) else test
    condition = test.reshape(()).to(torch.bool) if isinstance(test, torch.Tensor) else test
    places = [index for index, value in enumerate(values) if isinstance(value, torch.Tensor)]
    tensors = [values[index] for index in places]
    branches = [_on_tensors(branch, values, places, names) for branch in (then, otherwise)]
    return torch.cond(condition, *branches, tuple(tensors))


def repeat(test: Branch, body: Branch, values: Sequence[Any], names: str) -> Any:
    """``while``: test and body take the variables that the body changes."""
    import torch

    state = tuple(values)
    first = test(*state)
    if not _hangs_on_data(first):
        while first:
            state = body(*state)
            first = test(*state)
        return state
    if any(value is UNDEFINED for value in state):
        raise _undefined(names, state)
    carried = tuple(_own(_as_tensor(value)) for value in state)

    def condition(*given: Any) -> Any:
        return test(*given).reshape(()).to(torch.bool)

    def step(*given: Any) -> Any:
        # Copies, because ``i += 1`` writes into what was a number of Python's.
        made = body(*(_own(value) for value in given))
        return tuple(_own(_as_tensor(new).to(old.dtype)) for new, old in zip(made, given, strict=True))

    return torch._higher_order_ops.while_loop(condition, step, carried)


def count(bounds: Sequence[Any], body: Branch, values: Sequence[Any], names: str) -> Any:
    """``for … in range(…)``: the body takes the counter and the variables that it changes."""
    import torch

    if not any(_hangs_on_data(bound) for bound in bounds):
        state = tuple(values)
        for index in range(*bounds):
            state = body(index, *state)
        return state
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    low, high, by = (_as_tensor(bound).to(torch.int64) for bound in (start, stop, step))

    def test(at: Any, *state: Any) -> Any:
        return torch.where(by > 0, at < high, at > high)

    def advance(at: Any, *state: Any) -> Any:
        return (at + by, *body(at, *state))

    return tuple(repeat(test, advance, (low, *values), names)[1:])


def as_count(value: Any) -> Any:
    """``int(x)`` where a loop's bound is meant: a tensor stays one."""
    import torch

    return value if isinstance(value, torch.Tensor) else int(value)


def as_test(value: Any) -> Any:
    """``bool(x)`` where a branch's condition is meant: a tensor stays one."""
    return value if _hangs_on_data(value) else bool(value)


def length(real: Callable[..., Any], *args: Any) -> Any:
    """``len(x)``: of a tensor the size of its first axis, which may be dynamic."""
    import torch

    is_sized = len(args) == 1 and isinstance(args[0], torch.Tensor) and args[0].dim()
    return args[0].shape[0] if is_sized else real(*args)


def least(real: Callable[..., Any], *args: Any) -> Any:
    """``min(a, b)``, also of dynamic sizes."""
    import torch

    return functools.reduce(torch.sym_min, args) if _are_sizes(args) else real(*args)


def greatest(real: Callable[..., Any], *args: Any) -> Any:
    """``max(a, b)``, also of dynamic sizes."""
    import torch

    return functools.reduce(torch.sym_max, args) if _are_sizes(args) else real(*args)


def _are_sizes(args: Sequence[Any]) -> bool:
    import torch

    sizes = (int, float, torch.SymInt, torch.SymFloat)
    return len(args) > 1 and all(isinstance(arg, sizes) for arg in args) and not all(type(arg) is int for arg in args)


def equal(a: Any, b: Any) -> Any:
    """``==``: of shapes size by size, as a comparison of dynamic sizes."""
    import torch

    if not (isinstance(a, (tuple, list)) and isinstance(b, (tuple, list))) or type(a) is list is not type(b):
        return a == b
    if not any(isinstance(item, torch.SymInt) for item in (*a, *b)):
        return a == b
    if len(a) != len(b):
        return False
    found: Any = True
    for x, y in zip(a, b, strict=True):
        test = x == y
        if isinstance(test, torch.SymBool):
            found = test if found is True else found & test
        elif not test:
            return False
    return found


def unlike(a: Any, b: Any) -> Any:
    """``!=``, as ``equal``."""
    import torch

    if not isinstance(a, (tuple, list)):
        return a != b
    found = equal(a, b)
    return torch.sym_not(found) if isinstance(found, torch.SymBool) else not found


def element(value: Any, index: Any) -> Any:
    """``x[:, i]``, also where the counter of a loop, which is a tensor there, stands for a position."""
    import torch

    places = index if isinstance(index, tuple) else (index,)
    counters = [place for place, item in enumerate(places) if _is_counter(item)]
    known = all(isinstance(item, (int, slice)) or _is_counter(item) for item in places)
    if not isinstance(value, torch.Tensor) or not counters or not known:
        return value[index]
    for axis in counters:
        place = places[axis].reshape(1)
        value = value.index_select(axis, torch.where(place < 0, place + value.shape[axis], place))
    return value[tuple(0 if place in counters else item for place, item in enumerate(places))]


def between(start: Any, stop: Any, step: Any) -> slice:
    """``start:stop:step`` of an index."""
    return slice(start, stop, step)


def _is_counter(item: Any) -> bool:
    import torch

    return isinstance(item, torch.Tensor) and item.dim() == 0 and item.dtype == torch.int64


def every(*tests: Callable[[], Any]) -> Any:
    """``and``: what comes after a False of Python's is not looked at."""
    found: Any = True
    for test in tests:
        value = test()
        if not _hangs_on_data(value):
            if not value:
                return value
        else:
            found = value if found is True else _truth(found).logical_and(_truth(value))
    return found


def some(*tests: Callable[[], Any]) -> Any:
    """``or``: what comes after a True of Python's is not looked at."""
    found: Any = False
    for test in tests:
        value = test()
        if not _hangs_on_data(value):
            if value:
                return value
        else:
            found = value if found is False else _truth(found).logical_or(_truth(value))
    return found


def negate(value: Any) -> Any:
    """``not``."""
    return _truth(value).logical_not() if _hangs_on_data(value) else not value


def _truth(value: Any) -> Any:
    import torch

    tensor = value if isinstance(value, torch.Tensor) else torch.scalar_tensor(value)
    return tensor.reshape(()).to(torch.bool)


def _hangs_on_data(value: Any) -> bool:
    import torch

    return isinstance(value, (torch.Tensor, torch.SymBool, torch.SymInt))


def _on_tensors(branch: Branch, values: Sequence[Any], places: Sequence[int], names: str) -> Branch:
    """The branch as a function of tensors alone; what else it takes is the same for both."""
    import torch

    def run(*tensors: Any) -> Any:
        given = list(values)
        for index, tensor in zip(places, tensors, strict=True):
            given[index] = _own(tensor)
        made = branch(*given)
        leaves, spec = torch.utils._pytree.tree_flatten(made)
        if any(leaf is UNDEFINED for leaf in leaves):
            raise _undefined(names, leaves)
        return torch.utils._pytree.tree_unflatten([_own(_as_tensor(leaf)) for leaf in leaves], spec)

    return run


def _as_tensor(value: Any) -> Any:
    """A number of Python's as one without axes: it takes part in promotion as the number would."""
    import torch

    if isinstance(value, torch.Tensor):
        return value
    kinds = {bool: torch.bool, float: torch.float64, complex: torch.complex128}
    return torch.full((), value, dtype=kinds.get(type(value), torch.int64))


def _own(tensor: Any) -> Any:
    """A copy: what a branch gives back may not be what it was given."""
    import torch

    return tensor.clone(memory_format=torch.contiguous_format)


def _undefined(names: str, values: Sequence[Any]) -> ConversionError:
    return ConversionError(
        f"what happens here hangs on the data, and not every way through it gives a value to all of {names}",
        remedy="give each of them a value before it, of the type and shape that it gets there",
    )
