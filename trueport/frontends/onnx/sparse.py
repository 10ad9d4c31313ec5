"""Sparse tensors that a model holds are made dense: the IR has no sparse ones, and they mean the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from trueport.errors import InvalidModel
from trueport.ir.external import embed_external_data
from trueport.quoting import plain_text

__all__ = ["densified"]

_ALWAYS_RIGHT = 2**26
"""Bytes of a dense tensor; how few values a small one has does not matter."""
_RATIO = 1000


def densified(proto: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """The model itself if it holds nothing sparse, else a copy without; its external data is in ``folder``."""
    if not any(_sparse_places(proto)):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for place in _sparse_places(copy):
        if isinstance(place, onnx.AttributeProto):
            place.t.CopyFrom(_dense(place.sparse_tensor, "", folder))
            place.name, place.type = "value", onnx.AttributeProto.TENSOR
            place.ClearField("sparse_tensor")
        else:
            place.initializer.extend(_dense(sparse, sparse.values.name, folder) for sparse in place.sparse_initializer)
            place.ClearField("sparse_initializer")
    return copy


def _sparse_places(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto | onnx.AttributeProto]:
    """Graphs with sparse initializers, and Constant's sparse attributes."""
    yield from _in_graph(proto.graph)
    for function in proto.functions:
        yield from _in_nodes(function.node)


def _in_graph(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto | onnx.AttributeProto]:
    if graph.sparse_initializer:
        yield graph
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Iterator[onnx.NodeProto]) -> Iterator[onnx.GraphProto | onnx.AttributeProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.SPARSE_TENSOR and node.op_type == "Constant":
                yield attribute
            for graph in (attribute.g, *attribute.graphs):
                yield from _in_graph(graph)


def _dense(sparse: onnx.SparseTensorProto, name: str, folder: Path) -> onnx.TensorProto:
    """Indices are linear, or one row of coordinates per value."""
    embed_external_data((sparse.values, sparse.indices), folder)
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    dims = tuple(sparse.dims)
    whole = math.prod(dims) * max(1, values.itemsize)
    if whole > max(_ALWAYS_RIGHT, _RATIO * (values.nbytes + indices.nbytes)):
        raise InvalidModel(
            f"{values.size} values in a sparse tensor of {list(dims)} would take {whole} bytes when it is made dense",
            where=f"sparse tensor {name!r}",
            remedy="store the tensor dense",
        )
    try:
        array = np.zeros(dims, values.dtype)
        linear = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dims)
        array.reshape(-1)[linear] = values
    except (ValueError, IndexError) as error:
        raise InvalidModel(
            f"its values and indices do not fit its dims {list(dims)}: {plain_text(error)}",
            where=f"sparse tensor {name!r}",
            remedy="export the model again",
        ) from error
    return numpy_helper.from_array(array, name)
