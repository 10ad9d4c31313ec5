"""Any report as Markdown: for pull requests, CI summaries and issue trackers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trueport.checking.remarks import Group
from trueport.report.artifacts import Artifact
from trueport.report.data import CONVERT, Report
from trueport.report.groups import counted, groups_of, headline
from trueport.report.profile import Profile
from trueport.verifying.verification import Verification
from trueport.verifying.wording import describe_error, multiple, verdict_words

__all__ = ["render_markdown"]


def render_markdown(report: Report) -> str:
    """The answer, every reason with its places, and, after a conversion, what went in, came out and was measured."""
    parts = [
        _heading(report),
        _findings(report),
        _culprit(report.profile),
        _comparison(report.comparison),
        _text(report.kept),
        _artifacts(report),
        _seconds(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(report: Report) -> str:
    nodes = f" ({counted(report)})" if report.task == CONVERT else ""
    answer = f"# {_text(report.source)} → {_text(report.target)}\n\n**{_text(headline(report))}**{nodes}"
    return f"{answer}\n\nCaptured by {_text(report.captured_by)}." if report.captured_by else answer


def _findings(report: Report) -> str:
    return "\n\n".join("\n".join(_group(group)) for group in groups_of(report))


def _group(group: Group) -> Iterator[str]:
    yield f"### {group.severity.word}: {group.rule}"
    yield ""
    yield _text(group.because)
    yield ""
    if group.remedy:
        yield f"→ {_text(group.remedy)}"
        yield ""
    for remark in group.remarks:
        yield f"- {_text(remark.where)}" + (f" ({_text(remark.source)})" if remark.source else "")


def _culprit(found: Profile | None) -> str:
    if found is None or not found.blamed:
        return ""
    lines = ["## Where", "", _text(found.blamed), "", *(f"- cause: {_text(cause)}" for cause in found.causes)]
    return "\n".join(lines)


def _comparison(found: Verification | None) -> str:
    if found is None:
        return ""
    lines = ["## Comparison", "", _text(str(found))]
    lines += ["", f"Machine: {_text(str(found.machine))}"] if found.machine else []
    lines += ["", f"Hidden: {_text(found.said_inside)}"] if found.said_inside else []
    if found.outputs:
        rows = [
            [output.name, verdict_words(output.verdict), multiple(output.ratio), describe_error(output, found.k)]
            for output in found.outputs
        ]
        lines += ["", *_table(["output", "verdict", "ratio", "why"], rows)]
    return "\n".join(lines)


def _artifacts(report: Report) -> str:
    known = [(word, one) for word, one in (("in", report.went_in), ("out", report.came_out)) if one is not None]
    if not known:
        return ""
    rows = [[word, *_artifact(one)] for word, one in known]
    return "\n".join(["## Models", "", *_table(["", "name", "framework", "operators", "parameters", "bytes"], rows)])


def _artifact(one: Artifact) -> list[str]:
    nodes = sum(one.operators.values())
    return [one.name, one.framework, str(nodes), str(one.parameters), "" if one.bytes is None else str(one.bytes)]


def _seconds(report: Report) -> str:
    if not report.seconds or report.comparison is None:
        return ""
    rows = [[stage, f"{seconds:.2f}"] for stage, seconds in report.seconds.items()]
    return "\n".join(["## Time", "", *_table(["stage", "seconds"], rows)])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head = [f"| {' | '.join(columns)} |", f"| {' | '.join('---' for _ in columns)} |"]
    return [*head, *(f"| {' | '.join(map(_text, row))} |" for row in rows)]


def _text(words: str) -> str:
    """Words that Markdown takes as they are: names are full of underscores, and tables are made of bars."""
    for special in ("\\", "`", "*", "_", "|", "<", "[", "]"):
        words = words.replace(special, f"\\{special}")
    return " ".join(words.split())
