"""A report of two models that any tool made: what was compared, where they first differ, and both graphs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trueport.checking.remarks import Remark
from trueport.drawing.graph import Graph, joined
from trueport.report.artifacts import describe_setting
from trueport.report.data import Report
from trueport.report.drawn import Drawn, artifact, attempt
from trueport.report.profile import Profile
from trueport.stages import Source
from trueport.verifying.verification import Verification

__all__ = ["compared_report"]


def compared_report(
    task: str,
    models: tuple[Source, Source],
    found: Verification,
    profile: Profile | None,
    *,
    seconds: Mapping[str, float],
    version: str,
    command: str = "",
) -> Report:
    """Return the report of a comparison; ``task`` is the command, ``profile`` what was found inside of the models."""
    source, target = models
    return Report(
        source.name,
        target.name,
        comparison=found,
        seconds=dict(seconds),
        setting=describe_setting(version, command),
        profile=profile,
        is_made=True,
        task=task,
        drawn=functools.partial(_draw, source, target, profile),
    )


def _draw(source: Source, target: Source, profile: Profile | None) -> Drawn:
    """Draw both models, each node of the target linked to the source's node whose values it makes."""
    undrawn: list[Remark] = []
    before = attempt("the source", source.draw, undrawn)
    after = attempt("the target", target.draw, undrawn)
    graphs = None
    if before is not None and after is not None:
        linked = _with_origins(before, after, profile)
        graphs = attempt("both models", lambda: joined(before, linked, {}), undrawn)
    described = [artifact(graph, one.name, Path(one.name)) for graph, one in ((before, source), (after, target))]
    return Drawn(described[0], described[1], graphs, tuple(undrawn))


def _with_origins(before: Graph, after: Graph, profile: Profile | None) -> Graph:
    """Return the target's graph with the origins that its values tell; what it says of itself goes first."""
    known = {node.name for node in before.nodes}
    maker = {value.name: node.name for node in before.nodes for value in node.outputs}
    told: dict[str, list[str]] = {}
    for figure in profile.figures if profile else ():
        name = figure.node if figure.node in known else maker.get(figure.value, "")
        if name and figure.target:
            told.setdefault(figure.target, []).append(name)
    if profile and profile.target_node and profile.node in known:
        told.setdefault(profile.target_node, []).append(profile.node)
    return replace(
        after,
        nodes=tuple(
            node
            if known.intersection(node.origins)
            else replace(node, origins=tuple(dict.fromkeys(told.get(node.name, ()))))
            for node in after.nodes
        ),
    )
