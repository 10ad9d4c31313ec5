"""A form of one file: straight lines. Nothing outside of this file knows it; `KIND` is the line that adds it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
import onnx_ir as ir

from trueport.backends.tensorflow.registry import registry
from trueport.checking.assess import refusals
from trueport.drawing.graph import Graph, onnx_graph
from trueport.errors import ConversionError
from trueport.ir.ports import make_ports
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.passes.canonical import canonicalize
from trueport.reference.base import Oracle
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.runtimes.base import Model
from trueport.runtimes.settings import Setting
from trueport.sources.facts import border
from trueport.sources.open import Kind
from trueport.stages import Built, Ops, Plan, Program, Source, Target

__all__ = ["KIND", "ToySource", "ToyTarget", "write_toy"]

KIND = Kind(
    "toy",
    "a line",
    lambda model: isinstance(model, (str, Path)) and Path(model).suffix == ".toy",
    "tests.forms.toy:ToySource",
    "tests.forms.toy:ToyTarget",
    ".toy",
)
_LINE = """
<ir_version: 10, opset_import: ["": {opset}]>
line (float[n] x) => (float[n] y) <float[1] slope = {{{slope}}}, float[1] start = {{{start}}}> {{
  risen = Mul(x, slope)
  y = Add(risen, start)
}}
"""


def write_toy(place: Path, slope: float, start: float) -> Path:
    """Write a line."""
    place.write_text(json.dumps({"slope": slope, "start": start}))
    return place


class Line(Model):
    """A line, by NumPy."""

    runtime = "numpy"

    def __init__(self, slope: float, start: float) -> None:
        self._slope, self._start = np.float32(slope), np.float32(start)
        graph = _graph(slope, start).graph
        self.inputs, self.outputs = make_ports(graph.inputs), make_ports(graph.outputs)

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        return {"y": feeds["x"] * self._slope + self._start}


def _graph(slope: float, start: float) -> ir.Model:
    text = _LINE.format(opset=CANONICAL_OPSETS[""], slope=slope, start=start)
    return ir.from_proto(onnx.parser.parse_model(text))


class ToySource(Source):
    """A file that holds a line."""

    form: ClassVar[str] = "toy"

    @property
    def _line(self) -> dict[str, float]:
        held: dict[str, float] = json.loads(Path(self.artifact).read_text())
        return held

    def to_ir(self) -> Program:
        model = _graph(**self._line)
        canonicalize(model)
        return Program(self.name, model, make_ports(model.graph.inputs), make_ports(model.graph.outputs))

    def runs(self) -> Sequence[Model]:
        return [Line(**self._line)]

    def deployed(self, *, exact_sums: bool = False, **settings: Any) -> Model:
        return Line(**self._line)

    def reference(self) -> Oracle:
        return OnnxOracle(_graph(**self._line), registry())

    def reopened(self, setting: Setting, model: Model, *, as_source: bool) -> Model:
        return model

    def facts(self) -> Mapping[str, Any]:
        model = self.deployed()
        return {"format": "a line", **border(model.inputs, model.outputs), **self._line}

    def draw(self) -> Graph:
        return onnx_graph(_graph(**self._line))

    def weights(self) -> Mapping[str, Callable[[], Any]]:
        return {name: lambda value=value: np.float32(value) for name, value in self._line.items()}  # type: ignore[misc]


class ToyTarget(Target):
    """Takes what is a line: a product with a constant, and a sum with one."""

    form: ClassVar[str] = "toy"

    def __init__(self, ops: Ops, options: Any) -> None:
        super().__init__(ops, options)
        self.registry = registry()

    def plan(self, program: Program) -> Plan:
        nodes = [node.op_type for node in program.model.graph]
        if nodes != ["Mul", "Add"]:
            error = ConversionError(f"{', '.join(nodes)} is not a line", where=program.name, remedy="keep Mul and Add")
            return Plan(program, program.model, refusals(error))
        return Plan(program, program.model.clone())

    def build(self, plan: Plan) -> BuiltToy:
        constants = [v.const_value for v in plan.model.graph.initializers.values() if v.const_value is not None]
        return BuiltToy(plan, *(float(tensor.numpy().item()) for tensor in constants))


class BuiltToy(Built):
    """A line that was made."""

    def __init__(self, plan: Plan, slope: float, start: float) -> None:
        self.model = {"slope": slope, "start": start}
        line = Line(slope, start)
        self.inputs, self.outputs = line.inputs, line.outputs
        self._plan = plan

    def write(self, place: Path) -> None:
        write_toy(place, **self.model)

    def run(self, written: Path | None = None) -> Model:
        return Line(**(self.model if written is None else json.loads(written.read_text())))

    def draw(self) -> Graph:
        return onnx_graph(self._plan.model)
