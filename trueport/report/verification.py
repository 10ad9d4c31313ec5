"""Verifications and located faults as people read them in a terminal, on one screen, and as JSON."""

from __future__ import annotations

import json as jsonlib
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trueport.fidelity import Verdict
from trueport.report.screen import entry, joined, table
from trueport.report.walked import judged_values
from trueport.verifying.judge.output import Judgement
from trueport.verifying.locate.result import Culprit, Located, Step
from trueport.verifying.verification import SettingResult, Verification, badness
from trueport.verifying.wording import MOST, label, multiple, reworded, verdict_words

__all__ = ["Subject", "render", "render_located"]

_AROUND = 3
"""Values shown before the culprit, and after it."""
_OUTPUTS = 8
"""Outputs that get a line of their own."""
_FIGURES = 3
_HINTS = 3
_CAUSES = 3
_INPUTS = 4
_CASE = "case"
"""What the folder of a reproducer is called in the command that is proposed."""


@dataclass(frozen=True)
class Subject:
    """The models of a comparison as a command names them, and the options that the next command needs as well."""

    source: str = ""
    target: str = ""
    options: tuple[str, ...] = ()
    is_reported: bool = False
    """a report is written"""

    def command(self, name: str, *more: str) -> str:
        """Return a command on the same models and inputs."""
        return shlex.join(["trueport", name, self.source or "SOURCE", self.target or "TARGET", *self.options, *more])


def render(found: Verification, *, json: bool = False, subject: Subject | None = None) -> str:
    """Return the verdict first, then what was compared, the outputs, and what to do next."""
    if json:
        return jsonlib.dumps(found.to_json(), indent=1)
    subject = subject or Subject()
    faithful = found.verdict in (Verdict.FAITHFUL, Verdict.WITHIN_TOLERANCE)
    lines = [found.headline, *_models(subject, found.source_runtime, found.target_runtime)]
    lines += entry("tried", _tried(found), _coverage(found))
    lines += entry("shown by", _shapes(found.shown_by))
    lines += entry("reference", "" if found.skipped else found.oracle)
    lines += entry("limit", _limit(found))
    lines += _outputs(found)
    lines += entry("hidden", found.said_inside)
    lines += entry("special", _special(found))
    lines += _settings(found)
    lines += [line for difference in found.differences for line in entry("differs", str(difference))]
    lines += entry("cause", found.runtime_at_fault)
    lines += [line for hint in found.hints[:_HINTS] for line in entry("hint", hint)]
    lines += entry("machine", str(found.machine) if found.machine else "")
    if not faithful and not found.skipped:
        lines += _next(subject, "verify", {"names the node and the cause": ("locate",)})
    return joined(lines)


def _models(subject: Subject, source: str, target: str) -> list[str]:
    named = ((subject.source, source), (subject.target, target))
    words = [" ".join(filter(None, (label(name), f"({runtime})" if runtime else ""))) for name, runtime in named]
    return [*entry("source", words[0]), *entry("target", words[1])]


def _tried(found: Verification) -> str:
    if found.skipped:
        return ""
    said = f"{found.samples} input{'s' * (found.samples != 1)}"
    said += f"; the source rejects {found.rejected} more" if found.rejected else ""
    settings = [one for one in found.settings if one.of == "target"]
    left_out = sum(one.verdict is None for one in settings)
    said += f"; also under {len(settings) - left_out} settings of the target" if settings else ""
    return said + (f" ({left_out} not run)" if left_out else "")


def _coverage(found: Any) -> str:
    """Return what the inputs reached and what they did not, where that was measured."""
    coverage = getattr(found, "coverage", None)
    return str(coverage) if coverage else ""


def _shapes(feeds: Mapping[str, Any]) -> str:
    """Return dtypes and shapes of inputs, not their numbers."""
    shown = [f"{label(name)} {_type(value)}" for name, value in list(feeds.items())[:_INPUTS]]
    return ", ".join([*shown, f"{len(feeds) - _INPUTS} more"] if len(feeds) > _INPUTS else shown)


def _type(value: Any) -> str:
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    return f"{dtype}{list(shape)}" if dtype is not None and shape is not None else type(value).__name__


def _limit(found: Verification) -> str:
    if found.strict:
        return "--strict: only the same bits are faithful"
    if found.rtol is None and found.atol is None:
        return ""
    return f"{found.k:g} × normal rounding; tolerated: atol {found.atol or 0:g}, rtol {found.rtol or 0:g}"


def _outputs(found: Verification) -> list[str]:
    """Return a line per output, of many those that differ the most, and what a table has no room for."""
    shown: Sequence[Judgement] = found.outputs
    if len(shown) > _OUTPUTS:
        shown = sorted(shown, key=badness, reverse=True)[:_OUTPUTS]
    if not shown:
        return []
    rows: list[tuple[str, ...]] = [("output", "verdict", "× rounding", "max abs", "max ulp", "SNR dB", "why")]
    lines = ["", *table([*rows, *map(_row, shown)])]
    if len(found.outputs) > len(shown):
        rest = [verdict_words(output.verdict) for output in found.outputs if output not in shown]
        counted = ", ".join(f"{rest.count(word)} {word}" for word in dict.fromkeys(rest))
        lines += [f"    … and {len(rest)} more: {counted}"]
    figures = [line for output in shown for line in _figures(output)]
    return [*lines, *figures[:_FIGURES], ""]


def _row(output: Judgement) -> tuple[str, ...]:
    m = output.metrics
    figures = ["", "", ""] if m is None else [_number(m.max_abs), _number(m.max_ulp), _number(m.snr_db)]
    said = reworded(output.why, output.ratio, m)
    why = "" if said.startswith("error is") and ";" not in said else said
    return (output.name, verdict_words(output.verdict), _ratio(output.ratio), *figures, why)


def _figures(output: Judgement) -> list[str]:
    """Return ranks of scores, steps of integers, the tolerance that would have been needed."""
    m = output.metrics
    if m is None:
        return []
    said = [f"top-1 agrees in {m.top1:.1%}" if m.top1 is not None else ""]
    said += [f"top-5 in {m.top5:.1%}" if m.top5 is not None else ""]
    if output.verdict != Verdict.FAITHFUL:
        steps = [f"{step:+d}: {count}" for step, count in m.histogram.items() if step]
        said += ["off by steps of " + ", ".join(steps[:8]) if steps else ""]
        said += [f"{m.nonfinite_differ} NaN or infinities differ" if m.nonfinite_differ else ""]
        said += [f"needs atol {m.needed_atol:.3g}" if m.needed_atol is not None else "no atol is enough"]
        said += [f"or rtol {m.needed_rtol:.3g}" if m.needed_rtol is not None else "no rtol is enough"]
    words = ", ".join(part for part in said if part)
    return [f"    {label(output.name)}: {words}"] if words else []


def _special(found: Verification) -> str:
    """Return what NaN, infinities, denormals and refused empty batches did, where it is no part of the verdict."""
    if not found.special_samples:
        return ""
    odd = [
        f"{label(output.name)!r} differs ({reworded(output.why, output.ratio, output.metrics)})"
        for output in found.special
        if output.verdict == Verdict.DEPARTS
    ]
    said = "; ".join(odd) or "as the source"
    what = "NaN, infinity, denormals or an empty batch"
    return f"on {found.special_samples} inputs with {what}, not part of the verdict: {said}"


def _settings(found: Verification) -> list[str]:
    """Return one line per setting, those that were not run last."""
    if not found.settings:
        return []
    ordered = sorted(found.settings, key=lambda one: (one.of == "source", one.verdict is None))
    rows: list[tuple[str, ...]] = [("model", "runtime", "setting", "verdict", "× rounding", "why")]
    return [*table([*rows, *map(_setting_row, ordered)]), ""]


def _setting_row(one: SettingResult) -> tuple[str, ...]:
    verdict = verdict_words(one.verdict) if one.verdict else "not run"
    said = one.said
    # Where the ratio says all there is no need for words.
    why = "" if one.verdict == Verdict.FAITHFUL or said.startswith("error is") else said
    return (one.of, one.runtime, one.name, verdict, "" if one.ratio is None else _ratio(one.ratio), why)


def _ratio(value: float | None) -> str:
    """Return a ratio for a column: of those above a million the digits say nothing."""
    if value is None or value <= MOST or not math.isfinite(value):
        return _number(value)
    return "> 1e6"


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return "inf" if math.isinf(value) else f"{value:.3g}"


def render_located(found: Located, *, json: bool = False, subject: Subject | None = None) -> str:
    """Return the verdict first, then the node, the cause, the values around it, and what to do next."""
    if json:
        return jsonlib.dumps(_plain(found), indent=1)
    subject = subject or Subject()
    tried = (f"on {_shapes(found.feeds)}" if found.feeds else "", _coverage(found))
    share = f"matched {found.aligned} of {found.values} intermediate values: {found.alignment}"
    lines = [found.headline]
    if found.culprit is None:
        lines += [*_models(subject, "", ""), *entry("tried", *tried, share), *_around(found)]
        return joined([*lines, *(_next(subject, "locate", {}) if found.departs else [])])
    lines += [*_node(found.culprit, subject), *_causes(found.culprit), *_error(found.culprit), *_inside(found.culprit)]
    lines += [*entry("tried", *tried, share), *_around(found)]
    lines += entry("reproducer", found.reproducer)
    proposed = {} if found.reproducer else {"writes the smallest model that shows it": ("locate", "--reproduce", _CASE)}
    return joined([*lines, *_next(subject, "locate", proposed)])


def _node(c: Culprit, subject: Subject) -> list[str]:
    """Return the node under its names in both models."""
    named = [label(name) for name in (subject.source, subject.target)]
    source = f"{c.op} node {label(c.node or c.value)!r} is the first that differs"
    makes = f"it makes {label(c.value)!r}" if c.node and c.node != c.value else ""
    lines = [*entry("node", source, makes), *entry("from", ", ".join(c.origin))]
    if c.target_node or c.target_value:
        target = f"node {label(c.target_node)!r}, which makes {label(c.target_value)!r}"
        lines += entry("target", f"in {named[1]}: {target}" if named[1] else target)
    others = ", ".join(map(label, c.within[:_CAUSES]))
    more = f" and {len(c.within) - _CAUSES} more" if len(c.within) > _CAUSES else ""
    return [*lines, *entry("or", f"{others}{more}: the target has no values between them" if others else "")]


def _causes(c: Culprit) -> list[str]:
    """Return the most likely cause with its evidence, and a few others."""
    if not c.causes:
        return entry("cause", "unknown")
    lines = [*entry("cause", c.causes[0].what, most=3), *entry("evidence", c.causes[0].evidence, most=3)]
    return lines + [line for other in c.causes[1:_CAUSES] for line in entry("or", other.what, most=2)]


def _error(c: Culprit) -> list[str]:
    own, inherited = (_times(ratio) for ratio in (c.own.ratio, c.inherited))
    return entry("error", f"{own} normal rounding in this node alone; {inherited} in the values that it is made of")


def _times(ratio: float) -> str:
    return "beyond any multiple of" if math.isinf(ratio) else multiple(ratio)


def _inside(c: Culprit) -> list[str]:
    """Return the node in a loop's body or a branch, and the step."""
    at = f"at step {c.iteration} of the loop" if c.iteration is not None else "in the branch that is taken"
    if c.inside is None:
        return entry("inside", f"first {at}" if c.iteration is not None else "")
    inner = f"{at} the first that differs is the {c.inside.op} node {label(c.inside.node or c.inside.value)!r}"
    return entry("inside", inner, *(f"cause: {cause}" for cause in c.inside.causes[:1]))


def _around(found: Located) -> list[str]:
    """Return the values before the culprit, its own, and those after it; without a culprit the last ones."""
    steps, place = judged_values(found)
    if not steps:
        return []
    at = len(steps) - 1 if place is None else place
    first = max(0, at - _AROUND)
    rows: list[tuple[str, ...]] = [("value", "node", "operator", "× rounding", "error", "rounding")]
    rows += map(_step, steps[first : at + _AROUND + 1])
    return ["", *table(rows, marked=None if place is None else place - first + 1), ""]


def _step(s: Step) -> tuple[str, ...]:
    return (s.value, s.node, s.op, _ratio(s.ratio), _number(s.error), _number(s.floor) if s.floor else "exact")


def _next(subject: Subject, name: str, proposed: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return commands, each after what it does; they are never broken, so that they can be copied."""
    page: Mapping[str, tuple[str, ...]] = {"shows both graphs": (name, "--report", "page.html")}
    commands = {**proposed, **({} if subject.is_reported else page)}
    lines = [line for does, words in commands.items() for line in (f"{does}:", f"  {subject.command(*words)}")]
    return ["", *(f"  {'next' if at == 0 else '':<11} {line}" for at, line in enumerate(lines))]


def _plain(found: Located) -> dict[str, Any]:
    return {
        "culprit": _culprit(found.culprit) if found.culprit else None,
        "why": found.why,
        "k": found.k,
        "aligned": found.aligned,
        "values": found.values,
        "departs": found.departs,
        "reproducer": found.reproducer,
        "alignment": asdict(found.alignment),
        "steps": [{**asdict(s), "ratio": _finite(s.ratio), "own_ratio": _finite(s.own_ratio)} for s in found.steps],
    }


def _culprit(c: Culprit) -> dict[str, Any]:
    return {
        "node": c.node,
        "op": c.op,
        "value": c.value,
        "origin": list(c.origin),
        "target_node": c.target_node,
        "target_value": c.target_value,
        "within": list(c.within),
        "iteration": c.iteration,
        "inside": _culprit(c.inside) if c.inside else None,
        "own_ratio": _finite(c.own.ratio),
        "inherited_ratio": _finite(c.inherited),
        "why": c.own.why,
        "causes": [asdict(cause) for cause in c.causes],
    }


def _finite(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else "inf"
