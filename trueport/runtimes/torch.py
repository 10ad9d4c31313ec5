"""PyTorch: a module called as its users call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trueport.ir.ports import Port
from trueport.runtimes.base import Model

__all__ = ["TorchModel"]

Eager = Callable[[Mapping[str, Any]], dict[str, Any]]
Inner = Callable[[Mapping[str, Any], list[str]], dict[str, Any]]


class TorchModel(Model):
    """A module with named tensors: ``eager`` calls it, ``inner`` walks its captured graph."""

    runtime = "pytorch"

    def __init__(
        self, eager: Eager, inputs: tuple[Port, ...], outputs: tuple[Port, ...], inner: Inner | None = None
    ) -> None:
        self._eager = eager
        self._inner = inner
        self.inputs, self.outputs = inputs, outputs

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        if fetch is None:
            return self._eager(feeds)
        assert self._inner is not None, "only a module that was walked has inner values to fetch"
        return self._inner(feeds, fetch)
