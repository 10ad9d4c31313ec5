"""Every value that both models have, measured for a report: errors, what each node adds, how differences spread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trueport.errors import NoOracle, UsageError
from trueport.mapping.registry import RECORDS, Registry
from trueport.reference.base import Oracle
from trueport.reference.walk import Walkable, nbytes, stream
from trueport.report.profile import Figure, Histogram, Profile, histogram
from trueport.report.walked import judged_values
from trueport.runtimes.base import Model
from trueport.verifying.inputs.pairing import PairedModel, pair
from trueport.verifying.judge.output import DEFAULT_K
from trueport.verifying.locate.first_node import DEFAULT_MEMORY
from trueport.verifying.locate.locate_and_explain import Pursuit, pursue
from trueport.verifying.locate.result import Located, Step
from trueport.verifying.wording import reworded

__all__ = ["measure_profile", "profile_of"]

Feeds = Mapping[str, Any]
_SEGMENT = 1 << 27
"""Bytes of values that are held at once while they are counted."""


def measure_profile(
    oracle: Oracle,
    source: Sequence[Model],
    target: Model,
    inputs: Sequence[Feeds],
    declarations: Registry = RECORDS,
) -> Profile:
    """The error along the depth on the input that shows the most; without figures, and with the reason, where none
    can be had. ``declarations`` by which the target was made."""
    plain = source[0]
    opened = target.opened()
    try:
        taken, outputs = pair(plain, opened)
        paired = PairedModel(opened, taken, outputs)
        walk = oracle.walk(source)
        settings: dict[str, Any] = {"k": DEFAULT_K, "memory": DEFAULT_MEMORY, "declarations": declarations}
        found = pursue(oracle, source, paired, outputs, inputs, everything=True, **settings)
        spread = dict(_histograms(walk, found, plain))
    except (UsageError, NoOracle) as error:
        return Profile((), why=error.why)
    profile = profile_of(found.located)
    figures = (replace(figure, histogram=spread.get(figure.value)) for figure in profile.figures)
    return replace(profile, figures=tuple(figures))


def profile_of(found: Located) -> Profile:
    """What locating found, as a report keeps it."""
    culprit = found.culprit
    return Profile(
        figures=tuple(_figure(step) for step in judged_values(found)[0]),
        k=found.k,
        aligned=found.aligned,
        values=found.values,
        culprit=culprit.value if culprit else "",
        why=reworded(culprit.own.why, culprit.own.ratio, culprit.own.metrics) if culprit else found.why,
        causes=tuple(str(cause) for cause in culprit.causes) if culprit else (),
        node=culprit.node if culprit else "",
        op=culprit.op if culprit else "",
        target_node=culprit.target_node if culprit else "",
        origin=tuple(culprit.origin) if culprit else (),
    )


def _figure(step: Step) -> Figure:
    return Figure(
        step.value,
        step.node,
        step.op,
        step.ratio,
        step.error,
        step.floor,
        step.own_ratio,
        step.own,
        step.target_node,
    )


def _histograms(walk: Walkable, found: Pursuit, source: Model) -> Iterator[tuple[str, Histogram | None]]:
    """Values in segments that fit: the truth by walking, the models' own by running them for these values."""
    feeds, wanted = found.located.feeds, {step.value for step in found.located.steps}
    held: dict[str, Any] = {}
    size = 0
    for name, truth in stream(walk.steppers[0], walk.places, walk.start(feeds)):
        if name not in wanted:
            continue
        held[name] = truth
        size += nbytes(truth)
        if size > _SEGMENT:
            yield from _counted(held, source, found, feeds)
            held, size = {}, 0
    yield from _counted(held, source, found, feeds)


def _counted(
    truths: Mapping[str, Any], source: Model, found: Pursuit, feeds: Feeds
) -> Iterator[tuple[str, Histogram | None]]:
    if not truths:
        return
    ours, theirs = (model.run(feeds, fetch=list(truths)) for model in (source, found.target))
    for name, truth in truths.items():
        yield name, histogram(ours[name], theirs[name], truth)
