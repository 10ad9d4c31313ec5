"""Graphs of TensorFlow 1 for tests: built with its control flow, run by a session, converted to ONNX, compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import tensorflow as tf
from tensorflow.python.ops import control_flow_util

from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.fidelity import Verdict
from trueport.pipeline import convert_file
from trueport.verifying.judge.budget import allowed_ulps
from trueport.verifying.judge.summed_bounds import compare_outputs

__all__ = ["Built", "agrees", "build", "old_control_flow", "operators"]

v1 = tf.compat.v1
Arrays = Mapping[str, np.ndarray]


@contextmanager
def old_control_flow() -> Iterator[None]:
    """Build Switch, Merge and Enter in the place of If and While."""
    before = control_flow_util.ENABLE_CONTROL_FLOW_V2
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = False
    try:
        yield
    finally:
        control_flow_util.ENABLE_CONTROL_FLOW_V2 = before


class Built:
    """A graph with its session: what it computes, and its frozen and saved forms."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self.graph = tf.Graph()
        with old_control_flow(), self.graph.as_default():
            self.outputs = [
                tf.identity(tensor, name=f"result_{n}") for n, tensor in enumerate(tf.nest.flatten(build()))
            ]
            self.session = v1.Session(graph=self.graph)
            self.session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        self.inputs = [
            operation.outputs[0] for operation in self.graph.get_operations() if operation.type == "Placeholder"
        ]

    def run(self, feeds: Arrays) -> list[np.ndarray]:
        return list(self.session.run(self.outputs, {f"{name}:0": array for name, array in feeds.items()}))

    def frozen(self) -> Any:
        names = [tensor.op.name for tensor in self.outputs]
        return v1.graph_util.convert_variables_to_constants(self.session, self.graph.as_graph_def(), names)

    def save(self, folder: Path) -> Path:
        with self.graph.as_default():
            v1.saved_model.simple_save(
                self.session,
                str(folder),
                {tensor.op.name: tensor for tensor in self.inputs},
                {tensor.op.name: tensor for tensor in self.outputs},
                legacy_init_op=v1.tables_initializer(),
            )
        return folder


def build(make: Callable[[], Any]) -> Built:
    """The graph that ``make`` adds its operations to."""
    return Built(make)


def agrees(source: Any, want: Sequence[tuple[Arrays, Sequence[np.ndarray]]], folder: Path, **options: Any) -> Any:
    """Convert to a file, run it by ONNX Runtime as it is by default, and compare with the expected outputs."""
    path = folder / "converted.onnx"
    convert_file(source, path, verify=False, **options)
    model = onnx.load(path)
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    allowed = allowed_ulps(ir.from_proto(model), onnx_operators())
    for feeds, expected in want:
        got = session.run(None, dict(feeds))
        assert len(got) == len(expected)
        for value, output, info in zip(expected, got, session.get_outputs(), strict=True):
            result = compare_outputs(info.name, _text(value), output, allowed)
            assert result.verdict == Verdict.FAITHFUL, f"{result}\nwant {value}\ngot {output}"
    return model


def operators(model: onnx.ModelProto) -> list[str]:
    """Operators of all nodes, those of inner graphs included."""
    return [node.op_type for node in ir.from_proto(model).graph.all_nodes()]


def _text(array: Any) -> np.ndarray:
    found = np.asarray(array)
    if found.dtype.kind not in "OS":
        return found
    flat = np.empty(found.size, object)
    flat[:] = [item.decode() if isinstance(item, bytes) else item for item in found.ravel()]
    return flat.reshape(found.shape)
