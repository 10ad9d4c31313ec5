"""What the float64 reference of a source offers, whatever its framework; and what stands in where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from trueport.errors import NoOracle, UsageError
from trueport.reference.walk import Walkable
from trueport.runtimes.base import Model

__all__ = ["NoReference", "Oracle", "Truth", "refuse_to_walk"]

Truth = tuple[dict[str, Any], list[dict[str, Any]]]


class Oracle(Protocol):
    """Whatever tells the truth about a source."""

    @property
    def name(self) -> str:
        """What it is, for the report."""

    @property
    def shares(self) -> str:
        """The runtime whose kernels it uses, so that it can't see what is wrong in them."""

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """Outputs by name in float64, and the same with the rounding of the model's types put in, a few times."""

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further noisy runs, for when the few leave a doubt."""

    def walk(self, executions: Sequence[Model]) -> Walkable:
        """Return the source as it is walked node by node; raises `UsageError` where it can't be.

        ``executions``: equivalent runs of the source, the plain one first.
        """


@dataclass(frozen=True)
class NoReference:
    """Where nothing knows the exact results: floats are compared with the source by declared bounds."""

    name: str
    """why"""
    shares: str = ""

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """Raise `NoOracle`."""
        raise NoOracle(self.name)

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return nothing."""
        return []

    def walk(self, executions: Sequence[Model]) -> Walkable:
        """Raise `UsageError`."""
        refuse_to_walk(self.name)


def refuse_to_walk(why: str) -> NoReturn:
    """Raise `UsageError`: the source has no nodes that can be evaluated one by one."""
    raise UsageError(
        f"the source can't be walked node by node: {why}",
        remedy="compare with the model it was made from: ONNX, SavedModel, Keras, a PyTorch module",
    )
