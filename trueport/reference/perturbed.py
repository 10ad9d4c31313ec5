"""Where nothing tells the truth in float64: the source itself, and what moving its inputs a little does to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from trueport.reference.base import Truth, refuse_to_walk
from trueport.reference.noise import MORE_RUNS, NOISY_RUNS
from trueport.reference.walk import Walkable
from trueport.runtimes.base import Model

__all__ = ["PerturbedSource"]


class PerturbedSource:
    """Stands in for an oracle. Its noise is that of the inputs alone, so it allows less than rounding in every node."""

    def __init__(self, source: Model, why: str, seed: int = 0) -> None:
        self._source = source
        self.why = why
        self.shares = source.runtime
        self._seed = seed
        self.name = (
            f"none: {why}; judged by the source's executions, also on inputs off by half a unit of the last place"
        )

    def run(self, feeds: Mapping[str, Any]) -> Truth:
        """The source's own values, and those on inputs moved a little."""
        return self._source.run(feeds), [self._moved(feeds, run) for run in range(NOISY_RUNS)]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Further ones on inputs moved a little."""
        return [self._moved(feeds, NOISY_RUNS + run) for run in range(MORE_RUNS)]

    def walk(self, executions: Sequence[Model]) -> Walkable:
        """Raise `UsageError`."""
        refuse_to_walk(self.why)

    def _moved(self, feeds: Mapping[str, Any], run: int) -> dict[str, Any]:
        inputs = {name: _moved(value, np.random.default_rng([self._seed, run])) for name, value in feeds.items()}
        return self._source.run(inputs)


def _moved(value: Any, rng: np.random.Generator) -> Any:
    if not isinstance(value, np.ndarray) or (value.dtype.kind != "f" and value.dtype != ml_dtypes.bfloat16):
        return value
    half = float(ml_dtypes.finfo(value.dtype).eps) / 2
    with np.errstate(all="ignore"):
        # Rounded back, an element either stays or becomes its neighbour.
        return (value.astype(np.float64) * (1 + rng.uniform(-2, 2, size=value.shape) * half)).astype(value.dtype)
