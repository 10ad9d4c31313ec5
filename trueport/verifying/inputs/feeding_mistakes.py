"""Is it the harness? If the target agrees once its inputs are fed otherwise, that is worth a hint: never more."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.runtimes.base import Model
from trueport.verifying.judge.output import judge

__all__ = ["feeding_hints"]

Feeds = Mapping[str, Any]
_MAX_RANK = 4
_CHANNELS = 3


def feeding_hints(
    source: Mapping[str, Any], target: Model, feeds: Feeds, truth: Mapping[str, Any], k: float
) -> list[str]:
    """Ways to feed the target with which it would agree with the source."""
    found = []
    for words, changed in _changes(feeds):
        try:
            got = target.run(changed)
        except TrueportError:
            raise
        except Exception:  # any runtime's own error type: it does not take inputs like these
            continue
        agrees = all(
            judge(name, [value], got[name], truth[name], (), k=k).verdict == Verdict.FAITHFUL
            for name, value in source.items()
        )
        if agrees:
            found.append(f"the outputs agree if the target is fed {words}")
    return found


def _changes(feeds: Feeds) -> Iterator[tuple[str, dict[str, Any]]]:
    for (a, x), (b, y) in itertools.combinations(feeds.items(), 2):
        if isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.shape == y.shape and x.dtype == y.dtype:
            yield f"with {a!r} and {b!r} exchanged", {**feeds, a: y, b: x}
    for name, array in feeds.items():
        if isinstance(array, np.ndarray):
            for words, changed in _other_forms(array):
                yield f"{name!r} {words}", {**feeds, name: np.ascontiguousarray(changed).astype(array.dtype)}


def _other_forms(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    rank = array.ndim
    if 2 <= rank <= _MAX_RANK:
        for perm in itertools.permutations(range(rank)):
            if perm != tuple(range(rank)) and array.transpose(perm).shape == array.shape:
                yield f"with its axes in the order {list(perm)}", array.transpose(perm)
    for axis in range(rank):
        if array.shape[axis] == _CHANNELS:
            yield f"with the channels of axis {axis} reversed", np.flip(array, axis)
    if array.dtype.kind == "f":
        yield "multiplied by 255", array * 255
        yield "divided by 255", array / 255
        yield "scaled from [0, 1] to [-1, 1]", array * 2 - 1
        yield "scaled from [-1, 1] to [0, 1]", (array + 1) / 2
