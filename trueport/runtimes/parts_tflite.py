"""Parts of TFLite files: the operators between some tensors and another, in a file of the same form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueport.lazy import LazyModule

__all__ = ["count_nodes", "run_part", "write_part"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")
_schema: Any = LazyModule("tensorflow.lite.python.schema_py_generated", "TensorFlow", "tensorflow")
_flatbuffers: Any = LazyModule("flatbuffers", "flatbuffers", "tensorflow")
_MAGIC = b"TFL3"


def write_part(content: bytes, given: Sequence[int], wanted: int, place: Path) -> None:
    """The main graph's operators that make ``wanted`` out of tensors by number, and the weights they use."""
    model = _schema.ModelT.InitFromPackedBuf(bytearray(content), 0)
    graph = model.subgraphs[0]
    made = {int(tensor): op for op in graph.operators for tensor in op.outputs}
    needed: set[int] = set()
    waiting = [wanted]
    while waiting:
        tensor = waiting.pop()
        if tensor in needed or tensor < 0:
            continue
        needed.add(tensor)
        if tensor not in given and tensor in made:
            waiting += [int(used) for used in made[tensor].inputs]
    kept = [op for op in graph.operators if needed & {int(t) for t in op.outputs} - set(given)]
    graph.operators = kept
    graph.inputs, graph.outputs = list(given), [wanted]
    model.signatureDefs, model.metadata, model.metadataBuffer = [], [], []
    _drop_buffers(model, needed)
    builder = _flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), _MAGIC)
    place.write_bytes(bytes(builder.Output()))


def _drop_buffers(model: Any, needed: set[int]) -> None:
    """Weights of tensors that the part does not use hold nothing; numbers of buffers stay."""
    used = {model.subgraphs[0].tensors[tensor].buffer for tensor in needed}
    used |= {tensor.buffer for graph in model.subgraphs[1:] for tensor in graph.tensors}
    for index, buffer in enumerate(model.buffers):
        if index not in used:
            buffer.data = None


def run_part(place: Path, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The part's result; inputs in the order in which it was cut."""
    interpreter = tf.lite.Interpreter(model_path=str(place))
    for details, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.resize_tensor_input(details["index"], list(array.shape))
    interpreter.allocate_tensors()
    for details, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(details["index"], array)
    interpreter.invoke()
    return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


def count_nodes(place: Path) -> int:
    """Operators of the main graph."""
    return len(_schema.ModelT.InitFromPackedBuf(bytearray(place.read_bytes()), 0).subgraphs[0].operators)
