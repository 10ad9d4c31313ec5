"""The whole program on one page: open → to_ir → plan → build → compare → report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from trueport import __version__
from trueport.backends.writing.claim import claimed, write_failures_named
from trueport.checking.assess import refusals, refuse_unsupported
from trueport.checking.remarks import Remark
from trueport.checking.rules import Subject, examine
from trueport.errors import ConversionError, InvalidModel
from trueport.report.artifacts import describe_setting
from trueport.report.data import Report, users_operators
from trueport.report.drawn import draw
from trueport.report.profile import Profile
from trueport.requirements import Form, require_for_check, require_for_conversion
from trueport.runtimes.base import Model
from trueport.runtimes.machine import describe_machine
from trueport.sources.open import form_of, form_to_write, on_the_way
from trueport.stages import Built, Ops, Plan, Program, Source, Target
from trueport.verifying.inputs.data import Data
from trueport.verifying.verification import Verification

__all__ = ["Conversion", "check", "convert", "convert_file"]

Progress = Callable[[str], None]


@dataclass
class Job:
    """One source on its way to one target, with a clock."""

    source: Source
    target: Target
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def read(self) -> Program:
        with self.stage("read"):
            return self.source.to_ir()

    def plan(self, program: Program) -> Plan:
        """Return what is known before anything is made; where the source's operators are refused, only these."""
        if not program.is_whole:
            return Plan(program, program.model)
        with self.stage("plan"):
            return self.target.plan(program)

    def build(self) -> tuple[Plan, Built]:
        plan = self.plan(self.read())
        refuse_unsupported(plan.findings)
        with self.stage("build"):
            return plan, self.target.build(plan)

    def compare(self, plan: Plan, built: Built, written: Path | None, data: Data | None) -> Verification:
        # Here and in profile: check, which needs neither, should not wait for their modules.
        from trueport.verifying.inner_values import judge_inside
        from trueport.verifying.inputs.feeding import conversion_inputs
        from trueport.verifying.judge.budget import allowed_ulps
        from trueport.verifying.judge.criteria import Asked
        from trueport.verifying.runtime_blame import with_blame, without_optimizer
        from trueport.verifying.verify import verify_runs

        with self.stage("verify"):
            runs, target = self._runs(built), built.run(written)
            if isinstance(runs, str):
                machine = describe_machine()
                return Verification("none", target.runtime, "none", 0, 0, 0, (), skipped=runs, machine=machine)
            reference, allowed = self.source.reference(), allowed_ulps(plan.model, self.target.registry)
            found = verify_runs(
                runs,
                target,
                conversion_inputs(runs[0], plan.program.model.graph, data),
                reference,
                allowed_ulps=allowed,
                random=any(finding.mapping and finding.mapping.random for finding in plan.findings),
            )
            found = with_blame(found, runs, lambda: without_optimizer(target), reference, Asked(), allowed)
            found = judge_inside(found, reference, runs, target)
            return replace(found, machine=describe_machine())

    def profile(self, plan: Plan, built: Built, written: Path | None, data: Data | None) -> Profile:
        """Where on the way the error arises; for those who look at the report."""
        from trueport.report.measure import measure_profile
        from trueport.verifying.inputs.feeding import conversion_inputs

        with self.stage("profile"):
            runs = self._runs(built)
            if isinstance(runs, str):
                return Profile((), why=runs)
            inputs = list(conversion_inputs(runs[0], plan.program.model.graph, data))
            return measure_profile(self.source.reference(), runs, built.run(written), inputs, self.target.registry)

    def _runs(self, built: Built) -> list[Model] | str:
        """Return the source's executions, or the reason why there is nothing to compare."""
        if built.why_not_run:
            return built.why_not_run
        try:
            return [*self.source.runs()]
        except InvalidModel as error:
            return error.why

    def subject(self, plan: Plan) -> Subject:
        """What the rules of the check look at."""
        program = plan.program
        return Subject(
            plan.model,
            self.target.form,
            plan.findings,
            program.inputs,
            program.outputs,
            program.described,
            plan.needs,
            program.contradictions,
        )

    def report(self, plan: Plan, remarks: tuple[Remark, ...] = ()) -> Report:
        """What is known before anything is made."""
        return Report(
            source=self.source.name,
            target=self.target.form,
            findings=plan.findings,
            losses=plan.program.losses,
            captured_by=plan.program.captured_by,
            remarks=remarks,
            seconds=self.seconds,
            users_operators=users_operators(plan.findings),
        )

    def full_report(
        self,
        plan: Plan,
        built: Built,
        comparison: Verification | None,
        measured: Profile | None,
        written: Path | None = None,
    ) -> Report:
        with self.stage("report"):
            found = replace(
                self.report(plan, examine(self.subject(plan))),
                target=str(written) if written is not None else self.target.form,
                inputs=built.inputs,
                outputs=built.outputs,
                comparison=comparison,
                profile=measured,
                setting=describe_setting(__version__),
                is_made=True,
                is_written=written is not None,
                drawn=partial(draw, self.source, plan, built, written),
            )
        return replace(found, seconds=dict(self.seconds))


@dataclass(frozen=True)
class Conversion:
    """A converted model in memory."""

    model: Any
    """for TensorFlow a tf.Module: call it with the inputs, it returns a dict of outputs; for ONNX an
    onnx_ir.Model; for TFLite the file's bytes"""
    report: Report
    target: Target = field(repr=False)
    plan: Plan = field(repr=False)
    built: Built = field(repr=False)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the SavedModel or the .onnx file: whole or not at all."""
        target = Path(path)
        claim = claimed(target, self.target.form, overwrite=overwrite)
        with claim as place, place.written_aside() as fresh, write_failures_named(target):
            self.built.write(fresh)
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
    Of a TensorFlow source: ``signature``, ``inputs``, ``outputs``, ``shapes``, ``inputs_as_nchw``,
    ``outputs_as_nchw``, ``trust``, ``extensions``, ``custom_domain``.
    Of a PyTorch source: ``example_inputs``, ``dynamic_shapes``, ``trust``. To ONNX: ``opset``, ``external_data``.
    """
    form = to or _opposite(source)
    _require_packages(source, form, verify or profile, options)
    job = Job(*on_the_way(source, form, options, ops), progress)
    plan, built = job.build()
    comparison = job.compare(plan, built, None, data) if verify else None
    measured = job.profile(plan, built, None, data) if profile else None
    return Conversion(built.model, job.full_report(plan, built, comparison, measured), job.target, plan, built)


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
    form = form_to_write(target)
    _require_packages(source, form, verify or profile, options)
    with claimed(target, form, overwrite=overwrite) as claim:
        job = Job(*on_the_way(source, form, options, ops), progress)
        plan, built = job.build()
        with claim.written_aside() as fresh:
            with job.stage("write"), write_failures_named(target):
                built.write(fresh)
            comparison = job.compare(plan, built, fresh, data) if verify else None
            measured = job.profile(plan, built, fresh, data) if profile else None
    return job.full_report(plan, built, comparison, measured, target)


def check(source: Any, to: str | None = None, *, ops: Ops = (), **options: Any) -> Report:
    """What would not survive, node by node; nothing is converted, and an ONNX source loads no framework."""
    require_for_check(form_of(source), extensions=bool(options.get("extensions")))
    job = Job(*on_the_way(source, to or _opposite(source), options, ops), lambda _: None)
    try:
        program = job.read()
    except ConversionError as error:
        return Report(job.source.name, job.target.form, findings=refusals(error), seconds=job.seconds)
    try:
        plan = job.plan(program)
    except ConversionError as error:
        return job.report(Plan(program, program.model, refusals(error)))
    return job.report(plan, examine(job.subject(plan)))


def _opposite(source: Any) -> Form:
    """Return the target where none is named."""
    return "onnx" if form_of(source) in ("tensorflow", "pytorch") else "tensorflow"


def _require_packages(source: Any, form: Form, verify: bool, options: Mapping[str, Any]) -> None:
    """Raise `MissingDependency` if a package is missing; before user modules run, which may import it too."""
    require_for_conversion(form_of(source), form, verify=verify, extensions=bool(options.get("extensions")))
