"""A PyTorch module or exported program: a file, a factory's name, or an object in memory."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from trueport.drawing.graph import Graph
from trueport.drawing.torch import torch_graph
from trueport.frontends.onnx.describe import describe
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.registry import registry
from trueport.frontends.torch.source.call import make_call
from trueport.frontends.torch.source.capture import TorchCaptured, capture_torch
from trueport.frontends.torch.source.resolve import TorchOptions, open_source
from trueport.frontends.torch.source.run import run_eager, run_inner
from trueport.frontends.torch.source.tied_outputs import unspecified_choices
from trueport.frontends.torch.source.user_lines import line_of
from trueport.frontends.torch.translate.program import Translated, translate
from trueport.mapping.registry import Registry
from trueport.mapping.user import with_user_ops
from trueport.passes.from_exporter import settle
from trueport.reference.base import Oracle
from trueport.reference.torch.oracle import TorchOracle
from trueport.report.artifacts import describe_artifact
from trueport.runtimes.base import Model
from trueport.runtimes.settings import Setting
from trueport.runtimes.torch import TorchModel
from trueport.sources.facts import border, quantizing
from trueport.sources.forms import is_exported, is_factory
from trueport.sources.isolated import child
from trueport.stages import Plan, Program, Source
from trueport.verifying.inputs.plan import make_inputs

__all__ = ["TorchSource", "open_in_child"]


class TorchSource(Source):
    """Captured with torch.export, translated with PyTorch's exporter and our own table; each once."""

    form: ClassVar[str] = "pytorch"
    Options: ClassVar[type[Any]] = TorchOptions

    @property
    def name(self) -> str:
        return str(self.artifact) if isinstance(self.artifact, (str, Path)) else "the module"

    @functools.cached_property
    def captured(self) -> TorchCaptured:
        """The module, its call, and its program."""
        return capture_torch(_file_or_name(self.artifact), self.options)

    @functools.cached_property
    def registry(self) -> Registry:
        """Declarations of PyTorch's operators, a user's own before them."""
        return with_user_ops(registry(), self.ops)

    @functools.cached_property
    def translated(self) -> Translated:
        """The graph of ONNX operators; nobody changes it."""
        found = translate(self.captured, self.registry)
        settle(found.model)
        return found

    def to_ir(self) -> Program:
        captured, translated = self.captured, self.translated
        return Program(
            self.name,
            translated.model,
            captured.inputs,
            captured.outputs,
            translated.findings,
            (*captured.losses, *translated.losses),
            described=describe(translated.model),
            captured_by=captured.strategy,
        )

    def runs(self) -> Sequence[Model]:
        return [self.deployed()]

    def deployed(self, *, exact_sums: bool = False, **settings: Any) -> Model:
        captured = self.captured
        program = self.translated.program if "translated" in vars(self) else None
        inner = functools.partial(run_inner, program, captured.call) if program else None
        bounds = {(dim.input, dim.axis): (dim.low, dim.high) for dim in captured.dims}
        eager = functools.partial(run_eager, captured.module, captured.call)
        choices = functools.partial(unspecified_choices, captured.module, captured.call)
        return TorchModel(eager, captured.inputs, captured.outputs, inner, bounds, choices=choices)

    def reopened(self, setting: Setting, model: Model, *, as_source: bool) -> Model:
        given = TorchOptions(self.options.example_inputs, trust=self.options.trust)
        # Plain pickling copies tensors; what connections do by themselves would share their memory.
        packed = pickle.dumps((given, model.inputs, model.outputs))
        loader = f"{__name__}:{open_in_child.__name__}"
        return child(self, loader, setting.environment, {**setting.options, "packed": packed})

    def reference(self) -> Oracle:
        return TorchOracle(self.captured, lambda: self.translated)

    def draw(self) -> Graph:
        return self._drawn(self.captured.program)

    def redrawn(self, drawn: Graph, plan: Plan) -> Graph:
        """The program as the exporter takes it apart: the nodes that those of the target go back to."""
        return self._drawn(self.translated.program) if self.translated.program is not None else drawn

    def _drawn(self, program: Any) -> Graph:
        if program is None:  # TorchScript
            self.refuse("drawn")
        return torch_graph(program, line_of, [port.name for port in self.captured.outputs])

    def weights(self) -> Mapping[str, Callable[[], np.ndarray]]:
        held = self.captured.module.state_dict()
        return {name: functools.partial(_array, tensor) for name, tensor in held.items()}

    def facts(self) -> Mapping[str, Any]:
        captured = self.captured
        described: dict[str, Any] = {"format": "PyTorch", **border(captured.inputs, captured.outputs)}
        held = captured.module.state_dict().values()
        described["parameters"] = sum(tensor.numel() for tensor in held)
        if captured.program is None:
            return described
        operators = describe_artifact(self.draw(), self.name, None).operators
        return {**described, "quantization": quantizing(operators), "operators": dict(operators)}

    @property
    def needs_example(self) -> bool:
        return self.options.example_inputs is None and not is_exported(self.artifact)

    def with_example(self, other: Model) -> TorchSource:
        if not self.needs_example:
            return self
        values = make_inputs(other.inputs, samples=2)[-1].values()
        example = tuple(torch.from_numpy(value) for value in values)
        dims = [
            {axis: dim for axis, dim in enumerate(port.shape or ()) if isinstance(dim, str)} or None
            for port in other.inputs
        ]
        given = self.options.dynamic_shapes
        options = replace(self.options, example_inputs=example, dynamic_shapes=dims if given is None else given)
        return TorchSource(self.artifact, self.ops, options, self.limits)


def _file_or_name(artifact: Any) -> Any:
    """Return a path for a file, a text for a factory, and an object as it is."""
    if not isinstance(artifact, (str, Path)):
        return artifact
    return str(artifact) if is_factory(artifact) else Path(artifact)


def _array(tensor: Any) -> np.ndarray:
    found: np.ndarray = tensor.detach().cpu().numpy()
    return found


def open_in_child(path: str, *, packed: bytes) -> Model:
    """Open a PyTorch module in a child: to run it nothing has to be exported."""
    options, inputs, outputs = pickle.loads(packed)
    opened = open_source(_file_or_name(path), options)
    call = make_call(opened.module, opened.example)
    return TorchModel(functools.partial(run_eager, opened.module, call), inputs, outputs)
