"""The attributes of a module as they were before a call: a call may assign some, and its hooks may fill containers."""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["forward_replaced", "kept_attributes", "without_traces"]


@contextmanager
def kept_attributes(module: Any) -> Iterator[None]:
    """Put back, at the end, all attributes of the module and of its parts, and what lists, dicts and sets hold."""
    parts = [] if isinstance(module, torch.jit.ScriptModule) or not hasattr(module, "modules") else module.modules()
    kept = [(vars(part), dict(vars(part))) for part in parts]
    contents = [(value, value.copy()) for _, held in kept for value in held.values() if type(value) in _CONTAINERS]
    contents += [(value, value.copy()) for value in _closed_over(module)]
    try:
        yield
    finally:
        for live, held in kept:
            _refill(live, held)
        for value, content in contents:
            _refill(value, content)


_CONTAINERS = (list, dict, set, OrderedDict)
"""A module's hooks are an OrderedDict: a call that adds some, and notes that it did, leaves neither behind."""


def _closed_over(module: Any) -> list[Any]:
    """Containers that forward hooks reach through their closures: ``register_forward_hook(save_into(found))``."""
    if isinstance(module, torch.jit.ScriptModule) or not hasattr(module, "modules"):
        return []
    hooks = [
        hook for part in module.modules() for hook in (*part._forward_hooks.values(), *part._forward_pre_hooks.values())
    ]
    values = [value for hook in hooks if callable(hook) for value in _closure(hook)]
    return [value for value in values if type(value) in _CONTAINERS]


def _closure(function: Any) -> list[Any]:
    return list(inspect.getclosurevars(function).nonlocals.values()) if inspect.isfunction(function) else []


def _refill(value: Any, content: Any) -> None:
    if type(value) is list:
        value[:] = content
    elif _is_changed(value, content):
        value.clear()
        value.update(content)


def _is_changed(value: Any, content: Any) -> bool:
    """By identity: comparing tensors gives tensors."""
    if type(value) is set:
        return bool(value != content)
    return value.keys() != content.keys() or any(value[key] is not content[key] for key in content)


@contextmanager
def forward_replaced(module: Any, run: Callable[..., Any]) -> Iterator[None]:
    """Within it ``run(forward, *args, **kwargs)`` is the module's forward."""
    forward = module.forward
    own = "forward" in vars(module)

    @functools.wraps(forward)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        return run(forward, *args, **kwargs)

    module.forward = replaced
    try:
        yield
    finally:
        if own:
            module.forward = forward
        else:
            del module.forward


def without_traces(module: Any) -> AbstractContextManager[None]:
    """Within it a call of the module leaves its attributes as they were: an export refuses tensors that it leaves."""

    def run(forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with kept_attributes(module):
            return forward(*args, **kwargs)

    return forward_replaced(module, run)
