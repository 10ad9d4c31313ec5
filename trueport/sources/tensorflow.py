"""A TensorFlow or Keras model: a folder, a file, or an object in memory."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx_ir as ir

from trueport.consent.keras_files import KerasFile
from trueport.drawing.graph import Graph
from trueport.drawing.tensorflow import tensorflow_constants, tensorflow_graph
from trueport.errors import InvalidModel, UsageError
from trueport.frontends.tensorflow.registry import registry
from trueport.frontends.tensorflow.source.capture import Captured
from trueport.frontends.tensorflow.source.resolve import Options as TensorflowOptions
from trueport.frontends.tensorflow.source.resolve import (
    capture_graph_file,
    capture_keras_file,
    capture_meta_graph,
    capture_object,
    capture_saved_model,
)
from trueport.frontends.tensorflow.source.state import keeping_state
from trueport.frontends.tensorflow.translate.model import load_captured
from trueport.ir.artifact import ArtifactMap
from trueport.mapping.registry import Registry
from trueport.mapping.user import with_user_ops
from trueport.passes.to_onnx import arrange_for_onnx
from trueport.reference.base import Oracle
from trueport.reference.tensorflow.oracle import TensorflowOracle
from trueport.report.artifacts import describe_artifact
from trueport.requirements import require_to_inspect
from trueport.runtimes.base import Model
from trueport.runtimes.child import Limits
from trueport.runtimes.settings import Setting
from trueport.runtimes.tensorflow import FunctionModel, SavedModel, turn_off_grappler
from trueport.sources.facts import border, quantizing
from trueport.sources.forms import kind_of_tensorflow_file
from trueport.sources.isolated import child, in_child
from trueport.stages import Ops, Program, Source

__all__ = ["TensorflowSource", "open_in_child"]


class TensorflowSource(Source):
    """Traced once, as one function with flat inputs and outputs."""

    form: ClassVar[str] = "tensorflow"
    Options: ClassVar[type[Any]] = TensorflowOptions

    def __init__(self, artifact: Any, ops: Ops, options: TensorflowOptions, limits: Limits | None = None) -> None:
        super().__init__(artifact, ops, options, limits)
        domain = options.custom_domain
        if domain is not None and (not domain or domain.startswith("ai.onnx")):
            raise UsageError(
                f"{domain!r} is ONNX's own", where="custom_domain", remedy='name a domain of yours, like "com.acme"'
            )

    @functools.cached_property
    def captured(self) -> Captured:
        """The source's function."""
        if not self._is_file:
            return capture_object(self.artifact, self.options)
        path = Path(self.artifact)
        if not path.exists():
            raise InvalidModel("there is no such file or folder", where=str(path))
        if self._kind in ("keras_archive", "hdf5"):
            return capture_keras_file(KerasFile(path, self._kind == "keras_archive"), self.options)
        return _CAPTURES[self._kind](path, self.options)

    @functools.cached_property
    def registry(self) -> Registry:
        """Declarations of TensorFlow's operators, a user's own before them."""
        return with_user_ops(registry(), self.ops)

    def to_ir(self) -> Program:
        captured, options = self.captured, self.options
        loaded = load_captured(
            captured, self.registry, extensions=options.extensions, custom_domain=options.custom_domain
        )
        optimizer = getattr(captured.held, "optimizer", None)
        program = Program(
            self.name,
            loaded.model,
            captured.inputs,
            captured.outputs,
            loaded.findings,
            loaded.losses,
            {port.name: port.shape for port in captured.outputs},
            described={} if optimizer is None else {"optimizer": type(optimizer).__name__},
            foreign_domain=options.custom_domain or "",
        )
        if program.is_whole:
            arrange_for_onnx(program.model)
        return program

    def runs(self) -> Sequence[Model]:
        captured = self.captured
        return [FunctionModel(keeping_state(captured.function), captured.function, self._border)]

    def deployed(self, *, exact_sums: bool = False, **settings: Any) -> Model:
        if self.limits is not None:
            return in_child(self, **self._settings, **settings)
        if self._kind == "saved_model":
            return SavedModel(Path(self.artifact), **self._settings, **settings)
        made = getattr(self.artifact, "artifact_map", None)
        if isinstance(made, ArtifactMap):  # a module that Trueport made, and that has no signatures yet
            function = vars(self.artifact)["__call__"]
            return FunctionModel(function, function, made, self.artifact)
        return FunctionModel(self.captured.function, self.captured.function, self._border)

    def reopened(self, setting: Setting, model: Model, *, as_source: bool) -> Model:
        if setting.needs_process or self.limits is not None:
            settings = {**setting.options, **self._settings, "as_source": as_source}
            return child(self, f"{__name__}:{open_in_child.__name__}", setting.environment, settings)
        assert isinstance(model, FunctionModel)
        return model.compiled()

    def reference(self) -> Oracle:
        return TensorflowOracle(self.captured, self.registry, self._part_in_onnx)

    def _part_in_onnx(self, part: Captured) -> ir.Model:
        return load_captured(part, self.registry).model

    def draw(self) -> Graph:
        return tensorflow_graph(self.captured.graph, self.captured.outputs)

    def weights(self) -> Mapping[str, Callable[[], np.ndarray]]:
        return tensorflow_constants(self.captured.graph)

    def facts(self) -> Mapping[str, Any]:
        stored = ArtifactMap.read(Path(self.artifact)) if self._kind == "saved_model" else None
        if stored is None:  # what Trueport wrote is told from its own file
            require_to_inspect("tensorflow")
        if self._kind == "saved_model":
            return self._facts_of_folder(Path(self.artifact), stored)
        captured = self.captured
        own = ([replace(port, parts=(port.name,)) for port in ports] for ports in (captured.inputs, captured.outputs))
        if self._kind not in ("keras_archive", "hdf5"):
            return {"format": "TensorFlow", **border(*own), **self._facts_of_graph()}
        return {
            "format": "Keras",
            **border(*own),
            "bytes": Path(self.artifact).stat().st_size,
            "parameters": sum(math.prod(weight.shape) for weight in captured.held.weights),
            "layers": dict(Counter(type(layer).__name__ for layer in captured.held.layers).most_common()),
        }

    def _facts_of_folder(self, path: Path, found: ArtifactMap | None) -> dict[str, Any]:
        stored = {"bytes": sum(file.stat().st_size for file in (path / "variables").glob("variables.data*"))}
        if found is None:
            loaded = SavedModel(path, trust=self.options.trust)
            named = border(loaded.inputs, loaded.outputs)
            return {"format": "SavedModel", **named, **stored, **self._facts_of_graph()}
        return {
            "format": "SavedModel by Trueport",
            **border(found.inputs, found.outputs),
            "weights": len(found.weights),
            **stored,
            "source": {key: found.source.get(key) for key in ("opsets", "producer", "metadata", "doc")},
        }

    def _facts_of_graph(self) -> dict[str, Any]:
        found = describe_artifact(self.draw(), self.name, None)
        return {
            "parameters": found.parameters,
            "quantization": quantizing(found.operators),
            "operators": dict(found.operators),
        }

    @property
    def _border(self) -> ArtifactMap:
        return ArtifactMap(self.captured.inputs, self.captured.outputs)

    @property
    def _settings(self) -> dict[str, Any]:
        """How the artifact is opened again."""
        named = {} if self.options.signature is None else {"signature": self.options.signature}
        return {**named, "trust": self.options.trust}

    @property
    def _is_file(self) -> bool:
        return isinstance(self.artifact, (str, Path))

    @property
    def _kind(self) -> str:
        return kind_of_tensorflow_file(Path(self.artifact)) if self._is_file else ""


_CAPTURES: Mapping[str, Callable[[Path, TensorflowOptions], Captured]] = {
    "meta_graph": capture_meta_graph,
    "graph": capture_graph_file,
    "saved_model": capture_saved_model,
}


def open_in_child(
    path: str,
    *,
    as_source: bool,
    signature: str | None = None,
    trust: bool = False,
    grappler: bool = True,
    xla: bool = False,
) -> Model:
    """Open a model in a child, by the same steps as in the parent, so that names are the same."""
    if not grappler:
        turn_off_grappler()
    source = TensorflowSource(path, (), TensorflowOptions(signature=signature, trust=trust))
    model = source.runs()[0] if as_source else source.deployed()
    return model.compiled() if xla and isinstance(model, FunctionModel) else model
