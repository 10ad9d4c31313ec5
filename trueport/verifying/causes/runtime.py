"""Where no node explains a departure: the target run in every way that its runtime has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from trueport.errors import NoOracle
from trueport.fidelity import Verdict
from trueport.reference.base import NoReference, Oracle
from trueport.runtimes.base import Model
from trueport.verifying.causes.optimizations import Execution, optimization
from trueport.verifying.judge.output import Judgement, judge
from trueport.verifying.locate.result import Located

__all__ = ["with_optimizations"]


def with_optimizations(
    found: Located, oracle: Oracle, source: Sequence[Model], target: Model, executions: Iterable[Execution]
) -> Located:
    """The same, with the runtime's optimizations named if they are what makes the target depart.

    ``executions``: other ways to run the target; they are tried only where nothing else explains it.
    """
    culprit = found.culprit
    if isinstance(oracle, NoReference) or (
        culprit is not None and culprit.causes and culprit.causes[0].kind != "unknown"
    ):
        return found
    try:
        truth, noisy = oracle.run(found.feeds)
    except NoOracle:
        return found
    runs = [model.run(found.feeds) for model in source]

    def judged(name: str, value: Any) -> Judgement:
        here = [run[name] for run in runs]
        return judge(name, here, value, truth[name], [run[name] for run in noisy], k=found.k)

    plain = target.run(found.feeds)
    if all(judged(name, value).verdict != Verdict.DEPARTS for name, value in plain.items()):
        return found
    cause = optimization(executions, found.feeds, judged)
    if cause is None:
        return found
    if culprit is None:
        return replace(found, why=f"{found.why}; {cause}")
    return replace(found, culprit=replace(culprit, causes=(cause,)))
