"""A model that `trueport.load` opened, taken as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from trueport.reference.base import Oracle
from trueport.reference.perturbed import PerturbedSource
from trueport.runtimes.base import Model
from trueport.runtimes.settings import Setting
from trueport.sources.facts import border
from trueport.stages import Source

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

    def reopened(self, setting: Setting, model: Model, *, as_source: bool) -> Model:
        self.refuse("opened again")
