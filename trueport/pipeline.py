"""The whole program on one page: capture → canonicalize → check → emit → verify → report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from trueport.backends.writing import check_free, written_aside
from trueport.checking.assess import refuse_unsupported
from trueport.errors import UsageError
from trueport.frontends.tensorflow.sources import Options, is_tensorflow
from trueport.report.data import Report
from trueport.routes.base import Ops, Route
from trueport.routes.onnx_to_tensorflow import OnnxToTensorflow
from trueport.routes.tensorflow_to_onnx import TensorflowToOnnx
from trueport.verifying.budget import allowed_ulps
from trueport.verifying.feeding import quick_inputs
from trueport.verifying.verify import Verification, verify_runs

__all__ = ["Conversion", "check", "convert", "convert_file"]

_FORMS = {".onnx": "onnx"}
_OTHER_FORMS = (".tflite", ".keras", ".h5", ".pb", ".pt2")
Progress = Callable[[str], None]
Samples = Sequence[Mapping[str, Any]]


@dataclass
class Job:
    """A route with a clock."""

    route: Route
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def analyse(self) -> None:
        with self.stage("capture"):
            self.route.capture()
        with self.stage("canonicalize"):
            self.route.canonicalize()

    def emit(self) -> Any:
        refuse_unsupported(self.route.findings)
        with self.stage("emit"):
            return self.route.emit()

    def verify(self, written: Path | None, data: Samples | None) -> Verification:
        with self.stage("verify"):
            sources, target = self.route.sources(), self.route.result(written)
            if isinstance(sources, str):
                return Verification("none", target.runtime, "none", 0, 0, 0, (), skipped=sources)
            random = any(finding.mapping and finding.mapping.random for finding in self.route.findings)
            return verify_runs(
                sources,
                target,
                quick_inputs(sources[0], self.route.graph().graph) if data is None else data,
                self.route.oracle(),
                allowed_ulps=allowed_ulps(self.route.graph(), self.route.bounds),
                random=random,
            )

    def report(self, target: str, comparison: Verification | None, *, ports: bool = True) -> Report:
        inputs, outputs = self.route.ports() if ports else ((), ())
        return Report(
            source=self.route.name,
            target=target,
            inputs=inputs,
            outputs=outputs,
            findings=self.route.findings,
            losses=tuple(self.route.losses),
            comparison=comparison,
            seconds=self.seconds,
        )


@dataclass(frozen=True)
class Conversion:
    """A converted model in memory."""

    model: Any
    """for TensorFlow a tf.Module: call it with the inputs, it returns a dict of outputs; for ONNX an onnx_ir.Model"""
    report: Report
    route: Route = field(repr=False)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the SavedModel or the .onnx file: whole or not at all."""
        target = Path(path)
        with written_aside(target, overwrite=overwrite) as fresh:
            self.route.write(fresh)
        return target


def convert(
    source: Any,
    to: str | None = None,
    *,
    ops: Ops = (),
    verify: bool = True,
    data: Samples | None = None,
    progress: Progress = lambda _: None,
    **options: Any,
) -> Conversion:
    """Convert a model; unless ``verify`` is off, compare it with the source before it is handed out.

    ``to`` is ``"tensorflow"`` or ``"onnx"``; the one that the source is not when it is left out.
    ``data``: inputs to compare on, each a dict by name; a few seeded ones are made when there are none.
    Of a TensorFlow source: ``opset``, ``signature``, ``inputs``, ``outputs``, ``shapes``, ``inputs_as_nchw``,
    ``outputs_as_nchw``, ``trust``, ``external_data``, ``extensions``, ``custom_domain``.
    """
    job = Job(_route(source, to, ops, options), progress)
    job.analyse()
    model = job.emit()
    comparison = job.verify(None, data) if verify else None
    return Conversion(model, job.report(job.route.target, comparison), job.route)


def convert_file(
    source: Any,
    output: str | Path,
    *,
    ops: Ops = (),
    verify: bool = True,
    data: Samples | None = None,
    overwrite: bool = False,
    progress: Progress = lambda _: None,
    **options: Any,
) -> Report:
    """Convert to a file; what is compared is what was written, read back before it gets its name."""
    target = Path(output)
    if target.suffix in _OTHER_FORMS:
        raise UsageError(
            f"a model can't be written as {target.suffix}",
            where=str(target),
            remedy="name a folder for a SavedModel, like saved_model/, or a file like model.onnx",
        )
    check_free(target, overwrite=overwrite)
    job = Job(_route(source, _FORMS.get(target.suffix, "tensorflow"), ops, options), progress)
    job.analyse()
    job.emit()
    with written_aside(target, overwrite=overwrite) as fresh:
        with job.stage("write"):
            job.route.write(fresh)
        comparison = job.verify(fresh, data) if verify else None
    return job.report(str(target), comparison)


def check(source: Any, to: str | None = None, *, ops: Ops = (), **options: Any) -> Report:
    """What would not survive, node by node; nothing is converted, and an ONNX source loads no framework."""
    job = Job(_route(source, to, ops, options), lambda _: None)
    job.analyse()
    return job.report(job.route.target, None, ports=False)


def _route(source: Any, to: str | None, ops: Ops, options: Mapping[str, Any]) -> Route:
    """The way from the source's form to the target's."""
    if to not in (None, "tensorflow", "onnx"):
        raise UsageError(f"there is no target {to!r}", remedy="targets: tensorflow, onnx")
    if is_tensorflow(source) or (to == "onnx" and not _is_onnx(source)):
        if to == "tensorflow":
            raise UsageError("the source is a TensorFlow model already", remedy="name an .onnx file as the output")
        given = dict(options)
        outgoing = {name: given.pop(name) for name in ("opset", "external_data") if name in given}
        return TensorflowToOnnx(source, ops, _options(given), **outgoing)
    if to == "onnx":
        raise UsageError("the source is an ONNX model already", remedy="name a folder for a SavedModel as the output")
    if options:
        raise UsageError(f"{sorted(options)[0]!r} is no option of an ONNX source")
    return OnnxToTensorflow(source, ops)


def _is_onnx(source: Any) -> bool:
    if isinstance(source, (str, Path)):
        return Path(source).suffix in (".onnx", ".zip")
    return isinstance(source, (onnx.ModelProto, ir.Model))


def _options(given: Mapping[str, Any]) -> Options:
    known = set(Options.__dataclass_fields__)
    for name in given:
        if name not in known:
            raise UsageError(f"there is no option {name!r}", remedy=f"options of a TensorFlow source: {sorted(known)}")
    return Options(**given)
