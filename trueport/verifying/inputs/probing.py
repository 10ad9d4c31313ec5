"""Try inputs on the source: whether it takes them, why not, and whether its outputs say anything."""

from __future__ import annotations

import enum
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueport.errors import RunFailed, TrueportError
from trueport.quoting import one_line
from trueport.runtimes.base import Model
from trueport.runtimes.child import ChildModel, Limits
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

__all__ = ["Accepts", "Answer", "Prober", "Says", "ask", "reason_of", "what_outputs_say"]

Feeds = Mapping[str, Any]
_SECONDS = 60.0
"""that a run in a child may take"""
_MAX_DEATHS = 3
"""after which no further inputs are tried in a child"""
_OWN_CODE = r"/\S+:\d+ [^()]*(\(\))?\([^)]*\)( const)?"
"""a line of ONNX Runtime's code and the function that it is in"""
_LOADER = "trueport.runtimes.onnxruntime:OnnxRuntimeModel"


class Says(enum.IntEnum):
    """How much an output could show of a fault."""

    NOTHING = 0
    """empty, or no finite number"""
    CONSTANT = 1
    """one number in all places"""
    ONE_NUMBER = 2
    """a single element, of which it can't be told whether it depends on the inputs"""
    MUCH = 3


@dataclass(frozen=True)
class Answer:
    """What the source does with inputs; true if it takes them."""

    taken: bool
    why: str = ""
    """what its runtime says, where it does not take them"""
    says: Mapping[str, Says] = field(default_factory=dict)
    """how much each output could show of a fault"""

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
            return Answer(False, reason_of(error))
        return Answer(True, "", what_outputs_say(outputs))


def _opened(source: OnnxRuntimeModel) -> ChildModel:
    with tempfile.TemporaryDirectory() as folder:
        place = source.file_in(Path(folder))
        return ChildModel(_LOADER, str(place), Limits(seconds=_SECONDS), {}, {"optimize": False})


def reason_of(error: Exception) -> str:
    """Return a runtime's message in one line, without the place in its own code."""
    said = one_line(re.sub(_OWN_CODE, "", str(error)), 300)
    return f"{type(error).__name__}: {said}"


def what_outputs_say(outputs: Mapping[str, Any]) -> dict[str, Says]:
    """Return how much each output could show of a fault."""
    return {name: _says(value) for name, value in outputs.items() if isinstance(value, np.ndarray)}


def _says(value: np.ndarray) -> Says:
    if not value.size:
        return Says.NOTHING
    if value.dtype.kind != "f" and value.dtype.name != "bfloat16":
        return Says.MUCH
    numbers = value.astype(np.float64, copy=False)
    if not np.isfinite(numbers).any():
        return Says.NOTHING
    if numbers.size == 1:
        return Says.ONE_NUMBER
    return Says.CONSTANT if np.all(numbers == numbers.flat[0]) else Says.MUCH
