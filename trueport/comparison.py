"""Two models of any form: the same numbers? And if not, where? The calls behind ``trueport.verify`` and ``locate``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueport.errors import UsageError
from trueport.fidelity import Verdict
from trueport.frontends.tensorflow.sources import Options
from trueport.verifying.causes import explain
from trueport.verifying.harness import feeding_hints
from trueport.verifying.inputs import make_inputs
from trueport.verifying.judge import DEFAULT_K
from trueport.verifying.locate import Located
from trueport.verifying.locate import locate as walk
from trueport.verifying.oracle import OnnxOracle, Oracle
from trueport.verifying.pairing import PairedModel, pair
from trueport.verifying.reproduce import write_reproducer
from trueport.verifying.samples import make_samples
from trueport.verifying.subjects import Subject, as_source, as_target
from trueport.verifying.verify import Verification, verify_runs

__all__ = ["locate", "verify"]

Samples = Iterable[Mapping[str, Any]]


def verify(
    source: Any,
    target: Any,
    *,
    data: Samples | None = None,
    seed: int = 0,
    k: float = DEFAULT_K,
    ops: Sequence[Any] = (),
    signature: str | None = None,
) -> Verification:
    """Judge ``target`` by the float64 truth of ``source`` and by the source's own noise.

    Both may be an ONNX file or model, a SavedModel, a Keras model or file, a TensorFlow function, made by any tool.
    ``data``: inputs by the source's names; seeded ones are made when there are none.
    """
    subject, paired = _pair(source, target, ops, Options(signature=signature))
    oracle = subject.make_oracle()
    samples = list(_samples(subject, oracle, seed) if data is None else data)
    found = verify_runs(subject.executions, paired, samples, oracle, k=k, allowed_ulps=subject.allowed())
    if found.verdict != Verdict.DEPARTS or isinstance(oracle, str) or not samples:
        return found
    feeds = samples[0]
    hints = feeding_hints(subject.executions[0].run(feeds), paired, feeds, oracle.run(feeds)[0], k)
    return replace(found, hints=tuple(hints))


def locate(
    source: Any,
    target: Any,
    *,
    data: Samples | None = None,
    seed: int = 0,
    k: float = DEFAULT_K,
    ops: Sequence[Any] = (),
    signature: str | None = None,
    reproduce: str | Path | None = None,
) -> Located:
    """Find the first node that departs by itself, on the input that shows the largest departure.

    ``reproduce`` names a folder that is made: the node and the target's part of it, inputs, and a script that shows
    the difference.
    """
    subject, paired = _pair(source, target, ops, Options(signature=signature))
    oracle = subject.make_oracle()
    if not isinstance(oracle, OnnxOracle):
        raise UsageError(
            "only ONNX sources can be walked node by node so far",
            remedy="compare with the ONNX model the target was made from",
        )
    samples = make_inputs(oracle.model, seed=seed) if data is None else list(data)
    worst = max(samples, key=lambda feeds: _worst(subject, paired, feeds, oracle, k))
    found = walk(subject.executions, paired, worst, oracle, k=k)
    if found.culprit is None or found.culprit.case is None:
        return found
    culprit = replace(found.culprit, causes=explain(found.culprit.case, paired, k=k))
    if reproduce is not None:
        write_reproducer(culprit, paired, worst, Path(reproduce))
    return replace(found, culprit=culprit, feeds=worst)


def _samples(subject: Subject, oracle: Oracle | str, seed: int) -> Samples:
    """By what the graph does with its inputs where there is a graph, by their types alone elsewhere."""
    if isinstance(oracle, OnnxOracle):
        return make_inputs(oracle.model, seed=seed)
    return make_samples(subject.executions[0].inputs, seed=seed)


def _worst(subject: Subject, target: PairedModel, feeds: Mapping[str, Any], oracle: OnnxOracle, k: float) -> float:
    found = verify_runs(subject.executions, target, [feeds], oracle, k=k)
    return max((output.ratio for output in found.outputs), default=-1.0)


def _pair(source: Any, target: Any, ops: Sequence[Any], options: Options) -> tuple[Subject, PairedModel]:
    subject = as_source(source, options, ops)
    model = as_target(target, options)
    plain = subject.executions[0]
    inputs, outputs = pair(plain.inputs, model.inputs, "inputs"), pair(plain.outputs, model.outputs, "outputs")
    return subject, PairedModel(model, inputs, outputs)
