"""Both models as a report shows them: drawn when it is asked for, and not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from trueport.checking.remarks import Remark, Severity
from trueport.drawing.graph import Graph, Graphs, findings_by_origin, joined
from trueport.mapping.registry import Finding
from trueport.quoting import one_line
from trueport.report.artifacts import Artifact, describe_artifact
from trueport.stages import Built, Plan, Source

__all__ = ["Drawn", "draw"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Drawn:
    """What went in, what came out, and which node became which; None for what can't be drawn."""

    went_in: Artifact | None = None
    came_out: Artifact | None = None
    graphs: Graphs | None = None
    undrawn: tuple[Remark, ...] = ()
    """what can't be drawn, and why"""


def draw(source: Source, plan: Plan, built: Built, written: Path | None) -> Drawn:
    """Draw both models and hash their files; a failure is remarked on."""
    undrawn: list[Remark] = []
    before = _tried("the source", lambda: source.redrawn(source.draw(), plan), undrawn)
    after = _tried("the target", built.draw, undrawn)
    graphs = None
    if before is not None and after is not None:
        graphs = _tried("both models", lambda: joined(before, after, _worst_by_node(plan)), undrawn)
    name = str(written) if written is not None else source.name
    return Drawn(
        _described(before, source.name, Path(source.name)),
        _described(after, name, written),
        graphs,
        tuple(undrawn),
    )


def _tried(what: str, make: Callable[[], _T], undrawn: list[Remark]) -> _T | None:
    try:
        return make()
    except Exception as error:  # whatever it is: the converted model does not depend on the drawing
        because = f"{what} can't be drawn: {type(error).__name__}: {one_line(error, 200)}"
        undrawn.append(Remark("drawing", Severity.NOTE, because, "report it with the model; the conversion is whole"))
        return None


def _described(graph: Graph | None, name: str, path: Path | None) -> Artifact | None:
    return None if graph is None else describe_artifact(graph, name, path)


def _worst_by_node(plan: Plan) -> Mapping[str, Finding]:
    """Return the worst that was found about each of the source's nodes, by name."""
    own = {finding.node: finding for finding in sorted(plan.program.findings, key=lambda found: found.fidelity)}
    return {**own, **findings_by_origin(plan.model.graph.all_nodes(), plan.assessed)} if plan.assessed else own
