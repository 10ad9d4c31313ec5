"""What a conversion says of itself: frozen data, rendered elsewhere."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from trueport.checking.remarks import Remark, grouped
from trueport.drawing.graph import Graphs
from trueport.fidelity import BITWISE, Fidelity, Loss, Verdict
from trueport.ir.ports import CONTAINERS, Port
from trueport.mapping.registry import Finding
from trueport.report.artifacts import Artifact, Setting
from trueport.report.drawn import Drawn
from trueport.report.plain import plain, restored
from trueport.report.profile import Profile
from trueport.report.schema import REPORT, upgraded
from trueport.verifying.verification import Verification

__all__ = ["CONVERT", "Report", "users_operators"]

CONVERT = "convert"


@dataclass(frozen=True)
class Report:
    """Source and target, every loss, the comparison, where the time went, and how to do it again."""

    source: str
    target: str
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    findings: tuple[Finding, ...] = ()
    losses: tuple[Loss, ...] = ()
    comparison: Verification | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    users_operators: Mapping[str, str] = field(default_factory=dict)
    """operators that a user's own module translates, and which module"""
    setting: Setting | None = None
    profile: Profile | None = None
    remarks: tuple[Remark, ...] = ()
    """what the rules of the check say: notes and warnings beside the findings and losses"""
    captured_by: str = ""
    """how the source became a graph, where there are several ways to do that"""
    is_made: bool = False
    """there is a target"""
    is_written: bool = False
    """it is on disk"""
    task: str = CONVERT
    """the command that made it: ``convert``, or ``verify`` or ``locate`` of two models that any tool made"""
    drawn: Callable[[], Drawn] | None = field(default=None, repr=False, compare=False)
    """draws both models; None before there is a target"""

    @functools.cached_property
    def drawing(self) -> Drawn:
        """Both models as they are shown; drawn when this is asked for."""
        return self.drawn() if self.drawn is not None else Drawn()

    @property
    def went_in(self) -> Artifact | None:
        """The source, with its files' hashes."""
        return self.drawing.went_in

    @property
    def came_out(self) -> Artifact | None:
        """The target, with its files' hashes."""
        return self.drawing.came_out

    @property
    def graphs(self) -> Graphs | None:
        """Both graphs, and which node became which."""
        return self.drawing.graphs

    @property
    def fidelity(self) -> Fidelity:
        """The worst over all nodes and losses: what the declarations of a conversion promise."""
        return max([f.fidelity for f in self.findings] + [loss.fidelity for loss in self.losses], default=BITWISE)

    @property
    def undecided(self) -> tuple[Finding, ...]:
        """Nodes of which only the conversion shows whether they convert; none once there is a target."""
        return () if self.is_made or self.comparison else tuple(f for f in self.findings if f.undecided)

    @property
    def verdict(self) -> Verdict | None:
        """What was measured; None when nothing was compared."""
        return self.comparison.verdict if self.comparison else None

    @property
    def kept(self) -> str:
        """What is said of a written model that was not shown to be faithful; empty for all others."""
        if self.task != CONVERT or not self.is_written or self.comparison is None or self.verdict == Verdict.FAITHFUL:
            return ""
        return f"{self.target} was written and is kept, though it was not shown to be faithful; see trueport locate"

    def with_command(self, command: str) -> Report:
        """The same, with what to type to do it again."""
        return self if self.setting is None else replace(self, setting=replace(self.setting, command=command))

    def counts(self) -> dict[str, int]:
        """Nodes by fidelity, worst first."""
        found = Counter(finding.fidelity for finding in self.findings)
        return {level.name.lower(): found[level] for level in sorted(found, reverse=True)}

    def to_plain(self) -> dict[str, Any]:
        """The report in JSON's own types, as the published schema describes it."""
        return {
            "schema": REPORT,
            "source": self.source,
            "target": self.target,
            "task": self.task,
            "captured_by": self.captured_by,
            "fidelity": self.fidelity.name.lower() if self.task == CONVERT else None,
            "verdict": self.verdict.value if self.verdict else None,
            "inputs": [port.to_json() for port in self.inputs],
            "outputs": [port.to_json() for port in self.outputs],
            "nodes": self.counts(),
            "users_operators": dict(self.users_operators),
            "findings": [_finding(finding) for finding in self.findings],
            "losses": plain(self.losses),
            "remarks": plain((*self.remarks, *self.drawing.undrawn)),
            "comparison": plain(self.comparison.to_json()) if self.comparison else None,
            "seconds": plain(self.seconds),
            "went_in": plain(self.went_in),
            "came_out": plain(self.came_out),
            "setting": plain(self.setting),
            "graphs": plain(self.graphs),
            "profile": plain(self.profile),
        }

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_plain(), indent=1, allow_nan=False)

    def to_html(self) -> str:
        """One page that needs nothing else: no network, no Trueport."""
        from trueport.report.html.render import page

        return page(self.to_plain())

    def to_markdown(self) -> str:
        """For pull requests, CI summaries and issue trackers."""
        from trueport.report.markdown import render_markdown

        return render_markdown(self)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """A report that was written before, by this version or an older one; declarations are not part of it."""
        data = upgraded(json.loads(text))
        came_out = restored(Artifact | None, data["came_out"])
        drawing = Drawn(restored(Artifact | None, data["went_in"]), came_out, restored(Graphs | None, data["graphs"]))
        return cls(
            is_made=came_out is not None,
            is_written=came_out is not None and came_out.bytes is not None,
            drawn=lambda: drawing,
            findings=tuple(restored(Finding, {**finding, "mapping": None}) for finding in data["findings"]),
            inputs=tuple(Port.from_json(port) for port in data["inputs"]),
            outputs=tuple(Port.from_json(port) for port in data["outputs"]),
            # Reports written before these were known lack them.
            captured_by=data.get("captured_by", ""),
            task=data.get("task", CONVERT),
            **{name: restored(kind, data[name]) for name, kind in _KINDS.items()},
        )

    def __str__(self) -> str:
        if self.task != CONVERT:
            return self._compared()
        lines = [f"{self.source} → {self.target}: {self.fidelity.name.lower()} by declaration"]
        lines.append("  nodes: " + ", ".join(f"{count} {name}" for name, count in self.counts().items()))
        lines += [f"  captured by {self.captured_by}"] if self.captured_by else []
        lines += [f"  by {module}: {op}" for op, module in self.users_operators.items()]
        lines += [f"  {f.fidelity.name.lower()}: {f}" for f in self.findings if f.reasons]
        lines += [f"  loss: {loss}" for loss in self.losses]
        lines += [f"  needs a newer runtime: {words}" for words in _needs(self.remarks)]
        lines += [f"  {words}" for port in (*self.inputs, *self.outputs) for words in _carried(port)]
        lines.append(f"  {self.comparison}" if self.comparison else "  not compared")
        lines += [f"  machine: {self.comparison.machine}"] if self.comparison and self.comparison.machine else []
        lines += [f"  {self.kept}"] if self.kept else []
        return "\n".join(lines)

    def _compared(self) -> str:
        found, profile = self.comparison, self.profile
        lines = [f"{self.source} and {self.target}: {found or 'not compared'}"]
        lines += [f"  {profile.blamed}"] if profile and profile.blamed else []
        lines += [f"  cause: {cause}" for cause in profile.causes] if profile else []
        return "\n".join([*lines, *([f"  machine: {found.machine}"] if found and found.machine else [])])


_KINDS: dict[str, Any] = {
    "source": str,
    "target": str,
    "losses": tuple[Loss, ...],
    "remarks": tuple[Remark, ...],
    "comparison": Verification | None,
    "seconds": Mapping[str, float],
    "users_operators": Mapping[str, str],
    "setting": Setting | None,
    "profile": Profile | None,
}
"""Fields that are read back by their types alone."""


def _needs(remarks: Iterable[Remark]) -> Iterator[str]:
    """Yield one line per reason for which older runtimes do not take the file, with the first of its nodes."""
    for group in grouped(remark for remark in remarks if remark.rule == "newer-runtime"):
        more = f" and {len(group.remarks) - 1} more" if len(group.remarks) > 1 else ""
        yield f"{group.remarks[0].where}{more}: {group.because}"


def users_operators(findings: Iterable[Finding]) -> dict[str, str]:
    """Operators that a user's own module translates, and which."""
    return {
        finding.op: finding.mapping.by
        for finding in findings
        if finding.mapping and not finding.mapping.by.startswith("trueport.")
    }


def _carried(port: Port) -> Iterator[str]:
    """How a port differs from what the source calls it and makes it of."""
    if port.parts != (port.name,):
        how = "renamed" if port.kind == "tensor" else f"{port.kind.replace('_', ' of ')} carried as"
        yield f"{how}: {port.name!r} → {', '.join(map(repr, port.parts))}"
    if port.element in CONTAINERS:
        yield f"{port.name!r}: {port.dtype} is carried as its bits in {CONTAINERS[port.element].name}"


def _finding(finding: Finding) -> dict[str, Any]:
    return {field.name: plain(getattr(finding, field.name)) for field in fields(finding) if field.name != "mapping"}
