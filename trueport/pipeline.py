"""The whole program on one page: capture → canonicalize → check → emit → verify → report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from trueport import __version__
from trueport.backends.writing.claim import claimed, write_failures_named
from trueport.checking.assess import refusals, refuse_unsupported
from trueport.checking.remarks import Remark, Severity
from trueport.checking.rules import examine
from trueport.errors import ConversionError, UsageError
from trueport.fidelity import UNSUPPORTED
from trueport.quoting import one_line
from trueport.report.artifacts import describe_artifact, describe_setting
from trueport.report.data import Report, users_operators
from trueport.report.graphs import Graph, joined
from trueport.report.profile import Profile
from trueport.requirements import Form, require_for_check, require_for_conversion
from trueport.routes.base import Ops, Route
from trueport.routes.choose import choose_route
from trueport.routes.forms import form_of
from trueport.runtimes.machine import describe_machine
from trueport.verifying.data import Data
from trueport.verifying.verification import Verification

__all__ = ["Conversion", "check", "convert", "convert_file"]

_FORMS: Mapping[str, Form] = {".onnx": "onnx", ".tflite": "tflite"}
_OTHER_FORMS = (".keras", ".h5", ".pb", ".pt2")
Progress = Callable[[str], None]
Drawing = TypeVar("Drawing")


@dataclass
class Job:
    """A route with a clock."""

    route: Route
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    before: Graph | None = None
    """the source's graph, taken down before anything changes it"""
    remarks: tuple[Remark, ...] = ()
    undrawn: tuple[Remark, ...] = ()
    """what the report can't show, and why"""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def analyse(self, *, draw: bool = True) -> None:
        with self.stage("capture"):
            self.route.capture()
            self.before = self._drawn("the source", self.route.source_graph) if draw else None
        with self.stage("canonicalize"):
            self.route.canonicalize()

    def _drawn(self, what: str, draw: Callable[[], Drawing]) -> Drawing | None:
        """What the report shows of a model; a failure is remarked on, and stops no conversion."""
        try:
            return draw()
        except Exception as error:  # whatever it is: the converted model does not depend on the drawing
            because = f"{what} can't be drawn: {type(error).__name__}: {one_line(error, 200)}"
            remark = Remark("drawing", Severity.NOTE, because, "report it with the model; the conversion is whole")
            self.undrawn = (*self.undrawn, remark)
            return None

    def emit(self) -> Any:
        refuse_unsupported(self.route.findings)
        with self.stage("emit"):
            made = self.route.emit()
        self.remarks = examine(self.route.subject())
        return made

    def foresee(self) -> None:
        """Go as far as nothing is made; what convert would refuse as a whole becomes a finding."""
        try:
            self.analyse(draw=False)
            if all(finding.fidelity < UNSUPPORTED for finding in self.route.findings):
                self.route.rehearse()
            self.remarks = examine(self.route.subject())
        except ConversionError as error:
            self.route.findings = (*self.route.findings, *refusals(error))

    def verify(self, written: Path | None, data: Data | None) -> Verification:
        # Here and in profile: check, which needs neither, should not wait for their modules.
        from trueport.verifying.budget import allowed_ulps
        from trueport.verifying.feeding import conversion_inputs
        from trueport.verifying.verify import verify_runs

        with self.stage("verify"):
            sources, target = self.route.sources(), self.route.result(written)
            if isinstance(sources, str):
                return Verification(
                    "none", target.runtime, "none", 0, 0, 0, (), skipped=sources, machine=describe_machine()
                )
            random = any(finding.mapping and finding.mapping.random for finding in self.route.findings)
            found = verify_runs(
                sources,
                target,
                conversion_inputs(sources[0], self.route.graph().graph, data),
                self.route.oracle(),
                allowed_ulps=allowed_ulps(self.route.graph(), self.route.bounds),
                random=random,
            )
            return replace(found, machine=describe_machine())

    def profile(self, written: Path | None, data: Data | None) -> Profile:
        """Where on the way the error arises; for those who look at the report."""
        from trueport.report.measure import measure_profile
        from trueport.verifying.feeding import conversion_inputs

        with self.stage("profile"):
            sources = self.route.sources()
            if isinstance(sources, str):
                return Profile((), why=sources)
            inputs = list(conversion_inputs(sources[0], self.route.graph().graph, data))
            return measure_profile(self.route.oracle(), sources, self.route.result(written), inputs)

    def check_report(self) -> Report:
        """What is known before anything is converted."""
        return Report(
            source=self.route.name,
            target=self.route.target,
            findings=self.route.findings,
            losses=tuple(self.route.losses),
            captured_by=self.route.captured_by,
            remarks=(*self.remarks, *self.undrawn),
            seconds=self.seconds,
            users_operators=users_operators(self.route.findings),
        )

    def report(
        self, target: str, comparison: Verification | None, measured: Profile | None, written: Path | None = None
    ) -> Report:
        with self.stage("report"):
            inputs, outputs = self.route.ports()
            before = self._drawn("the source", partial(self.route.refined, self.before)) if self.before else None
            after = self._drawn("the target", self.route.target_graph)
            nodes = self.route.findings_by_node()
            graphs = self._drawn("both models", partial(joined, before, after, nodes)) if before and after else None
            found = replace(
                self.check_report(),
                target=target,
                inputs=inputs,
                outputs=outputs,
                comparison=comparison,
                profile=measured,
                went_in=describe_artifact(before, self.route.name, Path(self.route.name)) if before else None,
                came_out=describe_artifact(after, target, written) if after else None,
                setting=describe_setting(__version__),
                graphs=graphs,
            )
        return replace(found, seconds=dict(self.seconds))


@dataclass(frozen=True)
class Conversion:
    """A converted model in memory."""

    model: Any
    """for TensorFlow a tf.Module: call it with the inputs, it returns a dict of outputs; for ONNX an
    onnx_ir.Model; for TFLite the file's bytes"""
    report: Report
    route: Route = field(repr=False)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the SavedModel or the .onnx file: whole or not at all."""
        target = Path(path)
        claim = claimed(target, self.route.target, overwrite=overwrite)
        with claim as place, place.written_aside() as fresh, write_failures_named(target):
            self.route.write(fresh)
        return target


def convert(
    source: Any,
    to: str | None = None,
    *,
    ops: Ops = (),
    verify: bool = True,
    profile: bool = False,
    data: Data | None = None,
    progress: Progress = lambda _: None,
    **options: Any,
) -> Conversion:
    """Convert a model; unless ``verify`` is off, compare it with the source before it is handed out.

    ``to`` is ``"tensorflow"``, ``"onnx"`` or ``"tflite"``; may be left out where the source is one of the first two.
    ``profile``: also measure the error along the depth of the network, for the report; it takes a while.
    ``data``: inputs to compare on, each a dict by name; a few seeded ones are made when there are none.
    Of a TensorFlow source: ``opset``, ``signature``, ``inputs``, ``outputs``, ``shapes``, ``inputs_as_nchw``,
    ``outputs_as_nchw``, ``trust``, ``external_data``, ``extensions``, ``custom_domain``.
    Of a PyTorch source: ``example_inputs``, ``dynamic_shapes``, ``trust``, and to ONNX ``opset``, ``external_data``.
    """
    _require_packages(source, to, verify or profile, options)
    job = Job(choose_route(source, to, ops, options), progress)
    job.analyse()
    model = job.emit()
    comparison = job.verify(None, data) if verify else None
    measured = job.profile(None, data) if profile else None
    return Conversion(model, job.report(job.route.target, comparison, measured), job.route)


def convert_file(
    source: Any,
    output: str | Path,
    *,
    ops: Ops = (),
    verify: bool = True,
    profile: bool = False,
    data: Data | None = None,
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
            remedy="name a folder for a SavedModel, like saved_model/, or a file like model.onnx or model.tflite",
        )
    form = _FORMS.get(target.suffix, "tensorflow")
    _require_packages(source, form, verify or profile, options)
    with claimed(target, form, overwrite=overwrite) as claim:
        job = Job(choose_route(source, form, ops, options), progress)
        job.analyse()
        job.emit()
        with claim.written_aside() as fresh:
            with job.stage("write"), write_failures_named(target):
                job.route.write(fresh)
            comparison = job.verify(fresh, data) if verify else None
            measured = job.profile(fresh, data) if profile else None
    return job.report(str(target), comparison, measured, target)


def check(source: Any, to: str | None = None, *, ops: Ops = (), **options: Any) -> Report:
    """What would not survive, node by node; nothing is converted, and an ONNX source loads no framework."""
    require_for_check(form_of(source), extensions=bool(options.get("extensions")))
    job = Job(choose_route(source, to, ops, options), lambda _: None)
    job.foresee()
    return job.check_report()


def _require_packages(source: Any, to: str | None, verify: bool, options: Mapping[str, Any]) -> None:
    """Raise `MissingDependency` if a package is missing; before user modules run, which may import it too."""
    form = form_of(source)
    target = to or ("tensorflow" if form == "onnx" else "onnx")
    require_for_conversion(form, target, verify=verify, extensions=bool(options.get("extensions")))
