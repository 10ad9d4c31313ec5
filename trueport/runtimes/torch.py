"""PyTorch: a module called as its users call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trueport.errors import InvalidInput
from trueport.ir.choices import Choice
from trueport.ir.ports import Port
from trueport.runtimes.base import Model

__all__ = ["TorchModel"]

Eager = Callable[[Mapping[str, Any]], dict[str, Any]]
Inner = Callable[[Mapping[str, Any], list[str]], dict[str, Any]]
Choices = Callable[[Mapping[str, Any]], Mapping[str, Choice]]


class TorchModel(Model):
    """A module with named tensors: ``eager`` calls it, ``inner`` walks its captured graph."""

    runtime = "pytorch"

    def __init__(
        self,
        eager: Eager,
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        inner: Inner | None = None,
        bounds: Mapping[tuple[str, int], tuple[int, int | None]] | None = None,
        *,
        choices: Choices | None = None,
    ) -> None:
        """``bounds``: the least and the largest size of dynamic dims, by input and axis."""
        self._bounds = bounds or {}
        self._eager = eager
        self._inner = inner
        self._choices = choices
        self.inputs, self.outputs = inputs, outputs

    def choices(self, feeds: Mapping[str, Any]) -> Mapping[str, Choice]:
        return {} if self._choices is None else self._choices(feeds)

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        self._refuse_sizes(feeds)
        if fetch is None:
            return self._named(self._eager(feeds))
        assert self._inner is not None, "only a module that was walked has inner values to fetch"
        return self._inner(feeds, fetch)

    def _refuse_sizes(self, feeds: Mapping[str, Any]) -> None:
        for (name, axis), (low, high) in self._bounds.items():
            size = feeds[name].shape[axis]
            if size < low or (high is not None and size > high):
                raise ValueError(f"input {name!r}: axis {axis} has size {size}, its range is {low}..{high or ''}")

    def _named(self, results: dict[str, Any]) -> dict[str, Any]:
        expected = [port.name for port in self.outputs]
        if list(results) != expected:
            raise InvalidInput(
                f"the module gives back {', '.join(results)} for these inputs, for its example {', '.join(expected)}",
                where="the module",
                remedy="give back the same keys whatever the sizes and values of the inputs",
            )
        return results
