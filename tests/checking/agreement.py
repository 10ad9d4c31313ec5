"""Whether check foretells what convert does: the same refusals, the same losses, and numbers within what is promised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import trueport
from trueport.errors import ConversionError, TrueportError, Unsupported
from trueport.fidelity import EXACT, UNSUPPORTED, Verdict
from trueport.mapping.registry import Finding
from trueport.report.data import Report

__all__ = ["disagreements"]

Refused = set[tuple[str, str]]


def disagreements(
    source: Any, to: str, data: Sequence[Mapping[str, Any]] | None = None, *, measure: bool = True, **options: Any
) -> list[str]:
    """What check says otherwise than convert; none where the two agree."""
    try:
        foretold = trueport.check(source, to, **options)
    except TrueportError as error:
        return _same_error(error, source, to, options)
    try:
        done = trueport.convert(source, to, verify=measure, data=data, **options).report
    except Unsupported as error:
        return _differ("refused", _refused(foretold.findings), _refused(error.findings))
    except ConversionError as error:
        return _differ("refused", _refused(foretold.findings), {(error.where or "the model", error.why)})
    return [*_outcomes(foretold, done), *(_measured(done) if measure else ())]


def _same_error(error: TrueportError, source: Any, to: str, options: Mapping[str, Any]) -> list[str]:
    """What is wrong with the source or the call is an error of both."""
    try:
        trueport.convert(source, to, verify=False, **options)
    except TrueportError as other:
        return _differ("error", {(type(error).__name__, str(error))}, {(type(other).__name__, str(other))})
    return [f"check refuses what convert takes: {error}"]


def _outcomes(foretold: Report, done: Report) -> list[str]:
    return [
        *_differ("refused", _refused(foretold.findings), set()),
        *_differ("findings", _lines(foretold.findings), _lines(done.findings)),
        *_differ("losses", set(map(str, foretold.losses)), set(map(str, done.losses))),
        *_differ("remarks", set(foretold.remarks), set(done.remarks)),
        *_differ("fidelity", {foretold.fidelity}, {done.fidelity}),
    ]


def _measured(done: Report) -> list[str]:
    """Bit for bit or exact by declaration: then the numbers have to be faithful, where they could be compared."""
    found = done.comparison
    if found is None or found.skipped or done.fidelity > EXACT or done.verdict == Verdict.FAITHFUL:
        return []
    return [f"declared {done.fidelity.name}, measured: {found}"]


def _refused(findings: Iterable[Finding]) -> Refused:
    return {
        (finding.where, reason.because)
        for finding in findings
        if finding.fidelity == UNSUPPORTED
        for reason in finding.reasons
        if reason.effect == UNSUPPORTED
    }


def _lines(findings: Iterable[Finding]) -> set[str]:
    return {f"{finding.fidelity.name} {finding}" for finding in findings}


def _differ(what: str, foretold: set[Any], done: set[Any]) -> list[str]:
    if foretold == done:
        return []
    return [f"{what}: check says {sorted(foretold - done)}, convert {sorted(done - foretold)}"]
