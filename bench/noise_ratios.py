"""The experiment behind ``k``: how far faithful targets are from the truth, and how far faulty ones, over the floor.

Faithful are ONNX's own backend suite converted to TensorFlow and in ONNX Runtime with all optimizations, models that
others made, and Keras models converted to ONNX. Faulty are the faults of ``bench/faults``, whatever they change.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench import keras_zoo
from bench.faults.trials import Cell, Effect
from bench.faults.trials import cells as fault_cells
from bench.models import matching
from bench.table import render
from bench.tf2onnx import saved
from tests.conformance.suite import cases, data_of, model_of
from trueport.backends.tensorflow.registry import registry
from trueport.comparison import verify
from trueport.errors import TrueportError
from trueport.pipeline import convert
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.judge.output import DEFAULT_K
from trueport.verifying.verification import Verification

__all__ = ["Ratio", "report"]

_KS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


@dataclass(frozen=True)
class Ratio:
    """One target's worst output."""

    group: str
    name: str
    ratio: float


def report(cache: Path, *, quick: bool, models: str = "", faults: int = 400, seed: int = 0) -> str:
    """All groups, and what each choice of k would have called wrong."""
    warnings.simplefilter("ignore")
    faithful = [*_suite(models, quick), *_real(cache, models, quick), *_keras(cache, models, quick)]
    faulty = [_faulty(cell) for cell in fault_cells(faults, seed, models)]
    groups = sorted({ratio.group for ratio in faithful})
    rows = [_row(group, [r.ratio for r in faithful if r.group == group]) for group in groups]
    largest = sorted(faithful, key=lambda found: -found.ratio)[:12]
    changed = sorted(found.ratio for found in faulty if found.ratio > 0)
    return "\n".join(
        [
            render("Faithful targets", ["group", "targets", "median", "99 %", "largest", f"above {DEFAULT_K:g}"], rows),
            "largest: " + ", ".join(f"{r.name} ({r.group}) {r.ratio:.3g}" for r in largest),
            f"{len(faulty)} faults, {len(changed)} change a number; smallest ratios: "
            + ", ".join(f"{ratio:.3g}" for ratio in changed[:12]),
            render(
                "Choices of k",
                ["k", "faithful above it", "faults that change a number not above it"],
                _choices(faithful, changed),
            ),
        ]
    )


def _faulty(cell: Cell) -> Ratio:
    put = cell.inject()
    assert put is not None, "cells that take no fault were left out"
    return Ratio("faults", cell.model, Effect.of(cell.model).ratio(put[1]))


def _choices(faithful: Sequence[Ratio], faulty: Sequence[float]) -> list[list[str]]:
    return [
        [f"{k:g}", str(sum(found.ratio > k for found in faithful)), str(sum(ratio <= k for ratio in faulty))]
        for k in _KS
    ]


def _row(group: str, ratios: Sequence[float]) -> list[str]:
    figures = [np.median(ratios), np.percentile(ratios, 99), np.max(ratios)]
    return [group, str(len(ratios)), *(f"{figure:.3g}" for figure in figures), str(sum(r > DEFAULT_K for r in ratios))]


def _worst(found: Verification) -> float | None:
    """None where nothing was judged by a truth."""
    if not found.outputs or not found.oracle.startswith("float64"):
        return None
    return max(output.ratio for output in found.outputs)


def _suite(models: str, quick: bool) -> Iterator[Ratio]:
    random = {mapping.op for mapping in registry() if mapping.random} | {"Dropout"}
    for number, (name, case) in enumerate(sorted(cases().items())):
        if models not in name or (quick and number % 20):
            continue
        proto = model_of(case)
        if any(node.op_type in random for node in proto.graph.node):
            continue
        yield from _judged_case(name, proto, case)
        if number % 100 == 0:
            print(f"suite: {number}", file=sys.stderr, flush=True)


def _judged_case(name: str, proto: onnx.ModelProto, case: Any) -> Iterator[Ratio]:
    fed = {tensor.name for tensor in proto.graph.initializer}
    names = [value.name for value in proto.graph.input if value.name not in fed]
    data = [dict(zip(names, inputs, strict=False)) for inputs, _ in data_of(case, proto)]
    targets = {
        "suite, TensorFlow": lambda: convert(proto, to="tensorflow", verify=False).built.run(),
        "suite, ONNX Runtime": lambda: _opened(proto),
    }
    for group, make in targets.items():
        try:
            ratio = _worst(verify(proto, make(), data=data))
        except TrueportError:
            continue  # refused, or no runtime takes it: nothing to compare
        except Exception as error:  # a runtime's own error type on a case that it does not have
            print(f"{group}, {name}: {type(error).__name__}", file=sys.stderr)
            continue
        if ratio is not None:
            yield Ratio(group, name, ratio)


def _opened(proto: onnx.ModelProto) -> OnnxRuntimeModel:
    """With all optimizations; raises where ONNX Runtime lacks the operator or the opset."""
    model = OnnxRuntimeModel(proto)
    model.prepare()
    return model


def _real(cache: Path, models: str, quick: bool) -> Iterator[Ratio]:
    for model in matching(models, quick):
        print(f"real: {model.name}", file=sys.stderr, flush=True)
        path = model.file(cache)
        made = convert(path, to="tensorflow", verify=False).built.run()
        ratio = _worst(verify(path, made, data=[model.sample()]))
        if ratio is not None:
            yield Ratio("real models, TensorFlow", model.name, ratio)


def _keras(cache: Path, models: str, quick: bool) -> Iterator[Ratio]:
    for model in keras_zoo.matching(models, quick):
        print(f"keras: {model.name}", file=sys.stderr, flush=True)
        source = saved(model, cache)
        made = convert(source, to="onnx", verify=False)
        ratio = _worst(verify(source, made.model, data=[model.sample(2)]))
        if ratio is not None:
            yield Ratio("Keras models, ONNX Runtime", model.name, ratio)
