"""Runs on disk: every model runs once per sample, one model after the other, and all runs are compared afterwards.

So only one process is open at a time, however many settings there are, and the float64 reference is computed once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueport.errors import NoOracle, RunFailed, TrueportError
from trueport.ir.choices import Choice
from trueport.reference.base import Oracle, Truth
from trueport.reference.walk import Walkable
from trueport.runtimes.base import Model

__all__ = ["RecordedModel", "RecordedOracle", "RunFailure", "Sample", "Samples", "record"]

Feeds = Mapping[str, Any]


class RunFailure(Exception):
    """An error of this package that counts as a failure of the model."""


class Sample(dict[str, Any]):
    """One set of inputs, with its number."""

    def __init__(self, values: Feeds, index: int, drawn: Mapping[str, Any]) -> None:
        """``drawn``: what is known of how they were drawn, beside the numbers."""
        super().__init__(values)
        self.index = index
        self.special, self.bold, self.tested = (bool(drawn.get(name)) for name in ("special", "bold", "tested"))
        self.seen, self.left_out = drawn.get("seen"), drawn.get("left_out", "")


class Samples:
    """Sets of inputs, written as they come, to be read as often as wanted."""

    def __init__(self, feeds: Iterable[Feeds], folder: Path) -> None:
        self._store = _Store(folder)
        self._drawn: list[dict[str, Any]] = []
        for index, sample in enumerate(feeds):
            self._store.write(index, dict(sample))
            self._drawn.append(dict(getattr(sample, "__dict__", {})))

    def __iter__(self) -> Iterator[Sample]:
        for index, drawn in enumerate(self._drawn):
            yield Sample(self._store.read(index), index, drawn)


class RecordedModel(Model):
    """What a model gave for each sample, or how it failed."""

    def __init__(self, model: Model, folder: Path) -> None:
        self.runtime, self.inputs, self.outputs = model.runtime, model.inputs, model.outputs
        self._store = _Store(folder)
        self.failures: dict[int, Exception] = {}
        self.here: Model | None = None
        """the model as this CPU computes it, where that is known to be wrong"""
        self.model: Model | None = None
        """the model itself, where it is still open"""

    def as_run_here(self) -> Model | None:
        return self.here

    def choices(self, feeds: Feeds) -> Mapping[str, Choice]:
        return {} if self.model is None else self.model.choices(feeds)

    def keep(self, sample: Sample, outputs: dict[str, Any]) -> None:
        """Write the outputs for one sample."""
        self._store.write(sample.index, outputs)

    def run(self, feeds: Feeds, *, fetch: Any = None) -> dict[str, Any]:
        """Return what was recorded; inputs were checked when the model ran."""
        return self._run(feeds, fetch)

    def _run(self, feeds: Feeds, fetch: list[str] | None) -> dict[str, Any]:
        assert isinstance(feeds, Sample)
        assert fetch is None, "only outputs are recorded"
        if feeds.index in self.failures:
            raise self.failures[feeds.index]
        found: dict[str, Any] = self._store.read(feeds.index)
        return found


def record(model: Model, samples: Samples, folder: Path, *, raises: bool) -> RecordedModel:
    """Run a model on all samples.

    ``raises``: errors of this package end it; else they count as failures of the model, and after one that ended its
    process the rest is not tried.
    """
    found = RecordedModel(model, folder)
    dead: Exception | None = None
    for sample in samples:
        if dead is not None:
            found.failures[sample.index] = dead
            continue
        try:
            found.keep(sample, model.run(sample))
        except TrueportError as error:
            if raises:
                raise
            failure = RunFailure(error.why)
            found.failures[sample.index] = failure
            dead = failure if isinstance(error, RunFailed) else None
        except Exception as error:  # any runtime's own error type
            found.failures[sample.index] = error
    return found


class RecordedOracle:
    """An oracle that is asked once per sample."""

    def __init__(self, oracle: Oracle, folder: Path) -> None:
        self._oracle = oracle
        self._few, self._more = _Store(folder / "few"), _Store(folder / "more")
        self._missing: dict[int, NoOracle] = {}

    @property
    def name(self) -> str:
        """What it is, for the report."""
        return self._oracle.name

    @property
    def shares(self) -> str:
        """The runtime whose kernels it uses."""
        return self._oracle.shares

    def run(self, feeds: Feeds) -> Truth:
        """Return the reference and the noisy runs; raises `NoOracle` again where it did at first."""
        assert isinstance(feeds, Sample)
        if feeds.index in self._missing:
            raise self._missing[feeds.index]
        try:
            found: Truth = self._few.made_once(feeds.index, lambda: self._oracle.run(feeds))
        except NoOracle as error:
            self._missing[feeds.index] = error
            raise
        return found

    def walk(self, executions: Sequence[Model]) -> Walkable:
        """Return the source as it is walked node by node; nothing of that is stored."""
        return self._oracle.walk(executions)

    def more(self, feeds: Feeds) -> list[dict[str, Any]]:
        """Return further noisy runs."""
        assert isinstance(feeds, Sample)
        found: list[dict[str, Any]] = self._more.made_once(feeds.index, lambda: self._oracle.more(feeds))
        return found


class _Store:
    """Values by number, each in a file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder

    def write(self, index: int, value: Any) -> None:
        (self._folder / str(index)).write_bytes(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))

    def read(self, index: int) -> Any:
        return pickle.loads((self._folder / str(index)).read_bytes())

    def made_once(self, index: int, make: Callable[[], Any]) -> Any:
        if not (self._folder / str(index)).exists():
            self.write(index, make())
        return self.read(index)
