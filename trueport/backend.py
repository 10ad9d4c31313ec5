"""ONNX's backend interface on TensorFlow: for those who come from onnx-tf.

from trueport.backend import prepare
prepare(onnx_model).run(x)
prepare(onnx_model).export_graph("saved_model")
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx.backend.base import Backend, BackendRep

from trueport.errors import InvalidInput, UsageError
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.pipeline import Conversion, convert

__all__ = ["TensorFlowBackend", "TensorFlowRep", "prepare", "run_model", "run_node", "supports_device"]


class TensorFlowRep(BackendRep):
    """A prepared model."""

    def __init__(self, conversion: Conversion) -> None:
        built = conversion.built
        self.conversion = conversion
        self.inputs = [port.name for port in built.inputs]
        self.outputs = [port.name for port in built.outputs]
        self._model = built.run()
        self._results = namedtuple("Outputs", self.outputs, rename=True)  # type: ignore[misc]

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """Run with one array, a list in the order of the inputs, or a dict by name.

        The result is a tuple with the outputs' names as attributes where Python can hold them.
        """
        results = self._model.run(self._feeds(inputs))
        return self._results(*(results[name] for name in self.outputs))

    def export_graph(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a SavedModel."""
        return self.conversion.save(path, overwrite=overwrite)

    def _feeds(self, inputs: Any) -> Mapping[str, Any]:
        if isinstance(inputs, Mapping):
            return inputs
        listed = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(listed) > len(self.inputs):
            raise InvalidInput(f"{len(listed)} inputs were given, the model has {len(self.inputs)}: {self.inputs}")
        return dict(zip(self.inputs, listed, strict=False))


class TensorFlowBackend(Backend):
    """``onnx.backend.base.Backend`` on TensorFlow."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> TensorFlowRep:
        """Convert a model for running."""
        if not cls.supports_device(device):
            raise UsageError(f"there is no device {device!r} here", remedy="TensorFlow places operations itself: CPU")
        return TensorFlowRep(convert(model, "tensorflow", verify=False))

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **_: Any,
    ) -> tuple[Any, ...]:
        """Run a single node of the newest opset on arrays, given by position (None for one that is left out)."""
        values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        given = {name: value for name, value in zip(node.input, values, strict=True) if name}
        declared = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in given.items()
        ]
        made = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        opsets = [onnx.helper.make_opsetid(node.domain, 1)] if node.domain else []
        opsets.append(onnx.helper.make_opsetid("", CANONICAL_OPSETS[""]))
        graph = onnx.helper.make_graph([node], "node", declared, made)
        model = onnx.shape_inference.infer_shapes(onnx.helper.make_model(graph, opset_imports=opsets))
        return cls.prepare(model, device).run(given)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """TensorFlow's own placement is used; the interface's CUDA is not offered."""
        return device == "CPU"


prepare = TensorFlowBackend.prepare
run_model = TensorFlowBackend.run_model
run_node = TensorFlowBackend.run_node
supports_device = TensorFlowBackend.supports_device
