"""Does an output show what happens before it? A saturated softmax, an ArgMax or a Clip hides even large errors.

The source runs once more on inputs that are moved a little, by far more than rounding moves anything: an output that
does not change by more than is allowed for rounding would not show as large an error of any value before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from trueport.runtimes.base import Model
from trueport.verifying.judge.output import allowance

__all__ = ["LOOKS", "Sensitivity", "is_moved", "moved_inputs"]

Feeds = Mapping[str, Any]

LOOKS = 3
"""Sets of inputs on which an output may show that it is sensitive."""
_STEP = 1 / 16
"""How far each input is moved, relative to itself: an error that no faithful target makes."""
_ULPS = 64
"""Units of the last place that it is moved at least: of bfloat16 a sixteenth is eight."""


class Sensitivity:
    """Outputs that changed on no set of inputs so far, on which inputs were moved."""

    def __init__(self, source: Model) -> None:
        self._source = source
        self._sensitive: set[str] = set()
        self._seen: dict[str, None] = {}
        self.samples: list[Feeds] = []
        """on which it was looked"""

    def look(self, feeds: Feeds, plain: Feeds, truth: Feeds, noisy: Sequence[Feeds], k: float) -> None:
        """Look at outputs that are not known to be sensitive; ``plain``: what the source makes of the inputs."""
        self._seen.update(dict.fromkeys(plain))
        names = [name for name in plain if name in truth and name not in self._sensitive]
        if len(self.samples) >= LOOKS or not names:
            return
        moved = self._run(moved_inputs(feeds))
        if moved is None:
            self._sensitive.update(names)  # nothing is known of them, and nothing is said
            return
        self.samples.append(feeds)
        for name in names:
            if is_moved(plain[name], moved[name], truth[name], [run[name] for run in noisy], k):
                self._sensitive.add(name)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """Outputs that are not known to be sensitive, where it was looked at all."""
        return tuple(name for name in self._seen if name not in self._sensitive) if self.samples else ()

    def _run(self, feeds: Feeds) -> dict[str, Any] | None:
        try:
            return self._source.run(feeds)
        except Exception:  # any runtime's own error type: the moved inputs may be none that it takes
            return None


def moved_inputs(feeds: Feeds, seed: int = 0) -> dict[str, Any]:
    """Return inputs of which floats are moved, and without floats the other numbers exchanged among each other."""
    rng = np.random.default_rng(seed)
    if any(_is_float(array) for value in feeds.values() for array in _arrays(value)):
        return {name: _changed(value, lambda a: _moved(a, rng) if _is_float(a) else a) for name, value in feeds.items()}
    return {
        name: _changed(value, lambda a: np.roll(a, 1) if a.dtype.kind in "iub" else a) for name, value in feeds.items()
    }


def _arrays(value: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of an input: of a sequence those of its members, whose shapes may differ."""
    if isinstance(value, (list, tuple)):
        for member in value:
            yield from _arrays(member)
    elif isinstance(value, (np.ndarray, np.generic)):
        yield np.asarray(value)


def _changed(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Return an input with every array changed; what is none stays."""
    if isinstance(value, (list, tuple)):
        return [_changed(member, change) for member in value]
    return change(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def is_moved(plain: Any, moved: Any, truth: Any, noisy: Sequence[Any], k: float) -> bool:
    """Return whether a value changed by more than is allowed for rounding; True for what can't be compared.

    Integers and booleans never did: what they are made of may change a lot before one of them does.
    """
    if not all(isinstance(value, np.ndarray) for value in (plain, moved)) or plain.shape != moved.shape:
        return True
    if not plain.size or plain.dtype.kind in "OUS":
        return True
    if not _is_float(plain) and plain.dtype.kind != "c":
        return False
    exact, allowed = allowance(plain, truth, noisy, k)
    with np.errstate(all="ignore"):
        gap = np.abs(moved.astype(exact.dtype) - plain.astype(exact.dtype))
        return bool(np.any(gap > allowed) or np.any(np.isnan(moved) != np.isnan(plain)))


def _is_float(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16


def _moved(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    step = max(_STEP, _ULPS * float(ml_dtypes.finfo(array.dtype).eps))
    with np.errstate(all="ignore"):
        # Every element, each its own way: what sums or scales them alike would hide a common factor.
        off = rng.choice([-1.0, 1.0], size=array.shape) * rng.uniform(0.5, 1.0, size=array.shape) * step
        return np.asarray(array.astype(np.float64) * (1 + off)).astype(array.dtype)
