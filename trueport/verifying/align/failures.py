"""Values of a model that fails somewhere: what can be computed is, the rest says why it is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.quoting import one_line
from trueport.runtimes.base import Model
from trueport.verifying.inputs.pairing import PairedModel
from trueport.verifying.judge.output import Judgement

__all__ = ["Failure", "as_failure", "compute_each", "failed", "fails", "has_parts", "run_each"]

_SAID = 200
"""Characters of a runtime's message that are kept."""


@dataclass(frozen=True)
class Failure:
    """Stands for a value that a model does not give."""

    why: str


def as_failure(error: Exception) -> Failure:
    """Return what a runtime says, in one line."""
    words = error.why if isinstance(error, TrueportError) else f"{type(error).__name__}: {error}"
    return Failure(one_line(words, _SAID))


def failed(name: str, value: Failure) -> Judgement:
    """Return the judgement of a value that is not there."""
    return Judgement(name, Verdict.DEPARTS, float("inf"), f"the target fails there: {value.why}")


def compute_each(run: Callable[[list[str]], Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Return values by name, a `Failure` for each that cannot be computed; all at once where that works."""
    found: dict[str, Any] = {}
    waiting = [list(names)] if names else []
    while waiting:
        chunk = waiting.pop()
        try:
            found.update(run(chunk))
        except Exception as error:  # runtimes raise types of their own
            half = len(chunk) // 2
            if half:
                waiting += [chunk[half:], chunk[:half]]
            else:
                found[chunk[0]] = as_failure(error)
    return {name: found[name] for name in names}


def run_each(model: Model, feeds: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a model's values; where it fails as a whole, those that it computes before, each by the part it needs.

    What a runtime keeps to itself is left out.
    """
    try:
        return model.run(feeds, fetch=list(names))
    except Exception:  # runtimes raise types of their own
        broken = fails(model, feeds)
    if broken:
        return compute_each(lambda chunk: model.segment({}, chunk, feeds), names)
    found = compute_each(lambda chunk: model.run(feeds, fetch=chunk), names)
    return {name: value for name, value in found.items() if not isinstance(value, Failure)}


def has_parts(model: Model) -> bool:
    """True if a runtime can run parts of a model."""
    plain = model.model if isinstance(model, PairedModel) else model
    return type(plain).segment is not Model.segment


def fails(model: Model, feeds: Mapping[str, Any]) -> bool:
    """True if a model does not run on these inputs."""
    try:
        model.run(feeds)
    except Exception:  # runtimes raise types of their own
        return True
    return False
