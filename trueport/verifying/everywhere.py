"""Both models under all settings of their runtimes: the target is judged under each, by one float64 reference.

The source's runs under its settings belong to the noise floor, as far as they are faithful themselves: a factory that
draws other weights in each process, or a runtime that is wrong under one setting, must not hide faults of the target.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.reference.base import NoReference, Oracle
from trueport.runtimes.base import Model
from trueport.runtimes.child import ChildModel
from trueport.runtimes.settings import NotShown, Reopens, Setting, settings_of
from trueport.verifying.inputs.pairing import PairedModel
from trueport.verifying.judge.criteria import Asked
from trueport.verifying.recording import RecordedModel, RecordedOracle, Samples, record
from trueport.verifying.verification import SettingResult, Verification, badness
from trueport.verifying.verify import verify_runs

__all__ = ["Everywhere"]

_SAID = 300
"""Characters of an error that a line shows."""


@dataclass(frozen=True)
class Everywhere:
    """A comparison that is made under every setting."""

    sources: Sequence[Model]
    """executions of the source under no particular setting, the plain one first"""
    target: PairedModel
    openings: tuple[Reopens, Reopens]
    """how source and target were opened"""
    oracle: Oracle
    wish: Asked
    allowed_ulps: float
    progress: Callable[[str], None]
    """called with the setting under way"""

    def run(self, feeds: Iterable[Mapping[str, Any]]) -> Verification:
        """Judge the target under no setting and under each; the verdict is the worst."""
        with tempfile.TemporaryDirectory(prefix="trueport-") as folder:
            return _Run(self, feeds, Path(folder)).run()


class _Run:
    """One such comparison, with its recordings in a folder."""

    def __init__(self, asked: Everywhere, feeds: Iterable[Mapping[str, Any]], folder: Path) -> None:
        self._asked = asked
        self._folder = folder
        self._count = 0
        self._accepted: list[int] = []
        """numbers of the samples that the source takes"""
        self._samples = Samples(feeds, folder / "samples")
        oracle = asked.oracle
        self._oracle = oracle if isinstance(oracle, NoReference) else RecordedOracle(oracle, folder / "oracle")

    def run(self) -> Verification:
        asked = self._asked
        asked.progress("verify: source")
        plain = [self._record(model, raises=True) for model in asked.sources]
        self._accepted = [sample.index for sample in self._samples if sample.index not in plain[0].failures]
        source, target = asked.openings
        lenient = Asked(asked.wish.k)
        floor, results, hints = list(plain), [], []
        for setting, run in self._under(source, lambda model: model):
            result = self._source_result(setting, run, plain, lenient)
            results.append(result)
            if isinstance(run, RecordedModel) and result.verdict == Verdict.FAITHFUL:
                floor.append(run)
            elif result.verdict == Verdict.DEPARTS:
                hints.append(f"{result}; these runs are no part of the noise floor")
        asked.progress("verify: target")
        found = self._judged(floor, self._record(asked.target, raises=True), asked.wish)
        for setting, run in self._under(target, asked.target.around):
            judged = run if isinstance(run, str) else self._judged(floor, run, asked.wish)
            results.append(_result("target", setting, judged))
        return replace(found, settings=tuple(results), hints=(*found.hints, *hints))

    def _source_result(
        self, setting: Setting, run: RecordedModel | str, plain: Sequence[Model], wish: Asked
    ) -> SettingResult:
        """Judge the source as if it were a target; where it fails, the setting counts as not run."""
        failures = self._failures(run) if isinstance(run, RecordedModel) else []
        if failures:
            run = f"fails: {_words(failures[0])}"
        return _result("source", setting, run if isinstance(run, str) else self._judged(plain, run, wish))

    def _under(
        self, opening: Reopens, around: Callable[[Model], Model]
    ) -> Iterator[tuple[Setting, RecordedModel | str]]:
        """Yield each setting with what the model gave under it, or the reason why it was not run."""
        for setting in settings_of(opening.model.runtime):
            self._asked.progress(f"verify: {opening.role}, {setting.runtime}, {setting.name}")
            yield setting, opening.why_not(setting) or self._opened(opening, setting, around)

    def _opened(self, opening: Reopens, setting: Setting, around: Callable[[Model], Model]) -> RecordedModel | str:
        try:
            model = opening.open(setting)
        except NotShown as error:
            return str(error)
        except Exception as error:  # any runtime's own error type, or what a user's module raises
            return f"does not start: {_words(error)}"
        try:
            found = self._record(around(model), raises=False)
        finally:
            if isinstance(model, ChildModel):
                model.close()
        if setting.compiles and self._accepted and self._accepted[0] in found.failures:
            # Where the first run already fails, it is the compiler that refuses the model.
            return f"{setting.name} can't compile it: {_words(found.failures[self._accepted[0]])}"
        return found

    def _failures(self, run: RecordedModel) -> list[Exception]:
        """Return how it failed on inputs that the source takes."""
        return [run.failures[index] for index in self._accepted if index in run.failures]

    def _record(self, model: Model, *, raises: bool) -> RecordedModel:
        self._count += 1
        found = record(model, self._samples, self._folder / f"runs-{self._count}", raises=raises)
        # Under no setting: what this CPU computes wrongly is told once.
        found.here, found.model = (model.as_run_here(), model) if raises else (None, None)
        return found

    def _judged(self, sources: Sequence[Model], target: Model, wish: Asked) -> Verification:
        allowed = self._asked.allowed_ulps
        return verify_runs(sources, target, self._samples, self._oracle, wish=wish, allowed_ulps=allowed)


def _result(of: str, setting: Setting, found: Verification | str) -> SettingResult:
    if isinstance(found, str) or found.verdict is None:
        why = found if isinstance(found, str) else found.skipped or "there are no outputs"
        return SettingResult(of, setting.runtime, setting.name, None, None, why)
    worst = max(found.outputs, key=badness)
    why = worst.why if len(found.outputs) == 1 else f"{worst.name!r}: {worst.why}"
    return SettingResult(of, setting.runtime, setting.name, worst.verdict, worst.ratio, why)


def _words(error: Exception) -> str:
    text = error.why if isinstance(error, TrueportError) else str(error)
    return f"{type(error).__name__}: {' '.join(text.split())}"[:_SAID]
