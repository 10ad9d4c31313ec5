"""Whether a fault changes outputs, decided by ONNX Runtime without optimization and nothing of Trueport."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import onnx

from bench.faults.strangers.inputs import draw_inputs, perturb
from bench.faults.strangers.nets import NETS, load_net
from bench.faults.strangers.running import open_session, run_session

__all__ = ["Effect", "differs", "measure_effect"]

_RELATIVE = 1e-3
"""Of the output's largest magnitude: what a change of floats must exceed."""
_NOISE = 100.0
"""Times what a perturbation of the inputs changes: what a change of floats must exceed as well."""

Outputs = dict[str, Any]
Expected = tuple[dict[str, np.ndarray], Outputs, list[Outputs]]


@dataclasses.dataclass(frozen=True)
class Effect:
    """What a fault does."""

    changes: bool
    by_default: bool
    """on the first inputs already"""


@functools.cache
def _expected(name: str) -> list[Expected]:
    """Return inputs, outputs of the source and its outputs on perturbed inputs; inputs that fail are left out."""
    session = open_session(load_net(name))
    known: list[Expected] = []
    rng = np.random.default_rng(7)
    for feeds in draw_inputs(NETS[name], load_net(name)):
        try:
            near = [run_session(session, perturb(feeds, rng)) for _ in range(3)]
            known.append((feeds, run_session(session, feeds), near))
        except Exception:  # the runtime's own types
            continue
    return known


def measure_effect(name: str, faulty: onnx.ModelProto) -> Effect:
    """Compare the faulty model with its source on all inputs."""
    session = open_session(faulty)
    for number, (feeds, before, near) in enumerate(_expected(name)):
        try:
            after = run_session(session, feeds)
        except Exception:  # the runtime's own types: the source runs on these inputs
            return Effect(True, number == 0)
        if any(differs(before[n], after[n], [run[n] for run in near]) for n in before):
            return Effect(True, number == 0)
    return Effect(False, False)


def differs(before: Any, after: Any, near: list[Any]) -> bool:
    """True if two outputs differ by more than rounding of the inputs explains; ``near`` are the perturbed ones."""
    if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray):
        return repr(before) != repr(after)
    if before.shape != after.shape or before.dtype != after.dtype:
        return True
    steady = [run for run in near if run.shape == before.shape]
    if before.dtype.kind != "f":
        moved = np.logical_or.reduce([run != before for run in steady]) if steady else np.True_
        return len(steady) == len(near) and bool(np.any((before != after) & ~moved))
    if len(steady) < len(near) or not before.size:
        return False
    wide = [np.asarray(run, np.float64) for run in steady]
    return _floats_differ(before.astype(np.float64), after.astype(np.float64), wide)


def _floats_differ(before: np.ndarray, after: np.ndarray, near: list[np.ndarray]) -> bool:
    finite = np.isfinite(before)
    # Where a perturbation makes numbers of what is none, or none of numbers, nothing is certain.
    certain = np.logical_and.reduce([np.isfinite(run) == finite for run in near])
    if np.any(certain & (finite != np.isfinite(after))):
        return True
    both = certain & finite
    if not both.any():
        return False
    size = float(np.abs(before[both]).max())
    noise = max(float(np.abs(run - before)[both].max()) for run in near)
    change = float(np.abs(after - before)[both].max())
    return change > _RELATIVE * size and change > _NOISE * noise
