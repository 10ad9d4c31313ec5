"""What a rewritten ``if``, ``while`` or ``for`` does when it runs: Python's way where it is Python's to decide, and
PyTorch's control-flow operators where a tensor, or a size that stays open, decides.

PyTorch traces through this code: it is imported plainly, where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trueport.errors import ConversionError

__all__ = ["UNDEFINED", "as_count", "as_test", "choose", "count", "every", "negate", "peek", "repeat", "some"]

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

    if not _hangs_on_data(test):
        return then(*values) if test else otherwise(*values)
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
        made = body(*given)
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
            given[index] = tensor
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
