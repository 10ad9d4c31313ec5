"""A model opened once more under another setting of its runtime, in a new process where the setting needs one."""

from __future__ import annotations

import functools
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import onnx_ir as ir

from trueport.frontends.tensorflow.sources import Options
from trueport.frontends.torch.call import make_call
from trueport.frontends.torch.run import run_eager
from trueport.frontends.torch.sources import TorchOptions, open_source
from trueport.ir.maps import to_proto
from trueport.runtimes.base import Model
from trueport.runtimes.child import ChildModel, Limits
from trueport.runtimes.detect import load_model
from trueport.runtimes.machine import describe_machine
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.settings import Setting, why_not_here
from trueport.runtimes.tensorflow import FunctionModel, turn_off_grappler
from trueport.runtimes.tflite import TfliteModel
from trueport.runtimes.torch import TorchModel
from trueport.verifying.subjects import Running, as_source, as_target

__all__ = ["NotShown", "Opening", "open_tensorflow", "open_torch"]

Role = Literal["source", "target"]


class NotShown(Exception):
    """The setting has no effect in the process that was started for it."""


@dataclass(frozen=True)
class Opening:
    """How a model was opened here, so that it can be opened again."""

    role: Role
    artifact: Any
    """a path, bytes, or an object in memory"""
    model: Model
    """as it was opened, under no particular setting"""
    options: Options
    running: Running

    def why_not(self, setting: Setting) -> str:
        """Return the reason why the setting can't be tried; empty where it can."""
        if why := why_not_here(setting, describe_machine()):
            return why
        if self.model.runtime == "onnx reference":
            return "ONNX Runtime does not run the model; ONNX's reference stands in for it"
        if self._in_process(setting):
            return "" if isinstance(self.artifact, (str, Path)) else "the model is in memory: save it"
        if "xla" in setting.options:
            return "" if isinstance(self.model, FunctionModel) else "only a traced function can be compiled"
        return "the model is loaded already: name its file" if isinstance(self.artifact, Model) else ""

    def open(self, setting: Setting) -> Model:
        """Return the model under a setting; raises what the runtime raises, or `NotShown`."""
        if self._in_process(setting):
            model = self._in_child(setting)
            _check_onednn(model, setting)
            return model
        if "xla" in setting.options:
            assert isinstance(self.model, FunctionModel)
            return self.model.compiled()
        if setting.runtime == "tflite":
            given = {"signature": self.options.signature, "trust": self.options.trust, **setting.options}
            return TfliteModel(self.artifact, **given)
        held = to_proto(self.artifact) if isinstance(self.artifact, ir.Model) else self.artifact
        return OnnxRuntimeModel(held, **setting.options)

    def _in_process(self, setting: Setting) -> bool:
        """True if a new process is needed, or wished for."""
        return setting.needs_process or self.running.limits is not None

    def _in_child(self, setting: Setting) -> ChildModel:
        loader, options = f"{load_model.__module__}:{load_model.__name__}", dict(setting.options)
        if setting.runtime == "onnxruntime":
            options["exact_sums"] = True
        if setting.runtime in ("tensorflow", "tflite"):
            options["trust"] = self.options.trust
        if setting.runtime in ("tensorflow", "tflite") and self.options.signature is not None:
            options["signature"] = self.options.signature
        if setting.runtime == "tensorflow":
            loader, options["role"] = f"{__name__}:open_tensorflow", self.role
        if setting.runtime == "pytorch":
            given = TorchOptions(self.running.torch.example_inputs, trust=self.running.torch.trust)
            # Plain pickling copies tensors; what connections do by themselves would share their memory.
            loader = f"{__name__}:open_torch"
            options["packed"] = pickle.dumps((given, self.model.inputs, self.model.outputs))
        return ChildModel(loader, str(self.artifact), self.running.limits or Limits(), setting.environment, options)


def _check_onednn(model: ChildModel, setting: Setting) -> None:
    if setting.onednn is None or model.machine().onednn == setting.onednn:
        return
    model.close()
    raise NotShown(f"this build of TensorFlow does not turn oneDNN {'on' if setting.onednn else 'off'}")


def open_tensorflow(
    path: str,
    *,
    role: Role,
    signature: str | None = None,
    trust: bool = False,
    grappler: bool = True,
    xla: bool = False,
) -> Model:
    """Open a TensorFlow model in a child, by the same steps as in the parent, so that names are the same."""
    if not grappler:
        turn_off_grappler()
    options = Options(signature=signature, trust=trust)
    model = as_source(path, options).executions[0] if role == "source" else as_target(path, options)
    return model.compiled() if xla and isinstance(model, FunctionModel) else model


def open_torch(path: str, *, packed: bytes) -> Model:
    """Open a PyTorch module in a child: to run it nothing has to be exported."""
    options, inputs, outputs = pickle.loads(packed)
    opened = open_source(path, options)
    call = make_call(opened.module, opened.example)
    return TorchModel(functools.partial(run_eager, opened.module, call), inputs, outputs)
