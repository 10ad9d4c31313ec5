"""Whether check foretells what convert does: the same refusals, the same losses, numbers within what is promised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import trueport
from trueport.errors import ConversionError, TrueportError, Unsupported
from trueport.fidelity import EXACT, UNSUPPORTED, Verdict
from trueport.mapping.registry import Finding
from trueport.report.data import Report
from trueport.verifying.judge.budget import allowed_ulps
from trueport.verifying.judge.summed_bounds import compare_outputs

__all__ = ["disagreements"]

Refused = set[tuple[str, str]]


Samples = Sequence[Mapping[str, Any]]


def disagreements(
    source: Any,
    to: str,
    data: Samples | None = None,
    expected: Sequence[Sequence[Any]] = (),
    *,
    measure: bool = True,
    **options: Any,
) -> list[str]:
    """What check says otherwise than convert; none where the two agree.

    ``expected``: the outputs that whoever made the model says are right, one list per sample.
    """
    try:
        foretold = trueport.check(source, to, **options)
    except TrueportError as error:
        return _same_error(error, source, to, options)
    try:
        made = trueport.convert(source, to, verify=measure, data=data, **options)
    except Unsupported as error:
        return _differ("refused", _refused(foretold.findings), _refused(error.findings))
    except ConversionError as error:
        if any(finding.undecided and finding.where == error.where for finding in foretold.findings):
            return []
        return _differ("refused", _refused(foretold.findings), {(error.where or "the model", error.why)})
    return [*_outcomes(foretold, made.report), *(_measured(made, data or (), expected) if measure else ())]


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


def _measured(made: trueport.Conversion, data: Samples, expected: Sequence[Sequence[Any]]) -> list[str]:
    """Bit for bit or exact by declaration: then the numbers are faithful, or as near as the declared bounds say to
    what the model's maker expects: a source's runtime may be in error itself."""
    found = made.report.comparison
    if found is None or found.skipped or made.report.fidelity > EXACT or made.report.verdict == Verdict.FAITHFUL:
        return []
    if expected and all(_within_bounds(made, *case) for case in zip(data, expected, strict=True)):
        return []
    return [f"declared {made.report.fidelity.name}, measured: {found}"]


def _within_bounds(made: trueport.Conversion, feeds: Mapping[str, Any], expected: Sequence[Any]) -> bool:
    allowed = allowed_ulps(made.plan.model, made.target.registry)
    got = made.built.run().run(feeds)
    return all(
        compare_outputs(name, want, have, allowed).verdict == Verdict.FAITHFUL
        for (name, have), want in zip(got.items(), expected, strict=True)
    )


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
