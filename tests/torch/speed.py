"""Exports that do not each read the exporter's whole library of translations anew: most of a small export's time."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

__all__ = ["one_registry"]


@contextmanager
def one_registry() -> Iterator[None]:
    """Within it every export gets a copy of one registry; what is in it is the same."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    read = functools.cache(ONNXRegistry.from_torchlib)

    def copied(*args: Any, **options: Any) -> Any:
        made = copy.copy(read(*args, **options))
        made.functions = {name: list(found) for name, found in made.functions.items()}
        return made

    with mock.patch.object(ONNXRegistry, "from_torchlib", staticmethod(copied)):
        yield
