"""Counting what a runtime computes wrongly on this CPU, where the model itself is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueport.runtimes.base import Model

__all__ = ["Saturation"]

_REMEDY = "quantize the weights as uint8, or with 7 bits (reduce_range=True)"


class Saturation:
    """Runs source and target once more as this CPU computes them, where that is known to be wrong, and counts."""

    def __init__(self, source: Model, target: Model) -> None:
        models = {"source": source.as_run_here(), "target": target.as_run_here()}
        self._models = {side: model for side, model in models.items() if model is not None}
        self._worst: dict[tuple[str, str], tuple[int, int]] = {}

    def look(self, feeds: Mapping[str, Any], exact: Mapping[str, Mapping[str, Any]]) -> None:
        """Count the values that differ from the exact ones; ``exact`` has each side's outputs, none if it failed."""
        for side, model in self._models.items():
            for name, value in model.run(feeds).items() if exact[side] else ():
                wrong, of = _differing(value, exact[side][name])
                if wrong > self._worst.get((side, name), (0, 0))[0]:
                    self._worst[side, name] = (wrong, of)

    def hints(self, faithful: bool) -> tuple[str, ...]:
        """Return one sentence per output that is wrong as this CPU computes it."""
        said = {
            "source": "the target is right" if faithful else "the target is judged by the exact sums",
            "target": f"the model is judged by the exact sums; {_REMEDY}",
        }
        return tuple(
            f"ONNX Runtime saturates uint8 × int8 sums on this CPU: {wrong} of {of} values of output {name!r} of the "
            f"{side} are wrong when it is run here; {said[side]}"
            for (side, name), (wrong, of) in self._worst.items()
        )


def _differing(value: Any, exact: Any) -> tuple[int, int]:
    """Return how many elements differ, of how many; what is not an array of numbers is not counted."""
    if not isinstance(value, np.ndarray) or not isinstance(exact, np.ndarray) or value.shape != exact.shape:
        return 0, 0
    same = value == exact
    if value.dtype.kind in "fc":
        same |= np.isnan(value) & np.isnan(exact)
    return int(np.sum(~same)), value.size
