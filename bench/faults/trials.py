"""One fault per trial: detected, located, explained? Does the reproducer show it?"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from bench.faults.kinds import FAULTS, faulty, places
from bench.faults.zoo import ZOO
from bench.models import CACHE, find
from bench.table import render
from trueport.backends.tensorflow.registry import registry
from trueport.comparison import locate
from trueport.errors import TrueportError
from trueport.frontends.onnx.load import load_onnx
from trueport.pipeline import convert
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.parts import count_nodes
from trueport.verifying.inputs.plan import graph_ports, make_inputs
from trueport.verifying.judge.output import judge

__all__ = ["APART", "Cell", "Effect", "Trial", "cells", "run_faults", "trials"]

_BEYOND = 8.0
"""Times the floor: what changes an output by more must be detected."""


_BLIND = "import sys; sys.modules['trueport'] = None; exec(open('show.py').read())"
"""Runs a reproducer's script where this package can't be imported."""


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
    shown: bool | None = None
    """whether the reproducer shows the fault in a process of its own; None where none was asked for"""
    size: tuple[int, int] | None = None
    """nodes of the reproducer: of the source's part and of the target's"""


APART = ("small_cnn", "transformer", "lstm", "gru", "loop", "silero_vad", "magika", "ocr_classify")
"""Of the benchmarks' models, which the rules for causes were not made with, those that are soon evaluated."""


@functools.cache
def _net(name: str) -> onnx.ModelProto:
    return ZOO[name]() if name in ZOO else onnx.load(find(name).file(CACHE))


@dataclasses.dataclass(frozen=True)
class Cell:
    """Where a fault is put: a kind of fault into one node of a model."""

    model: str
    fault: int
    node: int
    seed: int

    def inject(self) -> tuple[onnx.ModelProto, onnx.ModelProto, tuple[str, ...]] | None:
        """The model, the same with the fault, and the values that the node makes; None if it does not take it."""
        source = _net(self.model)
        changed = faulty(source, FAULTS[self.fault], self.node, self.seed)
        return None if changed is None else (source, *changed)


def run_faults(
    count: int, seed: int, models: str = "", reproduce: int = 0, jobs: int = 1, nets: Collection[str] = tuple(ZOO)
) -> str:
    """Run and print the table; for the first ``reproduce`` faults also write a reproducer and run that."""
    warnings.simplefilter("ignore")
    done: list[Trial] = []
    start = time.perf_counter()
    for trial in trials(count, seed, models, reproduce=reproduce, jobs=jobs, nets=nets):
        done.append(trial)
        if trial.visible and not (trial.detected and trial.node and trial.cause and trial.shown in (None, True)):
            print(f"{trial.model} / {trial.fault} / {trial.target}: {trial.said}", flush=True)
    return _summary(done, time.perf_counter() - start)


def cells(count: int, seed: int, only: str = "", nets: Collection[str] = tuple(ZOO)) -> Iterator[Cell]:
    """Every kind in every model and node that takes it, in an order drawn from the seed."""
    nets = [name for name in nets if only in name]
    spots = [Cell(name, fault, node, seed) for name in nets for fault in range(len(FAULTS)) for node in range(40)]
    order = np.random.default_rng(seed).permutation(len(spots))
    room = {(name, f): count for name in nets for f, count in enumerate(_room(name))}
    found = (cell for cell in map(spots.__getitem__, order) if cell.node < room[cell.model, cell.fault])
    return itertools.islice((cell for cell in found if cell.inject() is not None), count)


def _room(name: str) -> list[int]:
    """For each kind of fault, how many nodes of a model are of an operator that it is put into."""
    model = ir.from_proto(_net(name))
    return [sum(1 for _ in places(model, fault)) for fault in FAULTS]


def trials(
    count: int, seed: int, only: str = "", *, reproduce: int = 0, jobs: int = 1, nets: Collection[str] = tuple(ZOO)
) -> Iterator[Trial]:
    """One after another, or ``jobs`` at a time; every fifth target is converted to TensorFlow."""
    chosen = list(cells(count, seed, only, nets))
    wishes = [(cell, n % 5 == 4, n < reproduce) for n, cell in enumerate(chosen)]
    if jobs == 1:
        yield from itertools.starmap(_trial, wishes)
        return
    with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_trial, *zip(*wishes, strict=True))


def _trial(cell: Cell, tensorflow: bool, reproduce: bool) -> Trial:
    kind, fault = "tensorflow" if tensorflow else "onnxruntime", FAULTS[cell.fault]
    put = cell.inject()
    assert put is not None, "cells that take no fault were left out"
    source, changed, made = put
    effect = Effect.of(cell.model)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "case") if reproduce else None
        try:
            visible = effect.visible(changed)
            target: Any = convert(changed, to="tensorflow", verify=False).built.run() if tensorflow else changed
            found = locate(source, target, data=effect.feeds, reproduce=place if visible else None)
        except TrueportError as error:
            return Trial(cell.model, fault.name, kind, visible=True, said=f"error: {str(error)[:200]}")
        culprit = found.culprit
        if culprit is None:
            return Trial(cell.model, fault.name, kind, visible, said=f"no culprit: {found.why}")
        said = f"{culprit.op} {culprit.value!r} (fault in {made!r}): {[str(c)[:90] for c in culprit.causes]}"
        right = any(cause.kind in fault.causes for cause in culprit.causes[:1])
        shown, size = _shown(place) if place is not None and place.exists() else (None, None)
    return Trial(cell.model, fault.name, kind, visible, True, culprit.value in made, right, said, shown, size)


def _shown(folder: Path) -> tuple[bool, tuple[int, int]]:
    """The reproducer's script in a process of its own, and the sizes of its parts."""
    settings = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", _BLIND], cwd=folder, capture_output=True, env=settings)
    target = next(folder.glob("target*"))
    return done.returncode == 0, (count_nodes(folder / "source.onnx"), count_nodes(target))


@dataclasses.dataclass(frozen=True)
class Effect:
    """What a fault does to a model's outputs, in the runtime that it was put into."""

    oracle: OnnxOracle
    plain: Model
    feeds: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, name: str) -> Effect:
        source = _net(name)
        oracle = OnnxOracle(load_onnx(source), registry())
        graph = oracle.model.graph
        plan = make_inputs(graph_ports(graph), graph, seed=0) if name in ZOO else [find(name).sample()]
        return cls(oracle, OnnxRuntimeModel(source, optimize=False), plan)

    def visible(self, changed: onnx.ModelProto) -> bool:
        """Whether an output changes by more than rounding would."""
        other = OnnxRuntimeModel(changed, optimize=False)
        return any(self._differs(other, sample) for sample in self.feeds)

    def ratio(self, changed: onnx.ModelProto) -> float:
        """What the judge makes of it: the worst output's distance over what rounding explains."""
        other = OnnxRuntimeModel(changed, optimize=False)
        return max(self._ratio(other, sample) for sample in self.feeds)

    def _ratio(self, other: Model, feeds: Any) -> float:
        truth, noisy = self.oracle.run(feeds)
        before, after = self.plain.run(feeds), other.run(feeds)
        return max(judge(n, [v], after[n], truth[n], [run[n] for run in noisy]).ratio for n, v in before.items())

    def _differs(self, other: Model, feeds: Any) -> bool:
        truth, noisy = self.oracle.run(feeds)
        before, after = self.plain.run(feeds), other.run(feeds)
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
            _reproduced(counted),
        ]
    )


def _reproduced(done: list[Trial]) -> str:
    """How many reproducers show the fault by themselves, and how small they are."""
    lines = []
    for target in ("onnxruntime", "tensorflow"):
        sizes = [trial.size for trial in done if trial.size is not None and trial.target == target]
        shown = [trial.shown for trial in done if trial.size is not None and trial.target == target]
        if sizes:
            source, other = (int(np.median([size[part] for size in sizes])) for part in (0, 1))
            share = f"{sum(map(bool, shown))} of {len(shown)} show the fault in a process of their own"
            lines.append(f"reproducers, {target}: {share}; median size {source} and {other} nodes")
    return "\n".join(lines) or "no reproducers were written"
