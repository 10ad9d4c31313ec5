"""SavedModels: the plan arranges the graph and asks for every node's handler, building traces one function."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from trueport.backends.tensorflow.build.module import TracedModule, build_module
from trueport.backends.tensorflow.build.save import write_saved_model
from trueport.backends.tensorflow.registry import registry
from trueport.checking.assess import assess_model
from trueport.drawing.graph import Graph
from trueport.mapping.user import with_user_ops
from trueport.passes.declared import name_outputs
from trueport.passes.to_tensorflow import arrange_for_tensorflow
from trueport.runtimes.base import Model
from trueport.runtimes.tensorflow import FunctionModel, SavedModel
from trueport.stages import Built, Ops, Plan, Program, Target

__all__ = ["BuiltModule", "TensorflowTarget"]


class TensorflowTarget(Target):
    """A tf.Module, stored as a SavedModel."""

    form: ClassVar[str] = "tensorflow"

    def __init__(self, ops: Ops, options: Any) -> None:
        super().__init__(ops, options)
        self.registry = with_user_ops(registry(), ops)

    def plan(self, program: Program) -> Plan:
        model = program.model.clone()
        arrange_for_tensorflow(model, self.registry)
        # No pass follows: a name says that two dims are equal, which is a claim too.
        name_outputs(model.graph, program.declared)
        return Plan(program, model, assess_model(model, self.registry))

    def build(self, plan: Plan) -> BuiltModule:
        return BuiltModule(build_module(plan.model, self.registry, plan.program.described), plan)


class BuiltModule(Built):
    """A traced module."""

    def __init__(self, traced: TracedModule, plan: Plan) -> None:
        self.traced = traced
        self.model = traced.module
        self.inputs, self.outputs = traced.map.inputs, traced.map.outputs
        self._plan = plan

    def write(self, place: Path) -> None:
        write_saved_model(self.traced, place)

    def run(self, written: Path | None = None) -> Model:
        if written is not None:
            return SavedModel(written)
        traced = self.traced
        return FunctionModel(traced.function, traced.function, traced.map, traced.module)

    def draw(self) -> Graph:
        traced = self.traced
        # Here, for check draws nothing that is built.
        from trueport.drawing.tensorflow import holders, owners, tensorflow_graph

        came_from = owners(self._plan.model.graph, traced.map.values)
        return tensorflow_graph(traced.function.graph, self.outputs, came_from, holders(traced.map))
