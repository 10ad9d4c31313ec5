"""The whole program on one page: capture → canonicalize → check → emit → verify → report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
import onnx_ir as ir

from trueport.backends.tensorflow.module import Built, build_module
from trueport.backends.tensorflow.registry import registry as tensorflow_registry
from trueport.backends.tensorflow.save import write_saved_model
from trueport.backends.writing import check_free, written_aside
from trueport.checking.assess import assess_model, refuse_unsupported
from trueport.errors import UsageError
from trueport.fidelity import Loss
from trueport.frontends.onnx.describe import describe
from trueport.frontends.onnx.load import OnnxSource, load_onnx, unpacked
from trueport.mapping.registry import Finding, Registry
from trueport.mapping.user import with_user_ops
from trueport.passes.pipeline import canonicalize
from trueport.report.data import Report
from trueport.runtimes.base import Model
from trueport.runtimes.detect import load_model, load_source
from trueport.runtimes.tensorflow import FunctionModel
from trueport.verifying.budget import allowed_ulps
from trueport.verifying.plain import Comparison, compare_runs
from trueport.verifying.samples import make_samples

__all__ = ["Conversion", "check", "convert", "convert_file"]

TARGETS = ("tensorflow",)
_OTHER_FORMS = (".onnx", ".tflite", ".keras", ".h5", ".pb", ".pt2")
Progress = Callable[[str], None]
Ops = Sequence[str | Path | ModuleType]
Samples = Sequence[Mapping[str, Any]]


@dataclass
class Job:
    """What the stages hand on."""

    source: OnnxSource
    registry: Registry
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    model: ir.Model | None = None
    described: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    losses: list[Loss] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Conversion:
    """A converted model in memory."""

    model: Any
    """a tf.Module: call it with the inputs, by position or by name; it returns a dict of outputs"""
    report: Report
    built: Built = field(repr=False)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a SavedModel: whole or not at all."""
        target = Path(path)
        with written_aside(target, overwrite=overwrite) as fresh:
            write_saved_model(self.built, fresh)
        return target


def convert(
    source: OnnxSource,
    to: str = "tensorflow",
    *,
    ops: Ops = (),
    verify: bool = True,
    data: Samples | None = None,
    progress: Progress = lambda _: None,
) -> Conversion:
    """Convert a model; unless ``verify`` is off, compare it with the source before it is handed out.

    ``data``: inputs to compare on, each a dict by name; a few seeded ones are made when there are none.
    """
    job = _job(source, to, ops, progress)
    _analyse(job)
    built = _emit(job)
    comparison = _verify(job, FunctionModel(built.function, built.function, built.map), data) if verify else None
    return Conversion(built.module, _report(job, to, built, comparison), built)


def convert_file(
    source: OnnxSource,
    output: str | Path,
    *,
    ops: Ops = (),
    verify: bool = True,
    data: Samples | None = None,
    overwrite: bool = False,
    progress: Progress = lambda _: None,
) -> Report:
    """Convert to a file; what is compared is what was written, read back before it gets its name."""
    target = Path(output)
    if target.suffix in _OTHER_FORMS:
        raise UsageError(
            f"an ONNX model can be written as a SavedModel, not as {target.suffix}",
            where=str(target),
            remedy="name a folder, like saved_model/",
        )
    check_free(target, overwrite=overwrite)
    job = _job(source, "tensorflow", ops, progress)
    _analyse(job)
    built = _emit(job)
    with written_aside(target, overwrite=overwrite) as fresh:
        with job.stage("write"):
            write_saved_model(built, fresh)
        comparison = _verify(job, load_model(fresh), data) if verify else None
    return _report(job, str(target), built, comparison)


def check(source: OnnxSource, to: str = "tensorflow", *, ops: Ops = ()) -> Report:
    """What would not survive, node by node; nothing is converted and no framework is loaded."""
    job = _job(source, to, ops, lambda _: None)
    _capture(job)
    return Report(_name(source), to, findings=job.findings, losses=tuple(job.losses), seconds=job.seconds)


def _job(source: OnnxSource, to: str, ops: Ops, progress: Progress) -> Job:
    if to not in TARGETS:
        raise UsageError(f"there is no target {to!r}", remedy=f"targets: {', '.join(TARGETS)}")
    if not isinstance(source, (onnx.ModelProto, ir.Model)):
        # Once for both readers: the frontend, and the runtime that the result is compared with.
        source = unpacked(Path(source))
    return Job(source, with_user_ops(tensorflow_registry(), ops), progress)


def _capture(job: Job) -> None:
    with job.stage("capture"):
        job.model = load_onnx(job.source)
        job.described = describe(job.model)
    with job.stage("canonicalize"):
        job.losses += canonicalize(job.model, job.registry)
    with job.stage("check"):
        job.findings = assess_model(job.model, job.registry)


def _analyse(job: Job) -> None:
    _capture(job)
    refuse_unsupported(job.findings)


def _emit(job: Job) -> Built:
    assert job.model is not None
    with job.stage("emit"):
        return build_module(job.model, job.registry, job.described)


def _verify(job: Job, target: Model, data: Samples | None) -> Comparison:
    assert job.model is not None
    with job.stage("verify"):
        source = load_source(job.source, [mapping for mapping in job.registry if mapping.reference])
        if isinstance(source, str):
            return Comparison("none", target.runtime, 0, (), skipped=source)
        random = any(finding.mapping and finding.mapping.random for finding in job.findings)
        samples = make_samples(source.inputs) if data is None else data
        allowed = allowed_ulps(job.model, job.registry)
        return compare_runs(source, target, samples, allowed_ulps=allowed, random=random)


def _report(job: Job, target: str, built: Built, comparison: Comparison | None) -> Report:
    return Report(
        source=_name(job.source),
        target=target,
        inputs=built.inputs,
        outputs=built.outputs,
        findings=job.findings,
        losses=tuple(job.losses),
        comparison=comparison,
        seconds=job.seconds,
    )


def _name(source: OnnxSource) -> str:
    return "the model" if isinstance(source, (onnx.ModelProto, ir.Model)) else str(source)
