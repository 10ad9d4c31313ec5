"""Everything a report has to say of places in a model, whatever found it, in one order: worst first."""

from __future__ import annotations

from trueport.checking.remarks import Group, Remark, grouped, of_findings, of_losses
from trueport.fidelity import APPROXIMATE, BITWISE, EXACT, LOSSY, UNSUPPORTED
from trueport.report.data import CONVERT, Report
from trueport.verifying.wording import verdict_words

__all__ = ["counted", "groups_of", "headline", "remarks_of"]

_VERDICTS = {
    BITWISE: "converts bit for bit",
    EXACT: "converts exactly",
    APPROXIMATE: "converts approximately",
    LOSSY: "converts, and something is lost",
    UNSUPPORTED: "can't be converted",
}


def headline(report: Report) -> str:
    """Return the answer in a few words: what was measured where something was, else what is declared."""
    if report.task != CONVERT:
        return report.comparison.headline if report.comparison else "not compared"
    promised = _VERDICTS[report.fidelity]
    if report.undecided and report.fidelity < UNSUPPORTED:
        count = len(report.undecided)
        return f"not known before conversion at {count} node{'s' * (count != 1)}; else {promised}"
    return f"{promised}; measured: {verdict_words(report.verdict)}" if report.verdict else promised


def remarks_of(report: Report) -> list[Remark]:
    """Findings, losses and remarks, worst first."""
    found = [*of_findings(report.findings), *of_losses(report.losses), *report.remarks]
    return sorted(found, key=lambda remark: -remark.severity)


def groups_of(report: Report) -> list[Group]:
    """The same, one group per reason."""
    return grouped(remarks_of(report))


def counted(report: Report) -> str:
    """Nodes by fidelity, in words."""
    counts = report.counts()
    total = sum(counts.values())
    return f"{total} node{'s' * (total != 1)}: " + ", ".join(f"{count} {name}" for name, count in counts.items())
