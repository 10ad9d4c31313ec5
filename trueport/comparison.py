"""Two models of any form: the same numbers? And if not, where? The calls behind ``trueport.verify`` and ``locate``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trueport.errors import UsageError
from trueport.frontends.tensorflow.sources import Options
from trueport.verifying.causes import explain
from trueport.verifying.judge import DEFAULT_K
from trueport.verifying.locate import Located
from trueport.verifying.locate import locate as walk
from trueport.verifying.oracle import OnnxOracle
from trueport.verifying.pairing import PairedModel, pair
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
    return verify_runs(
        subject.executions,
        paired,
        make_samples(subject.executions[0].inputs, seed=seed) if data is None else data,
        subject.make_oracle(),
        k=k,
        allowed_ulps=subject.allowed(),
    )


def locate(
    source: Any,
    target: Any,
    *,
    data: Samples | None = None,
    seed: int = 0,
    k: float = DEFAULT_K,
    ops: Sequence[Any] = (),
    signature: str | None = None,
) -> Located:
    """Find the first node that departs by itself, on the first input that shows a departure."""
    subject, paired = _pair(source, target, ops, Options(signature=signature))
    oracle = subject.make_oracle()
    if not isinstance(oracle, OnnxOracle):
        raise UsageError(
            "only ONNX sources can be walked node by node so far",
            remedy="compare with the ONNX model the target was made from",
        )
    samples = list(make_samples(subject.executions[0].inputs, seed=seed) if data is None else data)
    worst = max(samples, key=lambda feeds: _worst(subject, paired, feeds, oracle, k))
    found = walk(subject.executions, paired, worst, oracle, k=k)
    if found.culprit is None or found.culprit.case is None:
        return found
    return replace(found, culprit=replace(found.culprit, causes=explain(found.culprit.case, paired, k=k)))


def _worst(subject: Subject, target: PairedModel, feeds: Mapping[str, Any], oracle: OnnxOracle, k: float) -> float:
    found = verify_runs(subject.executions, target, [feeds], oracle, k=k)
    return max((output.ratio for output in found.outputs), default=-1.0)


def _pair(source: Any, target: Any, ops: Sequence[Any], options: Options) -> tuple[Subject, PairedModel]:
    subject = as_source(source, options, ops)
    model = as_target(target, options)
    plain = subject.executions[0]
    inputs, outputs = pair(plain.inputs, model.inputs, "inputs"), pair(plain.outputs, model.outputs, "outputs")
    return subject, PairedModel(model, inputs, outputs)
