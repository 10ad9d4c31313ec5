"""Models as the comparison of graphs takes them: ONNX files and SavedModels, weights read one at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx_ir as ir

from trueport.errors import UsageError
from trueport.frontends.onnx.load import load_onnx
from trueport.frontends.tensorflow.sources import Options, capture_source, is_tensorflow
from trueport.report.diff import Difference, Weights, compare_models
from trueport.report.graphs import Graph, onnx_graph
from trueport.report.graphs_tensorflow import tensorflow_constants, tensorflow_graph
from trueport.requirements import require_for_check

__all__ = ["diff_files"]


def diff_files(first: Path, second: Path, *, signature: str | None = None, trust: bool = False) -> Difference:
    """What differs between two ONNX files, or between two models of TensorFlow."""
    kinds = ["TensorFlow" if is_tensorflow(path) else "ONNX" for path in (first, second)]
    if kinds[0] != kinds[1]:
        raise UsageError(
            f"one is of {kinds[0]}, the other of {kinds[1]}: their graphs have no operators in common",
            where=f"{first} and {second}",
            remedy="trueport verify compares their numbers",
        )
    require_for_check("tensorflow" if kinds[0] == "TensorFlow" else "onnx")
    options = Options(signature=signature, trust=trust)
    read = _tensorflow if kinds[0] == "TensorFlow" else _onnx
    return compare_models((str(first), *read(first, options)), (str(second), *read(second, options)))


def _onnx(path: Path, options: Options) -> tuple[Graph, Weights]:
    if options.signature is not None:
        raise UsageError("an ONNX model has no signatures", where="--signature")
    model = load_onnx(path)
    found = {name: value.const_value for name, value in model.graph.initializers.items() if value.const_value}
    for node in model.graph:
        if node.op_type == "Constant" and "value" in node.attributes and node.outputs[0].name:
            found[node.outputs[0].name] = node.attributes["value"].as_tensor()
    return onnx_graph(model), {name: _reader(tensor) for name, tensor in found.items()}


def _reader(tensor: ir.TensorProtocol) -> Callable[[], np.ndarray]:
    return lambda: tensor.numpy()


def _tensorflow(path: Path, options: Options) -> tuple[Graph, Weights]:
    captured = capture_source(path, options)
    return tensorflow_graph(captured.graph, captured.outputs), tensorflow_constants(captured.graph)
