"""Fusions and reassociations of the runtime: a departure that goes away where its optimizations are off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.runtimes.base import Model
from trueport.verifying.judge.output import Judgement
from trueport.verifying.locate.first_node import Cause

__all__ = ["Execution", "optimization"]

Execution = tuple[str, Callable[[], Model]]


def optimization(
    executions: Iterable[Execution], feeds: Mapping[str, Any], judged: Callable[[str, Any], Judgement]
) -> Cause | None:
    """A cause if some executions of the target depart on these inputs and others do not.

    ``executions`` are ways to run it by name, ``judged`` gives the verdict on one output.
    """
    ratios: dict[str, float] = {}
    faithful: list[str] = []
    for name, opened in executions:
        try:
            found = [judged(output, value) for output, value in opened().run(feeds).items()]
        except TrueportError as error:
            ratios[f"{name} ({error.why})"] = float("nan")
            continue
        except Exception as error:  # any runtime's own error type: it does not run this way
            ratios[f"{name} ({type(error).__name__})"] = float("nan")
            continue
        ratios[name] = max((one.ratio for one in found), default=0.0)
        if all(one.verdict != Verdict.DEPARTS for one in found):
            faithful.append(name)
    departing = [name for name, ratio in ratios.items() if name not in faithful and ratio == ratio]
    if not faithful or not departing:
        return None
    words = f"an optimization of the runtime makes it: it departs in {_listed(departing)}, not in {_listed(faithful)}"
    return Cause("optimization", words, "ratios: " + ", ".join(f"{name} {ratio:.3g}" for name, ratio in ratios.items()))


def _listed(names: list[str]) -> str:
    return "; ".join(names)
