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

__all__ = ["Drawn", "artifact", "attempt", "draw"]

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
    before = attempt("the source", lambda: source.redrawn(source.draw(), plan), undrawn)
    after = attempt("the target", built.draw, undrawn)
    graphs = None
    if before is not None and after is not None:
        graphs = attempt("both models", lambda: joined(before, after, _worst_by_node(plan)), undrawn)
    name = str(written) if written is not None else source.name
    return Drawn(
        artifact(before, source.name, Path(source.name)),
        artifact(after, name, written),
        graphs,
        tuple(undrawn),
    )


def attempt(what: str, make: Callable[[], _T], undrawn: list[Remark]) -> _T | None:
    """Return a drawing, or None and remark on the failure."""
    try:
        return make()
    except Exception as error:  # whatever it is: the converted model does not depend on the drawing
        because = f"{what} can't be drawn: {type(error).__name__}: {one_line(error, 200)}"
        undrawn.append(
            Remark("drawing", Severity.NOTE, because, "report it with the model; nothing else depends on the drawing")
        )
        return None


def artifact(graph: Graph | None, name: str, path: Path | None) -> Artifact | None:
    """Return what is known of a model that was drawn."""
    return None if graph is None else describe_artifact(graph, name, path)


def _worst_by_node(plan: Plan) -> Mapping[str, Finding]:
    """Return the worst that was found about each of the source's nodes, by name."""
    own = {finding.node: finding for finding in sorted(plan.program.findings, key=lambda found: found.fidelity)}
    return {**own, **findings_by_origin(plan.model.graph.all_nodes(), plan.assessed)} if plan.assessed else own
