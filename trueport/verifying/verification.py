"""What a verification found, as data: what reports hold and print, apart from the runtimes that made it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from trueport.fidelity import Verdict
from trueport.runtimes.machine import Machine
from trueport.verifying.coverage.data import Coverage
from trueport.verifying.judge.output import Judgement
from trueport.verifying.judge.signatures import SignatureDifference
from trueport.verifying.wording import describe_error, label, reworded, verdict_words

__all__ = ["SettingResult", "Verification", "badness"]

_INNER = 3
"""Values inside that are named in a sentence."""
_BADNESS = {verdict: rank for rank, verdict in enumerate(Verdict)}


@dataclass(frozen=True)
class SettingResult:
    """What one of the two models does under one setting of its runtime."""

    of: str
    """``source`` or ``target``; only the target's results decide the verdict"""
    runtime: str
    name: str
    verdict: Verdict | None
    """None where it was not run"""
    ratio: float | None
    """of the worst output; None where it was not run"""
    why: str
    """of the worst output, or the reason why it was not run"""

    def __post_init__(self) -> None:
        if self.verdict is not None and self.ratio is None:  # as JSON holds what is infinite
            object.__setattr__(self, "ratio", math.inf)

    def __str__(self) -> str:
        words = f"{verdict_words(self.verdict)}, {self.said}" if self.verdict else f"not run: {self.why}"
        return f"{self.of}, {self.runtime}, {self.name}: {words}"

    @property
    def said(self) -> str:
        """Why, as people read it."""
        return reworded(self.why, self.ratio or 0.0)


@dataclass(frozen=True)
class Verification:
    """What a verification found; frozen data, rendered elsewhere."""

    source_runtime: str
    target_runtime: str
    oracle: str
    """what the float64 reference was, or why there was none"""
    k: float
    samples: int
    rejected: int
    """inputs that the source itself does not take"""
    outputs: tuple[Judgement, ...]
    skipped: str = ""
    hints: tuple[str, ...] = ()
    """other ways to feed the target with which it would agree"""
    special: tuple[Judgement, ...] = ()
    """outputs on inputs with NaN, infinities and denormals; said, but no part of the verdict"""
    special_samples: int = 0
    executions: int = 1
    """ways in which the source was run, for the floor"""
    strict: bool = False
    rtol: float | None = None
    atol: float | None = None
    shown_by: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """the first inputs on which an output departs; not part of the JSON"""
    settings: tuple[SettingResult, ...] = ()
    """both models under other settings of their runtimes, where that was asked for"""
    coverage: Coverage | None = None
    """what the inputs reached in the source's graph; None in what older versions wrote"""
    machine: Machine | None = None
    """where the numbers were computed; None in what older versions wrote"""
    differences: tuple[SignatureDifference, ...] = ()
    """inputs and outputs that are called otherwise: renamed, in another order, frozen, of another dtype"""
    runtime_at_fault: str = ""
    """the runtime's optimizer, where the target is faithful without it; empty where it is not, or was not tried"""
    hiding: tuple[str, ...] = ()
    """outputs that hardly change when the inputs do: errors before them are not seen in them"""
    inner: tuple[Judgement, ...] = ()
    """values before those outputs, judged as outputs are; they decide the verdict as well"""
    unseen_inside: str = ""
    """why no such value was judged; empty where one was, or no output hides errors"""
    looked_on: tuple[Mapping[str, Any], ...] = field(default=(), repr=False, compare=False)
    """the first sets of inputs, on which it was seen whether outputs hide errors"""

    @property
    def verdict(self) -> Verdict | None:
        """The worst over all outputs, all settings that the target was run under, and how it is called."""
        if self.skipped or not self.outputs:
            return None
        found = [output.verdict for output in (*self.outputs, *self.inner)]
        found += [Verdict.DEPARTS for difference in self.differences if difference.counts]
        found += [setting.verdict for setting in self.settings if setting.of == "target" and setting.verdict]
        return max(found, key=_BADNESS.__getitem__)

    @property
    def worst_setting(self) -> SettingResult | None:
        """The setting of the target that makes the verdict worse than it is without any; None where none does."""
        plain = max((_BADNESS[output.verdict] for output in self.outputs), default=0)
        run = [setting for setting in self.settings if setting.of == "target" and setting.verdict]
        worse = [setting for setting in run if setting.verdict and _BADNESS[setting.verdict] > plain]
        return max(worse, key=_setting_badness, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON takes it: what is infinite or no number is null."""
        data = {name: value for name, value in vars(self).items() if name not in ("shown_by", "looked_on")}
        for name in ("outputs", "special", "inner"):
            data[name] = [_judgement_json(output) for output in data[name]]
        data["settings"] = [
            {**asdict(found), "verdict": found.verdict.value if found.verdict else None} for found in self.settings
        ]
        data["coverage"] = self.coverage.to_json() if self.coverage else None
        data["machine"] = asdict(self.machine) if self.machine else None
        data["hints"] = list(self.hints)
        data["differences"] = [asdict(found) for found in self.differences]
        return {"verdict": self.verdict.value if self.verdict else None, **_jsonable(data)}

    @property
    def worst(self) -> Judgement | None:
        """The output that decides the verdict; None where there is none."""
        return max(self.outputs, key=badness, default=None)

    @property
    def worst_inside(self) -> Judgement | None:
        """The worst value before outputs that hide errors; None where none was judged."""
        return max(self.inner, key=badness, default=None)

    @property
    def said_inside(self) -> str:
        """Which outputs hide errors, and what was found of the values before them; empty where none does."""
        if not self.hiding or self.skipped:
            return ""
        begin = f"output {', '.join(repr(label(name)) for name in self.hiding)} hardly changes with the inputs"
        if not self.inner:
            return f"{begin}; values before it were not judged: {self.unseen_inside}" if self.unseen_inside else begin
        said = [f"{label(one.name)!r} ({reworded(one.why, one.ratio, one.metrics)})" for one in self.inner[:_INNER]]
        more = f" and {len(self.inner) - _INNER} more" if len(self.inner) > _INNER else ""
        return f"{begin}, so values before it were judged as well: {', '.join(said)}{more}"

    @property
    def headline(self) -> str:
        """The verdict and the error that decides it, in one line."""
        if self.skipped:
            return f"not compared: {self.skipped}"
        if self.worst is None:
            return "not compared: the models have no outputs"
        verdict, setting = verdict_words(self.verdict), self.worst_setting
        if setting is not None:
            return f"{verdict} under {setting.runtime}, {setting.name}: {setting.said}"
        if self.runtime_at_fault:
            return f"{verdict}: {self.runtime_at_fault}"
        inside = self.worst_inside
        if inside is not None and inside.verdict == Verdict.DEPARTS and self.worst.verdict != Verdict.DEPARTS:
            error = describe_error(inside, self.k)
            hidden = ", ".join(repr(label(name)) for name in self.hiding)
            return f"{verdict}: {error} in value {label(inside.name)!r}, which is hidden in output {hidden}"
        differs = [str(difference) for difference in self.differences if difference.counts]
        # An output of another dtype is such a difference itself, and says less than its declaration.
        if differs and (self.worst.verdict != Verdict.DEPARTS or self.worst.why.startswith("dtype ")):
            return f"{verdict}: {differs[0]}"
        if self.verdict == Verdict.FAITHFUL and not self.strict and not any(output.ratio for output in self.outputs):
            return f"{verdict}: no error in any output"
        if self.verdict == Verdict.PRECISION_CHANGE:
            return describe_error(self.worst, None)
        error = describe_error(self.worst, None if self.strict else self.k)
        return f"{verdict}: {error} in output {label(self.worst.name)!r}"

    def __str__(self) -> str:
        if self.skipped:
            return self.headline
        compared = f"{self.samples} inputs, {self.source_runtime} against {self.target_runtime}"
        return f"{self.headline}; {compared}; reference: {self.oracle}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.headline}>"


def _judgement_json(found: Judgement) -> dict[str, Any]:
    return {**asdict(found), "verdict": found.verdict.value}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _setting_badness(found: SettingResult) -> tuple[int, float]:
    return _BADNESS[found.verdict] if found.verdict else -1, found.ratio or 0.0


def badness(found: Judgement) -> tuple[int, float]:
    """What to sort by, worst last."""
    return _BADNESS[found.verdict], found.ratio
