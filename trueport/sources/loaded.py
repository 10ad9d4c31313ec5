"""A model that `trueport.load` opened, taken as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from trueport.drawing.graph import Graph
from trueport.errors import UsageError
from trueport.runtimes.base import Model
from trueport.runtimes.settings import Setting
from trueport.sources.facts import border
from trueport.stages import Program, Source
from trueport.verifying.oracle import Oracle
from trueport.verifying.perturbed import PerturbedSource

__all__ = ["LoadedSource"]


class LoadedSource(Source):
    """Can be run, and nothing else: where it came from is not known."""

    form: ClassVar[str] = "loaded"

    def runs(self) -> Sequence[Model]:
        return [self.artifact]

    def deployed(self, *, exact_sums: bool = False, **settings: Any) -> Model:
        model: Model = self.artifact
        return model

    def reference(self) -> Oracle:
        return PerturbedSource(self.artifact, "a loaded model can't be evaluated in float64")

    def facts(self) -> Mapping[str, Any]:
        return {"format": self.artifact.runtime, **border(self.artifact.inputs, self.artifact.outputs)}

    def to_ir(self) -> Program:
        self._refuse()

    def draw(self) -> Graph:
        self._refuse()

    def weights(self) -> Mapping[str, Callable[[], Any]]:
        self._refuse()

    def reopened(self, setting: Setting, model: Model, *, as_source: bool) -> Model:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UsageError("the model is loaded already, where from is not known", remedy="name its file")
