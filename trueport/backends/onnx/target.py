"""ONNX files: the plan settles opset and kernels, the file is known to run before it gets its name."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import onnx
import onnx_ir as ir

from trueport.backends.onnx.opset import settle_opset
from trueport.backends.onnx.outputs import settle_outputs
from trueport.backends.onnx.save import write_onnx
from trueport.backends.onnx.texts import refuse_other_bytes
from trueport.drawing.graph import Graph, onnx_graph
from trueport.errors import EmitError, UsageError
from trueport.ir.ports import Port, make_ports
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.mapping.registry import RECORDS
from trueport.passes.to_onnx import OLDEST_OPSET
from trueport.quoting import one_line
from trueport.requirements import is_installed
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.ort_kernels import cpu_kernels, readable_opset
from trueport.stages import Built, Ops, Plan, Program, Target

__all__ = ["BuiltOnnx", "OnnxOptions", "OnnxTarget"]


@dataclass(frozen=True)
class OnnxOptions:
    """What a caller may say about an ONNX file."""

    opset: int | None = None
    """the lowest that expresses the model exactly, if not given"""
    external_data: bool = False
    """weights in a file of their own"""


class OnnxTarget(Target):
    """An ONNX file for ONNX Runtime."""

    form: ClassVar[str] = "onnx"
    Options: ClassVar[type[Any]] = OnnxOptions

    def __init__(self, ops: Ops, options: OnnxOptions) -> None:
        super().__init__(ops, options)
        _check_opset(options.opset)
        self.registry = RECORDS

    def plan(self, program: Program) -> Plan:
        model = program.model.clone()
        refuse_other_bytes(model)
        needs = settle_opset(model, self.options.opset, cpu_kernels())
        settle_outputs(model.graph, program.declared)
        return Plan(program, model, needs=needs)

    def build(self, plan: Plan) -> BuiltOnnx:
        return BuiltOnnx(plan, external_data=self.options.external_data)


class BuiltOnnx(Built):
    """A model at its opset."""

    def __init__(self, plan: Plan, *, external_data: bool) -> None:
        self.model = plan.model.clone()
        graph = self.model.graph
        self.inputs, self.outputs = _own_names(graph.inputs), _own_names(graph.outputs)
        self._external_data = external_data
        self._foreign = plan.program.foreign_domain

    @property
    def why_not_run(self) -> str:
        if not self._foreign or all(node.domain != self._foreign for node in self.model.graph.all_nodes()):
            return ""
        return f"ONNX Runtime has no operators of {self._foreign}: neither the file nor its numbers could be tried"

    def write(self, place: Path) -> None:
        write_onnx(self.model, place, external_data=self._external_data)
        if not self.why_not_run:
            _refuse_unless_it_runs(place)

    def run(self, written: Path | None = None) -> Model:
        if written is not None:
            return OnnxRuntimeModel(written)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "model.onnx")
            self.write(place)
            target = OnnxRuntimeModel(place)
            if not self.why_not_run:
                target.prepare()
        return target

    def draw(self) -> Graph:
        return onnx_graph(self.model)


def _own_names(values: Sequence[ir.Value]) -> tuple[Port, ...]:
    """ONNX takes any name: nothing is renamed at this border."""
    return tuple(replace(port, parts=(port.name,)) for port in make_ports(values))


def _check_opset(opset: int | None) -> None:
    if opset is not None and not OLDEST_OPSET <= opset <= CANONICAL_OPSETS[""]:
        raise UsageError(
            f"opset {opset} is too {'old' if opset < OLDEST_OPSET else 'new'}",
            where="--opset",
            remedy=f"opsets from {OLDEST_OPSET} to {CANONICAL_OPSETS['']} can be written",
        )


def _refuse_unless_it_runs(place: Path) -> None:
    """Raise `EmitError` if ONNX Runtime does not load the file: nothing is kept of it then.

    Where ONNX Runtime is not installed, which is asked before by whoever wants to verify, nothing is tried.
    """
    if not is_installed("onnxruntime"):
        return
    try:
        OnnxRuntimeModel(place).try_out()
    except Exception as error:  # ONNX Runtime raises types of its own, not public ones
        _refuse_newer_opset(place)
        raise EmitError(
            f"ONNX Runtime does not take the model that was made: {one_line(error, 400)}",
            where=place.name,
            remedy="nothing was written; correct your handlers (@maps), if one made it, or report it with the model",
        ) from error


def _refuse_newer_opset(place: Path) -> None:
    """Raise `EmitError` if the file's opset is newer than what the installed ONNX Runtime reads."""
    imports = onnx.load(place, load_external_data=False).opset_import
    opset = max((item.version for item in imports if item.domain in ("", "ai.onnx")), default=0)
    readable = readable_opset()
    if opset > readable:
        raise EmitError(
            f"the installed ONNX Runtime reads opsets up to {readable}, the model has opset {opset}",
            where=place.name,
            remedy=f"ask for opset {readable} or older, or install a newer one: pip install -U onnxruntime",
        )
