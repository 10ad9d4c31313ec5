"""Parts of TFLite files: the operators between given tensors and one that is asked for, as a file of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueport.quiet import framework_warnings_hidden, tensorflow_lines_hidden
from trueport.runtimes.lite import MAGIC, flatbuffer_utilities, interpreter_class

__all__ = ["count_nodes", "is_part", "run_part", "write_part"]

_ABSENT = -1
"""Stands for an optional input that is left out."""


def is_part(place: Path) -> bool:
    """True for a TFLite file, by its content."""
    with place.open("rb") as file:
        return file.read(8)[4:] == MAGIC


def write_part(
    content: bytes, given: Mapping[int, np.ndarray], known: Mapping[int, np.ndarray], wanted: int, place: Path
) -> None:
    """``given``: what the part takes, by indices of tensors; ``known``: inputs of the model, which become constants."""
    utils = flatbuffer_utilities()
    model = utils.convert_bytearray_to_object(content)
    graph = model.subgraphs[0]
    graph.operators = _needed(graph, wanted, given)
    used = {index for operator in graph.operators for index in operator.inputs if index != _ABSENT}
    graph.inputs = [index for index in given if index in used or index == wanted]
    graph.outputs = [wanted]
    for index, array in given.items():
        graph.tensors[index].shape, graph.tensors[index].shapeSignature = list(array.shape), None
    for index in used & set(known) - set(given):
        graph.tensors[index].shape, graph.tensors[index].shapeSignature = list(known[index].shape), None
        graph.tensors[index].buffer = len(model.buffers)
        model.buffers.append(_buffer(known[index]))
    _drop_tensors(graph)
    _drop_the_rest(model)
    place.write_bytes(bytes(utils.convert_object_to_bytearray(model)))


def _needed(graph: Any, wanted: int, given: Mapping[int, Any]) -> list[Any]:
    """Operators that make a tensor out of given ones, in their order."""
    makers = {int(index): operator for operator in graph.operators for index in operator.outputs}
    waiting, seen = [wanted], set(given)
    found: set[int] = set()
    while waiting:
        index = waiting.pop()
        if index in seen or index not in makers:
            continue
        seen.update(makers[index].outputs)
        found.add(id(makers[index]))
        waiting += [int(used) for used in makers[index].inputs if used != _ABSENT]
    return [operator for operator in graph.operators if id(operator) in found]


def _drop_tensors(graph: Any) -> None:
    """Keep what the operators and the border name, under new numbers."""
    kept = sorted({*graph.inputs, *graph.outputs, *(index for o in graph.operators for index in _mentioned(o))})
    place = {index: number for number, index in enumerate(kept)} | {_ABSENT: _ABSENT}
    graph.tensors = [graph.tensors[index] for index in kept]
    graph.inputs, graph.outputs = ([place[int(i)] for i in listed] for listed in (graph.inputs, graph.outputs))
    for operator in graph.operators:
        for name in ("inputs", "outputs", "intermediates"):
            listed = getattr(operator, name)
            setattr(operator, name, None if listed is None else [place[int(index)] for index in listed])


def _mentioned(operator: Any) -> Iterator[int]:
    for listed in (operator.inputs, operator.outputs, operator.intermediates):
        yield from (int(index) for index in (() if listed is None else listed) if index != _ABSENT)


def _drop_the_rest(model: Any) -> None:
    """Other weights, and notes on where the model comes from; other graphs stay where an operator may call them."""
    schema = flatbuffer_utilities().schema_fb
    calls = any(operator.builtinOptionsType in _calling(schema) for operator in model.subgraphs[0].operators)
    model.subgraphs = model.subgraphs if calls else model.subgraphs[:1]
    used = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    model.buffers = [buffer if n in used else schema.BufferT() for n, buffer in enumerate(model.buffers)]
    model.metadata = model.metadataBuffer = model.signatureDefs = None
    model.description = b""


def _calling(schema: Any) -> set[int]:
    options = schema.BuiltinOptions
    return {options.IfOptions, options.WhileOptions, options.CallOptions, options.CallOnceOptions}


def _buffer(array: np.ndarray) -> Any:
    made = flatbuffer_utilities().schema_fb.BufferT()
    made.data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    return made


def run_part(place: Path, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """The part's result on inputs by their names."""
    # It announces that it will move to another package one day, and which kernels it has chosen.
    with tensorflow_lines_hidden(), framework_warnings_hidden("tensorflow"):
        interpreter = interpreter_class()(str(place))
        details = interpreter.get_input_details()
        for one in details:
            interpreter.resize_tensor_input(one["index"], inputs[one["name"]].shape)
        interpreter.allocate_tensors()
    for one in details:
        interpreter.set_tensor(one["index"], inputs[one["name"]])
    interpreter.invoke()
    return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


def count_nodes(place: Path) -> int:
    """Its operators."""
    return len(flatbuffer_utilities().read_model(str(place)).subgraphs[0].operators)
