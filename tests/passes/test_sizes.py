"""Sizes that are found while running are known as such, through shapes, branches and loops."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

from trueport.backends.tensorflow.registry import registry
from trueport.frontends.onnx.load import load_onnx
from trueport.passes.canonical import canonicalize
from trueport.passes.sizes import SIZED_BY_DATA
from trueport.passes.to_tensorflow import arrange_for_tensorflow

HEAD = '<ir_version: 8, opset_import: ["" : 17]> '


def marked(text: str) -> list[bool]:
    model = load_onnx(onnx.parser.parse_model(HEAD + text))
    canonicalize(model)
    arrange_for_tensorflow(model, registry())
    return [bool(node.meta.get(SIZED_BY_DATA)) for graph in model.graphs() for node in graph if node.op_type == "Conv"]


@pytest.mark.parametrize("batch", ["N", "2", "?"])
def test_a_batch_that_the_caller_gives(batch: str) -> None:
    graph = f"g (float[{batch},3,8,8] x, float[4,3,3,3] w) => (float[A,4,6,6] y) {{ r = Relu(x) y = Conv(r, w) }}"
    assert marked(graph) == [False]


def test_rows_that_pass_a_test() -> None:
    graph = """g (float[N,3,8,8] x, bool[N] keep, float[4,3,3,3] w) => (float[A,4,6,6] y, float[B,4,6,6] z) {
        some = Compress<axis = 0>(x, keep)
        more = Relu(some)
        y = Conv(more, w)
        z = Conv(x, w)
    }"""
    assert marked(graph) == [True, False]


def test_inside_a_branch() -> None:
    graph = """g (float[N,3,8,8] x, bool[N] keep, bool c, float[4,3,3,3] w) => (float[A,4,6,6] y) {
        some = Compress<axis = 0>(x, keep)
        y = If(c) <then_branch = a () => (float[M,4,6,6] p) { p = Conv(some, w) },
                   else_branch = b () => (float[M,4,6,6] q) { q = Conv(x, w) }>
    }"""
    assert sorted(marked(graph)) == [False, True]
