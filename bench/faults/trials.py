"""One fault per trial: detected, located, explained? And does anything faithful raise an alarm?"""

from __future__ import annotations

import collections
import dataclasses
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.faults.kinds import FAULTS, Fault, faulty
from bench.faults.zoo import ZOO
from bench.table import render
from trueport.backends.tensorflow.registry import registry
from trueport.comparison import locate, verify
from trueport.errors import TrueportError
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.pipeline import convert, convert_file
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.inputs import graph_ports, make_inputs
from trueport.verifying.oracle import OnnxOracle

__all__ = ["Trial", "run_faithful", "run_faults", "trials"]

_BEYOND = 8.0
"""Times the floor: what changes an output by more must be detected."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """What one fault led to."""

    model: str
    fault: str
    target: str
    visible: bool
    """some output changes beyond the floor"""
    detected: bool = False
    node: bool = False
    cause: bool = False
    said: str = ""


def run_faults(count: int, seed: int, models: str = "") -> str:
    """Run and print the table."""
    warnings.simplefilter("ignore")
    done: list[Trial] = []
    start = time.perf_counter()
    for trial in trials(count, seed, models):
        done.append(trial)
        if trial.visible and not (trial.detected and trial.node and trial.cause):
            print(f"{trial.model} / {trial.fault} / {trial.target}: {trial.said}", flush=True)
    return _summary(done, time.perf_counter() - start)


def trials(count: int, seed: int, only: str = "") -> Iterator[Trial]:
    """Every kind in every model and node that takes it, in an order drawn from the seed."""
    nets = {name: make() for name, make in ZOO.items() if only in name}
    cells = [(name, fault, index) for name in nets for fault in FAULTS for index in range(40)]
    made = 0
    for place in np.random.default_rng(seed).permutation(len(cells)):
        name, fault, index = cells[place]
        changed = faulty(nets[name], fault, index, seed)
        if changed is None:
            continue
        yield _trial(name, nets[name], fault, *changed, tensorflow=made % 5 == 4)
        made += 1
        if made >= count:
            return


def _trial(
    name: str,
    source: onnx.ModelProto,
    fault: Fault,
    changed: onnx.ModelProto,
    made: tuple[str, ...],
    *,
    tensorflow: bool,
) -> Trial:
    kind = "tensorflow" if tensorflow else "onnxruntime"
    oracle = OnnxOracle(load_onnx(source), registry())
    feeds = make_inputs(graph_ports(oracle.model.graph), oracle.model.graph, seed=0)
    try:
        plain, other = (OnnxRuntimeModel(model, optimize=False) for model in (source, changed))
        visible = any(_differs(oracle, plain, other, sample) for sample in feeds)
        target: Any = convert(changed, to="tensorflow", verify=False).route.result(None) if tensorflow else changed
        found = locate(source, target, data=feeds)
    except TrueportError as error:
        return Trial(name, fault.name, kind, visible=True, said=f"error: {str(error)[:200]}")
    culprit = found.culprit
    if culprit is None:
        return Trial(name, fault.name, kind, visible, said=f"no culprit: {found.why}")
    first = culprit.causes[0] if culprit.causes else None
    said = f"{culprit.op} {culprit.value!r} (fault in {made!r}): {[str(c)[:90] for c in culprit.causes]}"
    right = any(cause.kind in fault.causes for cause in culprit.causes[:1]) if first else False
    return Trial(name, fault.name, kind, visible, True, culprit.value in made, right, said)


def _differs(oracle: OnnxOracle, plain: Model, changed: Model, feeds: Any) -> bool:
    """Whether the fault changes an output by more than rounding would, in the runtime that it was put into."""
    truth, noisy = oracle.run(feeds)
    before, after = plain.run(feeds), changed.run(feeds)
    for name, value in before.items():
        a, b = np.asarray(value), np.asarray(after[name])
        if a.shape != b.shape or (a.dtype.kind != "f" and np.any(a != b)):
            return True
        if a.dtype.kind == "f":
            t = np.asarray(truth[name])
            floor = max(
                float(np.max(np.abs(np.asarray(run) - t), initial=0.0)) for run in (a, *(n[name] for n in noisy))
            )
            if float(np.max(np.abs(a.astype(np.float64) - b), initial=0.0)) > _BEYOND * floor:
                return True
    return False


def _summary(done: list[Trial], seconds: float) -> str:
    counted = [trial for trial in done if trial.visible]
    rows = []
    for label, chosen in (
        ("all", counted),
        *((t, [c for c in counted if c.target == t]) for t in ("onnxruntime", "tensorflow")),
    ):
        if chosen:
            shares = [np.mean([getattr(t, part) for t in chosen]) for part in ("detected", "node", "cause")]
            rows.append([label, str(len(chosen)), *(f"{share:.1%}" for share in shares)])
    missed = collections.Counter(t.fault for t in counted if not t.cause)
    head = f"{len(done)} trials, {len(counted)} that change an output beyond the floor, {seconds:.0f} s"
    worst = ", ".join(f"{name} ({count})" for name, count in missed.most_common(10))
    return "\n".join(
        [
            head,
            render("Faults", ["target", "trials", "detected", "node named first", "right cause"], rows),
            f"causes missed most: {worst or 'none'}",
        ]
    )


def run_faithful(models: str = "") -> str:
    """Every model of the zoo in every form that it can be given, unchanged: each alarm is a false one."""
    alarms = []
    count = 0
    for name, make in ZOO.items():
        if models not in name:
            continue
        source = make()
        graph = OnnxOracle(load_onnx(source), registry()).model.graph
        feeds = make_inputs(graph_ports(graph), graph, seed=1)
        with tempfile.TemporaryDirectory() as folder:
            for kind, target in _forms(source, Path(folder)):
                found = verify(source, target, data=feeds)
                count += 1
                if found.verdict != Verdict.FAITHFUL:
                    alarms.append(f"{name} / {kind}: {found}")
    return "\n".join([f"{count} faithful targets, {len(alarms)} false alarms", *alarms])


def _forms(source: onnx.ModelProto, folder: Path) -> Iterator[tuple[str, Any]]:
    """The model in ONNX Runtime as written and fused, in TensorFlow from memory and from disk, and back in ONNX."""
    yield "onnxruntime", OnnxRuntimeModel(source, optimize=False)
    yield "onnxruntime, optimized", OnnxRuntimeModel(source, optimize=True)
    converted = convert(source, to="tensorflow", verify=False)
    yield "tensorflow", converted.route.result(None)
    yield "saved model", converted.save(folder / "saved")
    back = folder / "back.onnx"
    convert_file(folder / "saved", back, verify=False)
    yield "round trip", back
