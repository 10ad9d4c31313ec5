"""Declared shapes of intermediate values and outputs are claims: a wrong one decides nothing and is reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import tensorflow as tf

import trueport
from tests.cells import grid

SIZES = (1, 3, 5)
HEADER = '<ir_version: 10, opset_import: ["" : 22, "com.acme" : 1]> '

BODIES = {
    "reshape-by-shape": "h = Relu(x) s = Shape<start=1>(h) k = Concat<axis=0>(m, s) y = Reshape(h, k)",
    "flatten-by-gather": "h = Relu(x) s = Shape(h) d = Gather(s, one) u = Mul(d, four) "
    "t = Concat<axis=0>(m, u) y = Reshape(h, t)",
    "reshape-that-only-looks-idle": "h = Relu(x) z = Reshape(h, flat) y = Relu(z)",
    "expand-by-claimed-dim": "h = Relu(x) s = Shape(h) o = Expand(b, s) y = Add(h, o)",
    "slice-end": "h = Relu(x) s = Shape(h) e = Gather(s, one) y = Slice(h, zero, e, one)",
    "range-over-rows": "h = Relu(x) s = Shape(h) e = Gather(s, one) q = Squeeze(e) "
    "r = Range(z0, q, z1) f = Cast<to=1>(r) u = Unsqueeze(f, one) y = Mul(h, u)",
    "flatten": "h = Relu(x) f = Flatten<axis=2>(h) y = Relu(f)",
    "softmax": "h = Relu(x) f = Softmax<axis=-1>(h) y = Relu(f)",
    "reduce-all-axes": "h = Relu(x) f = ReduceSum<keepdims=1>(h) y = Add(h, f)",
    "squeeze-all": "h = Relu(x) u = Unsqueeze(h, zero) f = Squeeze(u) y = Relu(f)",
    "transpose-default": "h = Transpose(x) f = Transpose(h) y = Relu(f)",
    "concat": "h = Relu(x) f = Concat<axis=1>(h, h) y = Relu(f)",
    "size": "h = Relu(x) n = Size(h) f = Cast<to=1>(n) y = Mul(h, f)",
    "constant-of-shape": "h = Relu(x) s = Shape(h) f = ConstantOfShape(s) y = Sub(h, f)",
    "if": "h = If (c) <then_branch = a () => (float[N,54,4] p) { p = Relu(x) }, "
    "else_branch = b () => (float[N,54,4] q) { q = Neg(x) }> s = Shape<start=1>(h) "
    "k = Concat<axis=0>(m, s) y = Reshape(h, k)",
    "scan": "h = Scan<num_scan_inputs=1, body = g (float[L,D] r) => (float[54,4] o) { e = Relu(r) s = Shape(e) "
    "o = Reshape(e, s) }>(x) y = Relu(h)",
}
"""What is done with ``h``, which the file declares wrongly."""
CLAIMS = {
    "rows": "float[N,54,4] h",
    "rank": "float[N,4] h",
    "more-dims": "float[1,N,3,4] h",
    "name": "float[B,N,4] h",
    "result": "",
}


def _model(body: str, claim: str) -> onnx.ModelProto:
    text = (
        f"{HEADER} g (float[N,3,4] x, bool c) => (float[batch,54,4] y) <{claim + ',' if claim else ''} "
        "int64[1] m = {-1}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] four = {4}, int64[3] flat = {1,-1,4}, "
        f"int64 z0 = {{0}}, int64 z1 = {{1}}, float b = {{2}}> {{ {body} }}"
    )
    return onnx.parser.parse_model(text)


@grid({f"{name}-{kind}": (body, claim) for name, body in BODIES.items() for kind, claim in CLAIMS.items()}, quick=6)
def test_a_wrong_claim_decides_nothing(cell: tuple[str, str], tmp_path: Path) -> None:
    model = _model(*cell)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    trueport.convert(model, verify=False).save(tmp_path / "saved")
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    rng = np.random.default_rng(3)
    for size in SIZES:
        x = rng.normal(size=(size, 3, 4)).astype(np.float32)
        given = {v.name: a for v, a in zip(session.get_inputs(), (x, np.array(size > 1)), strict=False)}
        (want,) = session.run(None, given)
        got = loaded(tf.constant(x), tf.constant(size > 1))["y"].numpy()
        np.testing.assert_allclose(got, want, rtol=3e-6, atol=0, strict=True)


def test_contradictions_are_remarks() -> None:
    text = (
        f"{HEADER} g (float[N,3,4] x) => (float[batch,54,4] y) <float[N,3] h, float[K,3,4] k> "
        "{ h = Relu(x) k = Neg(h) y = Relu(k) }"
    )
    report = trueport.check(onnx.parser.parse_model(text), to="tensorflow")
    said = [remark.because for remark in report.remarks if remark.rule == "declared-shape"]
    assert said == [
        "the file declares 'h' as [N, 3], but it is [N, 3, 4] by the shapes of the inputs: the declaration is not used",
        "the file declares 'y' as [batch, 54, 4], but it is [N, 3, 4] by the shapes of the inputs: the declaration is "
        "not used",
    ]


def test_declared_names_stay_where_they_agree() -> None:
    """A dim that inference cannot name keeps the declared name at the output, and no other dim is taken over."""
    text = f"{HEADER} g (float[N] x, int64[2] s) => (float[rows,7] y) {{ h = Reshape(x, s) y = Relu(h) }}"
    made = trueport.convert(onnx.parser.parse_model(text), verify=False)
    assert made.report.outputs[0].shape == ("rows", "unk__1")
    assert not [remark for remark in made.report.remarks if remark.rule == "declared-shape"]
