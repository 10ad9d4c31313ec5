"""Nodes that XLA's automatic clustering would break carry the mark that keeps them out; others do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
import pytest

import trueport

KEPT_OUT = {
    "4-bit": "(int4[n] x) => (float[n] y) { y = Cast<to=1>(x) }",
    "computed axes": "(float[a,b] x, int64[1] k) => (float[c,d] y) { y = ReduceSum(x, k) }",
    "computed bounds": "(float[n] x, int64[1] k, int64[1] l) => (float[m] y) { y = Slice(x, k, l) }",
    "quantized": "(float[n] x, float s, uint8 z) => (uint8[n] y) { y = QuantizeLinear(x, s, z) }",
    "coordinates": "(float[1,1,h,w] x, float[1,2,2,2] g) => (float[1,1,2,2] y) { y = GridSample(x, g) }",
    "branch": '(float[1,1,h,w] x, float[4] s) => (float[1,1,a,b] y) { y = Resize<mode="nearest">(x, "", s) }',
    "strings": '(string[n] x) => (string[m] y) { y = StringNormalizer<stopwords=["a"]>(x) }',
}
COMPILED = {
    "arithmetic": "(float[n] x) => (float[n] y) { z = Add(x, x) y = Relu(z) }",
    "constant axes": "(float[a,b] x) => (float[a,1] y) { k = Constant<value_ints=[1]>() y = ReduceSum(x, k) }",
    "integers": "(int8[n] x) => (int8[n] y) { y = Add(x, x) }",
}
MOVES_NOTHING = {"Const", "Placeholder", "NoOp", "StatelessIf", "If"}
ARITHMETIC = {"AddV2", "Sub", "Mul", "RealDiv", "Floor", "Ceil"}
"""What must be kept out inside branches; the rest of a branch only hands values on."""


def operations(text: str) -> Iterator[Any]:
    """All operations of the converted model that compute something in a node's scope, those in branches included."""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> agraph {text}')
    graph = trueport.convert(model, to="tensorflow", verify=False).model.__call__.graph
    definition = graph.as_graph_def()
    yield from (node for node in definition.node if "/" in node.name and node.op not in MOVES_NOTHING)
    for function in definition.library.function:
        yield from (node for node in function.node_def if node.op in ARITHMETIC)


def is_kept_out(operation: Any) -> bool:
    return "_XlaCompile" in operation.attr and not operation.attr["_XlaCompile"].b


@pytest.mark.parametrize("text", KEPT_OUT.values(), ids=KEPT_OUT)
def test_kept_out(text: str) -> None:
    emitted = list(operations(text))
    assert emitted and all(map(is_kept_out, emitted))


@pytest.mark.parametrize("text", COMPILED.values(), ids=COMPILED)
def test_compiled(text: str) -> None:
    assert not any(map(is_kept_out, operations(text)))
