"""Verifications as people read them in a terminal, and as JSON."""

from __future__ import annotations

import json as jsonlib
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from trueport.fidelity import Verdict
from trueport.verifying.judge.output import Judgement
from trueport.verifying.locate.first_node import Culprit, Located
from trueport.verifying.verification import SettingResult, Verification

__all__ = ["render", "render_located"]

_AROUND = 3
"""Steps shown before and after a departure."""


def render(found: Verification, *, json: bool = False) -> str:
    """The verdict first, then a line per output."""
    if json:
        return jsonlib.dumps(found.to_json(), indent=1)
    rows: list[tuple[str, ...]] = [("output", "verdict", "ratio", "max abs", "max ulp", "SNR dB", "why")]
    rows += [_row(output) for output in found.outputs]
    lines = [str(found)] if found.skipped else [_headline(found), *_table(rows)]
    lines += [line for output in found.outputs for line in _figures(output)]
    lines += _special(found)
    lines += _settings(found)
    lines += [f"  differs: {difference}" for difference in found.differences]
    lines += [f"  cause: {found.runtime_at_fault}"] if found.runtime_at_fault else []
    lines += [f"  hint: {hint}" for hint in found.hints]
    lines += [f"  machine: {found.machine}"] if found.machine else []
    return "\n".join(lines)


def _settings(found: Verification) -> list[str]:
    """One line per setting, those that were not run last."""
    if not found.settings:
        return []
    ordered = sorted(found.settings, key=lambda one: (one.of == "source", one.verdict is None))
    rows: list[tuple[str, ...]] = [("model", "runtime", "setting", "verdict", "ratio", "why")]
    rows += [_setting_row(one) for one in ordered]
    return _table(rows)


def _setting_row(one: SettingResult) -> tuple[str, ...]:
    verdict = one.verdict.value if one.verdict else "not run"
    # Of a faithful one the ratio says all.
    why = "" if one.verdict == Verdict.FAITHFUL else one.why
    return (one.of, one.runtime, one.name, verdict, _ratio(one.ratio), why)


def _special(found: Verification) -> list[str]:
    """What NaN, infinities and denormals did, on a line of its own."""
    if not found.special_samples:
        return []
    odd = [f"{output.name!r} departs ({output.why})" for output in found.special if output.verdict == Verdict.DEPARTS]
    said = "; ".join(odd) or "as the source"
    return [f"  on NaN, infinity and denormals ({found.special_samples} inputs, no part of the verdict): {said}"]


def _headline(found: Verification) -> str:
    verdict = found.verdict.value if found.verdict else "nothing compared"
    dropped = f", {found.rejected} that the source rejects" if found.rejected else ""
    dropped += _counted(found)
    asked = (
        "only the same bits are faithful" if found.strict else f"up to {found.k:g} × what rounding explains is faithful"
    )
    if found.rtol is not None or found.atol is not None:
        asked += f"; tolerated: atol {found.atol or 0:g}, rtol {found.rtol or 0:g}"
    return (
        f"{verdict}: {found.source_runtime} against {found.target_runtime} on {found.samples} inputs{dropped}\n"
        f"  truth: {found.oracle}; {asked}"
    )


def _counted(found: Verification) -> str:
    """How many settings the target was run under, and which of them decides the verdict."""
    settings = [one for one in found.settings if one.of == "target"]
    if not settings:
        return ""
    left_out = sum(one.verdict is None for one in settings)
    said = f", also under {len(settings) - left_out} settings of the target"
    said += f" ({left_out} not run)" if left_out else ""
    worst = found.worst_setting
    return said + (f"; worst under {worst.runtime}, {worst.name}" if worst else "")


def _row(output: Judgement) -> tuple[str, ...]:
    m = output.metrics
    figures = ["", "", ""] if m is None else [_number(m.max_abs), _number(m.max_ulp), _number(m.snr_db)]
    return (output.name, output.verdict.value, _ratio(output.ratio), *figures, output.why)


def _figures(output: Judgement) -> list[str]:
    """What a table has no room for: ranks of scores, steps of integers, the tolerance that would have been needed."""
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
    return [f"  {output.name}: {words}"] if words else []


def _number(value: float | None) -> str:
    return "" if value is None else "inf" if math.isinf(value) else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    """Return a ratio; beyond a million the reason says more, as it does where there is none."""
    return "–" if value is not None and math.isinf(value) else ">1e6" if (value or 0) > 1e6 else _number(value)


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def render_located(found: Located, *, json: bool = False) -> str:
    """The culprit in its neighbourhood, or why there is none."""
    if json:
        return jsonlib.dumps(_plain(found), indent=1)
    share = f"aligned {found.aligned} of {found.values} inner values, {found.alignment}"
    if found.culprit is None:
        return f"no node departs by itself: {found.why}\n  {share}"
    c = found.culprit
    lines = [
        f"{c.op} node {c.node or c.value!r} is the first to depart: {c.own.why}",
        f"  makes {c.value!r}" + (f", from {', '.join(c.origin)} in the source" if c.origin else ""),
        *([f"  in the target: node {c.target_node!r}, which makes {c.target_value!r}"] if c.target_node else []),
        *([f"  or one of {', '.join(c.within)}, between which the target has no values"] if c.within else []),
        *_inside(c),
        f"  own error: {_number(c.own.ratio)} × what rounding explains; inherited: {_number(c.inherited)} ×",
        *([f"  cause: {cause}" for cause in c.causes] or ["  cause: unknown"]),
        f"  {share}; the values before and at it:",
    ]
    rows = [("value", "node", "operator", "ratio", "error", "floor")]
    rows += [
        (s.value, s.node, s.op, _number(s.ratio), _number(s.error), _number(s.floor))
        for s in found.steps[-1 - _AROUND :]
    ]
    made = [f"  reproducer: {found.reproducer}"] if found.reproducer else []
    return "\n".join([*lines, *_table(rows), *made])


def _inside(c: Culprit) -> list[str]:
    """The node in a loop's body or a branch, and the step."""
    at = f"at step {c.iteration} of the loop" if c.iteration is not None else "in the branch that is taken"
    if c.inside is None:
        return [f"  first {at}"] if c.iteration is not None else []
    found = [f"  {at}: {c.inside.op} node {c.inside.node or c.inside.value!r} is the first to depart"]
    return found + [f"    cause: {cause}" for cause in c.inside.causes]


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
