"""Errors while a TensorFlow or TFLite model is made of an ONNX model."""

from __future__ import annotations

from pathlib import Path

from tests.errors.case import Case, cli
from tests.errors.cases_files import parsed

__all__ = ["CASES"]

_BENT = """
from trueport import maps
@maps("Bend", domain="com.acme")
def bend(t, x):
    return x
"""


def _case(name: str, text: str, opset: int = 21, *, head: str = "", to: str = "saved", ops: str = "") -> Case:
    """A model in ONNX's text form that is converted, with a user's operators if there are any."""

    def provoke() -> None:
        Path("mine.py").write_text(ops, "utf-8")
        cli("convert", parsed(text, opset, head)(Path()), "-o", to, *(["--ops", "mine.py"] if ops else []))

    return Case(name, provoke)


def _rankless(name: str, nodes: str, opset: int = 21) -> Case:
    """Nodes that use ``t``, whose rank hangs on how long the input ``s`` is."""
    text = f"(float[N] x, int64[R] s) => (float[M] y) {{ t = Reshape(x, s) {nodes} }}"
    return _case(f"no-rank-for-{name}", text, opset)


def _gradient(name: str, attributes: str) -> Case:
    nodes = f"z = Relu(x) y = ai.onnx.preview.training.Gradient<{attributes}>(x)"
    return _case(name, f"(float[2] x) => (float[2] y) {{ {nodes} }}", head=', "ai.onnx.preview.training": 1')


_ONE_HOT = """d = Constant<value_int=3>() v = Constant<value_floats=[0.0,1.0]>()
i = Cast<to=7>(t) y = OneHot<axis=-2>(i, d, v)"""
_COL2IM = "(float[1,4,4] x, int64[R] s, int64[Q] b) => (float[M] y) { y = Col2Im(x, s, b) }"
_DEFORM = "(float[1,1,4,4] x, float[1,1,K,L] w, float[1,8,3,3] o) => (float[M] y) { y = DeformConv(x, w, o) }"
_CONV = "(float[1,2,4,4,4] x, float[2,1,K,K,K] w) => (float[M] y) { y = Conv<group=2>(x, w) }"
_RESIZE = """(float[1,1,2,2] x) => (float[M] y) {
  s = Constant<value_floats=[1.0,1.0,2.0,2.0]>() y = Resize<coordinate_transformation_mode="bent">(x, , s)
}"""
_CIRCLE = """(float[N,1] x) => (float[N,1] y) {
  y = ai.onnx.ml.TreeEnsembleRegressor<
    n_targets=1, nodes_treeids=[0,0,0], nodes_nodeids=[0,1,2], nodes_featureids=[0,0,0], nodes_values=[0.0,0.0,0.0],
    nodes_modes=["BRANCH_LEQ","BRANCH_LEQ","BRANCH_LEQ"], nodes_truenodeids=[1,2,1], nodes_falsenodeids=[1,2,1],
    target_treeids=[0], target_nodeids=[1], target_ids=[0], target_weights=[1.0]
  >(x)
}"""
_AFFINE = "(float[1,K,L] t, int64[R] s) => (float[M] y) { y = AffineGrid(t, s) }"
_BATCHES = """(float[2,3,1] x, float[1,1,1] w, float[1,1,1] r, float[1,4,1] h) => (float[M] y) {
  y = RNN<hidden_size=1>(x, w, r, , , h)
}"""
_SEQUENCE = """(float[2] x) => (float[2] y) {
  s = SequenceConstruct(x, x) i = Constant<value_int=5>() y = SequenceAt(s, i)
}"""
_UNTYPED = """(float[3] x, int64 i) => (float[3] y) {
  t = com.acme.Bend(x) s = SequenceConstruct(t, t) a = SequenceAt(s, i) y = Neg(a)
}"""
_NESTED = "(float[3] x, seq(seq(float[3])) s) => (float[3] y) { y = Relu(x) }"

CASES = [
    _rankless("conv", "y = Conv(t, t)"),
    _rankless("one-hot", _ONE_HOT),
    _rankless("tensor-scatter", "y = TensorScatter(t, t)", 24),
    _rankless("unique", "y = Unique<axis=1>(t)"),
    _case("no-rank-for-col2im", _COL2IM),
    _case("no-axes-for-affine-grid", _AFFINE),
    _case("recurrent-batches-differ", _BATCHES),
    _case("no-size-for-deform-conv", _DEFORM),
    _case("no-size-for-conv", _CONV),
    _case("resize-of-an-unknown-mode", _RESIZE),
    _case("tree-that-is-a-circle", _CIRCLE),
    _case("sequence-is-shorter", _SEQUENCE),
    _case("type-is-not-known", _UNTYPED, ops=_BENT),
    _case("type-without-a-form", _NESTED),
    _gradient("gradient-of-another-number-of-inputs", 'xs=["x","z"], y="z"'),
    _gradient("gradient-of-nothing", 'xs=["x"], y="q"'),
    _case("tflite-lacks-it", "(double[3,3] x) => (double y) { y = Det(x) }", to="net.tflite"),
]
