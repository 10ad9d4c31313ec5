"""Try inputs on the source: whether it takes them, why not, and whether its outputs say anything."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueport.errors import RunFailed, TrueportError
from trueport.quoting import one_line
from trueport.runtimes.base import Model
from trueport.runtimes.child import ChildModel, Limits
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

__all__ = ["Accepts", "Answer", "Prober", "ask", "collapsed_outputs"]

Feeds = Mapping[str, Any]
_SECONDS = 60.0
"""that a run in a child may take"""
_MAX_DEATHS = 3
"""after which no further inputs are tried in a child"""
_LOADER = "trueport.runtimes.onnxruntime:OnnxRuntimeModel"


@dataclass(frozen=True)
class Answer:
    """What the source does with inputs; true if it takes them."""

    taken: bool
    why: str = ""
    """what its runtime says, where it does not take them"""
    collapsed: frozenset[str] = frozenset()
    """outputs that are empty, nothing but NaN or infinite, or one number everywhere"""

    def __bool__(self) -> bool:
        return self.taken


Accepts = Callable[[Feeds], "Answer | bool"]


def ask(accepts: Accepts, feeds: Feeds, *, apart: bool = False) -> Answer:
    """Return what ``accepts`` says; in a process of its own if ``apart`` and it can."""
    answer = accepts.apart(feeds) if apart and isinstance(accepts, Prober) else accepts(feeds)
    return answer if isinstance(answer, Answer) else Answer(bool(answer))


@dataclass
class Prober:
    """Runs the source on inputs that it may not take."""

    source: Model
    runs: int = 0
    """how often the source was run"""
    deaths: int = 0
    """how often that killed a process"""
    _child: ChildModel | None = field(default=None, repr=False)

    def __call__(self, feeds: Feeds) -> Answer:
        """Run the source in this process."""
        return self._answer(self.source, feeds)

    def apart(self, feeds: Feeds) -> Answer:
        """Run an ONNX source in a child, which a crash may kill; any other in this process."""
        if not isinstance(self.source, OnnxRuntimeModel):
            return self(feeds)
        if self.deaths >= _MAX_DEATHS:
            return Answer(False, "not tried: other inputs killed the process that ran the source")
        if self._child is None:
            self._child = _opened(self.source)
        try:
            return self._answer(self._child, feeds)
        except RunFailed as error:
            self._child, self.deaths = None, self.deaths + 1
            return Answer(False, f"the process that ran it died: {one_line(error.why, 200)}")

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _answer(self, model: Model, feeds: Feeds) -> Answer:
        self.runs += 1
        try:
            outputs = model.run(feeds)
        except TrueportError:
            raise
        except Exception as error:  # any runtime's own error type: inputs that it can't take
            return Answer(False, f"{type(error).__name__}: {one_line(error, 300)}")
        return Answer(True, "", frozenset(collapsed_outputs(outputs)))


def _opened(source: OnnxRuntimeModel) -> ChildModel:
    with tempfile.TemporaryDirectory() as folder:
        place = source.file_in(Path(folder))
        return ChildModel(_LOADER, str(place), Limits(seconds=_SECONDS), {}, {"optimize": False})


def collapsed_outputs(outputs: Mapping[str, Any]) -> Iterable[str]:
    """Yield outputs that can't show a fault: empty, without a finite number, or one number in all places."""
    for name, value in outputs.items():
        if not isinstance(value, np.ndarray):
            continue
        if not value.size or (_is_float(value) and _says_nothing(value.astype(np.float64, copy=False))):
            yield name


def _is_float(value: np.ndarray) -> bool:
    return value.dtype.kind == "f" or value.dtype.name == "bfloat16"


def _says_nothing(numbers: np.ndarray) -> bool:
    if not np.isfinite(numbers).any():
        return True
    return numbers.size > 1 and bool(np.all(numbers == numbers.flat[0]))
