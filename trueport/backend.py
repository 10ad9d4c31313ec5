"""ONNX's backend interface on TensorFlow: for those who come from onnx-tf.

    from trueport.backend import prepare
    prepare(onnx_model).run(x)
    prepare(onnx_model).export_graph("saved_model")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx.backend.base import Backend, BackendRep

from trueport.backends.tensorflow.module import Built, build_module
from trueport.backends.tensorflow.registry import registry
from trueport.errors import InvalidInput, Unsupported
from trueport.fidelity import UNSUPPORTED
from trueport.ir.maps import from_proto
from trueport.ir.ports import pack, unpack
from trueport.passes.pipeline import canonicalize

__all__ = ["TensorFlowBackend", "TensorFlowRep", "prepare", "run_model", "run_node", "supports_device"]


class TensorFlowRep(BackendRep):
    """A prepared model."""

    def __init__(self, built: Built) -> None:
        self._built = built

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """Run with one array, a list in the order of the inputs, or a dict by name."""
        feeds = self._feeds(inputs)
        parts = {}
        for port in self._built.inputs:
            parts.update(pack(port, feeds[port.name]))
        results = {name: value.numpy() for name, value in self._built.module(**parts).items()}
        return tuple(unpack(port, results) for port in self._built.outputs)

    def _feeds(self, inputs: Any) -> Mapping[str, Any]:
        names = [port.name for port in self._built.inputs]
        if isinstance(inputs, Mapping):
            given: Mapping[str, Any] = inputs
        else:
            listed = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
            if len(listed) > len(names):
                raise InvalidInput(f"{len(listed)} inputs were given, the model has {len(names)}: {names}")
            given = dict(zip(names, listed, strict=False))
        missing = [name for name in names if name not in given]
        if missing:
            raise InvalidInput(f"input {missing[0]!r} is missing", remedy=f"the model's inputs: {names}")
        return given


class TensorFlowBackend(Backend):
    """``onnx.backend.base.Backend`` on TensorFlow."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> TensorFlowRep:
        """Convert a model for running."""
        loaded = from_proto(model)
        canonicalize(loaded, registry())
        findings = [registry().assess(node) for node in loaded.graph.all_nodes()]
        refused = [finding for finding in findings if finding.fidelity == UNSUPPORTED]
        if refused:
            raise Unsupported(refused)
        return TensorFlowRep(build_module(loaded, registry()))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"


prepare = TensorFlowBackend.prepare
run_model = TensorFlowBackend.run_model
run_node = TensorFlowBackend.run_node
supports_device = TensorFlowBackend.supports_device
