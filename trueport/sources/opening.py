"""A model opened once more under another setting of its runtime, in a new process where the setting needs one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trueport.runtimes.base import Model
from trueport.runtimes.child import ChildModel
from trueport.runtimes.machine import describe_machine
from trueport.runtimes.settings import NotShown, Setting, why_not_here
from trueport.runtimes.tensorflow import FunctionModel
from trueport.stages import Source

__all__ = ["Opening"]


@dataclass(frozen=True)
class Opening:
    """How a model was opened here, so that it can be opened again."""

    role: Literal["source", "target"]
    source: Source
    model: Model
    """as it was opened, under no particular setting"""

    def why_not(self, setting: Setting) -> str:
        """Return the reason why the setting can't be tried; empty where it can."""
        if why := why_not_here(setting, describe_machine()):
            return why
        if self.model.runtime == "onnx reference":
            return "ONNX Runtime does not run the model; ONNX's reference stands in for it"
        if setting.needs_process or self.source.limits is not None:
            return "" if isinstance(self.source.artifact, (str, Path)) else "the model is in memory: save it"
        if "xla" in setting.options:
            return "" if isinstance(self.model, FunctionModel) else "only a traced function can be compiled"
        return "the model is loaded already: name its file" if isinstance(self.source.artifact, Model) else ""

    def open(self, setting: Setting) -> Model:
        """Return the model under a setting; raises what the runtime raises, or `NotShown`."""
        model = self.source.reopened(setting, self.model, as_source=self.role == "source")
        if isinstance(model, ChildModel) and setting.onednn is not None and model.machine().onednn != setting.onednn:
            model.close()
            raise NotShown(f"this build of TensorFlow does not turn oneDNN {'on' if setting.onednn else 'off'}")
        return model
