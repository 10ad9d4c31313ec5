"""Lists of passes: needs are checked when a list is built; what a pass says that it keeps is compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.passes.layouts import feeds_of
from tests.passes.run_models import run_ort
from trueport.backends.onnx.opset import passes_to_opset
from trueport.backends.tensorflow.registry import registry
from trueport.passes.canonical import CANONICALIZE, canonicalize, settle_defaults
from trueport.passes.from_exporter import SETTLE
from trueport.passes.pass_list import Fact, Kept, Pass, PassList
from trueport.passes.to_onnx import FOR_ONNX
from trueport.passes.to_tensorflow import passes_for_tensorflow
from trueport.runtimes.ort_kernels import cpu_kernels

_OPSET = 21
"""The models use no operator that has changed in more than its types since: ONNX Runtime runs them at this one."""

_IMAGES = """agraph (float[N,4,6,6] x) => (float[N,4] y, float[N,4,8,8] p) {
    p = Pad(x, pads)
    c = Conv<group=2>(p, k)
    n = BatchNormalization(c, four, four, four, four)
    d = Conv(n, k2)
    s = Add(d, b)
    i = Identity(s)
    r = Relu(i)
    y = ReduceMean<keepdims=0>(r, axes)
}"""
_TRANSPOSED = """agraph (float[N,6,6,4] x) => (float[N,4,4,4] y, float[3] t) {
    a = Transpose<perm=[0,3,1,2]>(x)
    c = Conv(a, k3)
    b = Transpose<perm=[0,2,3,1]>(c)
    y = Mul(b, two)
    t = Identity(three)
}"""
_SHAPES = """agraph (float[N,3,4] x) => (float[N,12] y, float[N,3,4] z, int64[3] s) {
    s = Shape(x)
    n = Gather(s, zero)
    m = Unsqueeze(n, axis0)
    t = Concat<axis=0>(m, rest)
    v = Reshape(x, flat)
    y = Reshape(v, t)
    u = Unsqueeze(x, axis0)
    q = Squeeze(u, axis0)
    a = Neg(x)
    b = Neg(x)
    d = Add(a, b)
    z = Add(q, d)
}"""
_DENSE = """agraph (float[2,3,4] x) => (float[2,3,5] y) {
    f = Reshape(x, rows)
    m = MatMul(f, w)
    d = Reshape(m, back)
    y = Softplus(d)
}"""
_BRANCHES = """agraph (float[N,3] x, bool c) => (float[N,3] y) {
    a = Dropout(x)
    y = If (c) <
        then_branch = then () => (float[N,3] t) { t = Neg(a) },
        else_branch = other () => (float[N,3] e) { k = Constant<value_float=2.0>()
            e = Mul(a, k) }
    >
}"""
_WEIGHTS: Mapping[str, np.ndarray] = {
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    "k": np.arange(4 * 2 * 3 * 3).reshape(4, 2, 3, 3).astype(np.float32) % 5 - 2,
    "k2": np.arange(16).reshape(4, 4, 1, 1).astype(np.float32) % 3 - 1,
    "k3": np.arange(4 * 4 * 9).reshape(4, 4, 3, 3).astype(np.float32) % 3 - 1,
    "four": np.ones(4, np.float32),
    "b": np.arange(4, dtype=np.float32).reshape(4, 1, 1),
    "axes": np.array([2, 3]),
    "two": np.float32(2),
    "three": np.arange(3, dtype=np.float32),
    "zero": np.array(0),
    "axis0": np.array([0]),
    "rest": np.array([-1]),
    "flat": np.array([-1]),
    "rows": np.array([-1, 4]),
    "back": np.array([2, 3, 5]),
    "w": np.arange(20, dtype=np.float32).reshape(4, 5),
}
MODELS = {"images": _IMAGES, "transposed": _TRANSPOSED, "shapes": _SHAPES, "dense": _DENSE, "branches": _BRANCHES}


def source(name: str) -> ir.Model:
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {_OPSET}]>\n{MODELS[name]}')
    made = {value for node in proto.graph.node for value in node.output}
    used = {value for node in proto.graph.node for value in node.input}
    for key in sorted((used - made) & set(_WEIGHTS)):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(_WEIGHTS[key]), key))
    return ir.from_proto(proto)


def signature(model: ir.Model) -> list[list[tuple[object, ...]]]:
    return [[(value.name, value.type) for value in values] for values in (model.graph.inputs, model.graph.outputs)]


def dtypes(model: ir.Model) -> dict[str | None, ir.DataType]:
    values = [*model.graph.inputs, *(value for node in model.graph for value in node.outputs)]
    return {value.name: value.dtype for value in values if value.dtype is not None}


def results(model: ir.Model) -> list[np.ndarray]:
    proto = ir.to_proto(model)
    proto.opset_import[0].version = _OPSET
    return run_ort(proto, feeds_of(model))


def check(passes: PassList, model: ir.Model) -> None:
    for step in passes:
        before = signature(model), dtypes(model)
        want = results(model) if Kept.BITS in step.keeps else []
        step.run(model)
        assert signature(model) == before[0], f"{step.name} changes the signature"
        assert Kept.SIGNATURE in step.keeps and Kept.DTYPES in step.keeps, "no pass may change these so far"
        after = dtypes(model)
        changed = [name for name, dtype in before[1].items() if after.get(name, dtype) != dtype]
        assert not changed, f"{step.name} changes the types of {changed}"
        for one, other in zip(results(model) if want else [], want, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=step.name, strict=True)


@pytest.mark.parametrize("name", MODELS)
def test_what_passes_keep_on_the_way_to_tensorflow(name: str):
    model = source(name)
    settle_defaults(model)
    check(CANONICALIZE, model)
    check(passes_for_tensorflow(registry()), model)


@pytest.mark.parametrize("name", MODELS)
def test_what_passes_keep_of_another_exporters_graph(name: str):
    check(SETTLE, source(name))


@pytest.mark.parametrize("name", MODELS)
def test_what_passes_keep_on_the_way_to_onnx(name: str):
    model = source(name)
    canonicalize(model)
    check(FOR_ONNX, model)
    check(passes_to_opset(_OPSET, cpu_kernels()), model)


def test_a_list_is_not_built_without_what_a_pass_needs():
    folds = Pass("fold", lambda model: None, "test", needs=(Fact.SHAPES,))
    with pytest.raises(TypeError, match="mine: fold needs SHAPES, which no earlier pass ensures"):
        PassList("mine", (folds,))
    PassList("mine", (folds,), given=(Fact.SHAPES,))
    infers = Pass("infer", lambda model: None, "test", ensures=(Fact.SHAPES,))
    PassList("mine", (infers, folds))
    ends = Pass("turn", lambda model: None, "test", ends=(Fact.SHAPES,))
    with pytest.raises(TypeError, match="fold needs SHAPES"):
        PassList("mine", (infers, ends, folds))
