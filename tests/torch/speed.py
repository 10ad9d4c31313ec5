"""Less of the same work twice: most of a small conversion's time goes into it."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from trueport.sources import torch as torch_sources

__all__ = ["one_registry", "one_translation"]


@contextmanager
def one_registry() -> Iterator[None]:
    """Within it every export gets a copy of the exporter's library, which it would read anew each time."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    read = functools.cache(ONNXRegistry.from_torchlib)

    def copied(*args: Any, **options: Any) -> Any:
        made = copy.copy(read(*args, **options))
        made.functions = {name: list(found) for name, found in made.functions.items()}
        return made

    with mock.patch.object(ONNXRegistry, "from_torchlib", staticmethod(copied)):
        yield


@contextmanager
def one_translation() -> Iterator[None]:
    """Within it one module is captured and translated once, whatever it is converted to."""
    capture = _once(torch_sources.capture_torch)
    translate = _once(torch_sources.translate)

    def translated(*args: Any) -> Any:
        found = translate(*args)
        return replace(found, model=found.model.clone())

    with (
        mock.patch.object(torch_sources, "capture_torch", capture),
        mock.patch.object(torch_sources, "translate", translated),
    ):
        yield


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a function gives, or raises, for its first argument; there is but one while this lasts."""
    known: dict[int, tuple[Any, Any]] = {}

    def call(first: Any, *rest: Any) -> Any:
        if id(first) not in known:
            try:
                known[id(first)] = (function(first, *rest), None)
            except Exception as error:
                known[id(first)] = (None, error)
        made, error = known[id(first)]
        if error is not None:
            raise error
        return made

    return call
