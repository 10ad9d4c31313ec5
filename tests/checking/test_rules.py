"""Every rule of the check: a model that it speaks of, at the place it must name, and one that it must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import onnx
import onnx.helper as oh
import onnx.parser
import pytest
from onnx import TensorProto

import trueport
from tests.models import relu_chain
from trueport.checking.remarks import Severity
from trueport.checking.rules import all_rules
from trueport.fidelity import Fidelity

_HEAD = '<ir_version: 10, opset_import: ["": {opset}, "com.acme": 1]> g '


def parsed(text: str, opset: int = 21) -> onnx.ModelProto:
    model: onnx.ModelProto = onnx.parser.parse_model(_HEAD.format(opset=opset) + text)
    for index, node in enumerate(model.graph.node):
        node.name = f"n{index}"
    return model


class Example(NamedTuple):
    """A model, and where the rule must say something."""

    make: Callable[[], onnx.ModelProto]
    where: tuple[str, ...]


def _text(text: str, *where: str, opset: int = 21) -> Example:
    return Example(lambda: parsed(text, opset), where)


def _with_metadata() -> onnx.ModelProto:
    model = relu_chain()
    oh.set_model_props(model, {"author": "someone"})
    model.doc_string = "what it does"
    return model


def _sequence_input() -> onnx.ModelProto:
    return parsed(
        "(seq(float[N]) s, float[M] z) => (float[K] y) { t = ConcatFromSequence<axis=0>(s) y = Concat<axis=0>(t, z) }"
    )


_QDQ = """(float[1,2,4,4] x) => (float[1,2,4,4] y)
 <float s = {0.1}, uint8 z = {3}, int8[2,2,1,1] w = {1,2,3,4}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0},
  int32[2] b = {1, 2}, float bs = {0.7}, int32 bz = {0}> {
  q = QuantizeLinear(x, s, z)
  d = DequantizeLinear(q, s, z)
  wd = DequantizeLinear<axis=0>(w, ws, wz)
  bd = DequantizeLinear(b, bs, bz)
  y = Conv(d, wd, bd)
}"""

EXAMPLES: dict[str, Example] = {
    "asymmetric-weights": _text(_QDQ.replace("{0, 0}", "{1, 0}"), "n2"),
    "bias-scale": _text(_QDQ, "n4"),
    "saturating-sums": _text(
        "(uint8[2,4] a, int8[4,3] w) => (int32[2,3] y) { y = MatMulInteger(a, w) }",
        "n0",
    ),
    "blocked-quantization": _text(
        "(int8[4,4] x) => (float[4,4] y) <float[2,4] s = {1,1,1,1,1,1,1,1}> "
        "{ y = DequantizeLinear<axis=0, block_size=2>(x, s) }",
        "n0",
    ),
    "carried-type": _text(
        "(float8e8m0[N] x) => (float8e8m0[N] y) { y = Identity(x) }", "input 'x'", "output 'y'", opset=25
    ),
    "carried-type-inside": _text(
        "(float[N] x) => (float[N] y) { t = Cast<to=24>(x) u = Identity(t) y = Cast<to=1>(u) }", "n0", opset=25
    ),
    "control-flow": _text(
        "(bool c, float[N] x) => (float[N] y) { y = If (c) <"
        "then_branch = a () => (float[N] p) { p = Relu(x) }, else_branch = b () => (float[N] q) { q = Neg(x) }> }",
        "n0",
    ),
    "custom-operator": _text("(float[N] x) => (float[N] y) { y = com.acme.Bend(x) }", "n0"),
    "data-dependent-shape": _text("(float[N] x) => (int64[1,M] y) { y = NonZero(x) }", "n0"),
    "declared-shape": _text("(float[N,3] x) => (float[N,4] y) { y = Relu(x) }", "n0"),
    "inference-stops": _text(
        "(float[N] x, int64[R] s) => (float y) { t = Reshape(x, s) y = ReduceSum<keepdims=0>(t) }", "n0"
    ),
    "integer-zero-point": _text(_QDQ.replace("bz = {0}", "bz = {7}"), "n3"),
    "layout-transpose": _text(
        "(float[1,2,4,4] x) => (float[1,3,4,4] y) <float[3,2,1,1] w = {1,2,3,4,5,6}> { y = Conv(x, w) }", "Transpose"
    ),
    "metadata-aside": Example(_with_metadata, ("metadata 'author'", "doc string")),
    "narrow-quantization": _text("(int16[N] x) => (float[N] y) <float s = {0.5}> { y = DequantizeLinear(x, s) }", "n0"),
    "nan-in-orderings": _text(
        "(float[4] x) => (float[N] y, int64[1] i) <int64[1] k = {1}> { y = Unique(x) v, i = TopK(x, k) }", "n0"
    ),
    "no-gpu-kernel": _text(
        "(string[2] x, string[2] z, float[2] w) => (string[2] y, float[2] v) { y = StringConcat(x, z) v = Relu(w) }",
        "n0",
        opset=22,
    ),
    "not-folded": _text(
        "(int64[N] x) => (int64[N] y) <int64[1] a = {4}, int64[1] z = {0}> { q = Div(a, z) y = Add(x, q) }", "n0"
    ),
    "open-dims": _text("(float[N,3] x) => (float[N,3] y) { y = Relu(x) }", "input 'x'", "output 'y'"),
    "opset-raised": _text("(float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis=1>(x) }", "n0", opset=11),
    "partial-quantization": _text(
        "(float[1,2] x) => (float[1,2] y) <int8[2,2] w = {1,2,3,4}, float s = {0.5}> "
        "{ d = DequantizeLinear(w, s) y = MatMul(x, d) }",
        "n1",
    ),
    "per-axis-quantization": _text(_QDQ, "n2"),
    "random-operator": _text("() => (float[3] y) { y = RandomNormal<shape=[3]>() }", "n0"),
    "renamed-port": _text("(float[3] x) => (float[3] y) { y = Relu(x) }", "input 'a/b:0'"),
    "shared-dims": _text("(float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }", "dim 'N' of 'x', 'z'"),
    "fractional-length": _text(
        "(float[1,1,5] x) => (float[1,1,7] y) <float[3] s = {1, 1, 1.5}> "
        '{ y = Resize<coordinate_transformation_mode="align_corners", mode="linear">(x, , s) }',
        "n0",
    ),
    "special-values-in-pools": _text(
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) { y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) }", "n0"
    ),
    "split-port": Example(_sequence_input, ("input 's'",)),
    "strings": _text("(string[N] x) => (string[N] y) { y = Identity(x) }", "input 'x'", "output 'y'"),
    "unknown-rank": _text("(float x) => (float y) { y = Relu(x) }", "input 'x'"),
    "unpaired-quantization": _text(
        "(float[N] x) => (uint8[N] y) <float s = {0.5}, uint8 z = {0}> { q = QuantizeLinear(x, s, z) y = Max(q, z) }",
        "n0",
    ),
    "unsorted-top-k": _text(
        "(float[4] x) => (int64[2] i, int64[2] j) <int64[1] k = {2}> { v, i = TopK(x, k) w, j = TopK<sorted=0>(x, k) }",
        "n1",
    ),
}
ELSEWHERE = {
    *("beyond-protobuf", "complex-port", "empty-batch-in-matrices", "newer-runtime", "peak-memory", "training-setup"),
    "users-operator",
}
"""Rules about size, about other targets, or about options: the tests below show them."""


def _made(rule: str) -> onnx.ModelProto:
    model = EXAMPLES[rule].make()
    if rule == "renamed-port":
        model.graph.input[0].name = model.graph.node[0].input[0] = "a/b:0"
    if rule == "unknown-rank":
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.ClearField("shape")
    return model


def _said(model: onnx.ModelProto, rule: str) -> list[str]:
    return [remark.where for remark in trueport.check(model, to="tensorflow").remarks if remark.rule == rule]


def test_every_rule_has_an_example() -> None:
    assert {rule.id for rule in all_rules()} == set(EXAMPLES) | ELSEWHERE


@pytest.mark.parametrize("rule", sorted(EXAMPLES))
def test_a_rule_names_its_places(rule: str) -> None:
    said = _said(_made(rule), rule)
    for words in EXAMPLES[rule].where:
        assert any(words in where for where in said), said


def test_nothing_is_said_of_a_plain_model() -> None:
    plain = parsed("(float[2,3] x) => (float[2,3] y) { y = Relu(x) }")
    assert trueport.check(plain).remarks == ()


def test_a_missing_gpu_kernel_is_told_as_what_the_registry_says() -> None:
    model = parsed("(int32[2] x, int32[2] z) => (int32[2] y) { t = Div(x, z) u = Add(t, z) y = Div(u, x) }")
    report = trueport.check(model, to="tensorflow")
    remarks = [remark for remark in report.remarks if remark.rule == "no-gpu-kernel"]
    assert [remark.node for remark in remarks] == ["n0", "n2"]
    assert {remark.because for remark in remarks} == {
        "TensorFlow 2.21 registers no GPU kernel for TruncateDiv (T=int32), which is emitted here: with soft placement "
        "it would run on the CPU; not run here"
    }
    assert {remark.severity for remark in remarks} == {Severity.NOTE}
    assert report.fidelity <= Fidelity.EXACT


def test_what_an_operator_of_the_users_emits_is_not_told(tmp_path: Path) -> None:
    module = tmp_path / "mine.py"
    module.write_text("from trueport import maps\n@maps('Div')\ndef div(t, A, B):\n    return A\n", "utf-8")
    model = parsed("(int32[2] x, int32[2] z) => (int32[2] y) { y = Div(x, z) }")
    assert "no-gpu-kernel" not in {remark.rule for remark in trueport.check(model, ops=[module]).remarks}


def test_a_bias_in_the_scale_of_the_product_is_fine() -> None:
    text = _QDQ.replace("bs = {0.7}", "[2] bs = {0.05, 0.025}").replace("int32 bz = {0}", "int32[2] bz = {0, 0}")
    model = parsed(text.replace("DequantizeLinear(b, bs, bz)", "DequantizeLinear<axis=0>(b, bs, bz)"))
    assert "bias-scale" not in {remark.rule for remark in trueport.check(model).remarks}


@pytest.mark.parametrize(
    ("gigabytes", "rules"), [(0.1, set()), (1.5, {"peak-memory"}), (2.5, {"peak-memory", "beyond-protobuf"})]
)
def test_sizes_are_told_without_reading_weights(gigabytes: float, rules: set[str], tmp_path: Path) -> None:
    model = parsed("(float[1] x) => (float[1] y) { y = Relu(x) }")
    size = int(gigabytes * 1e9)
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(size)  # a file with a hole: as large as it says, and nothing on the disk
    tensor = model.graph.initializer.add(name="w", data_type=TensorProto.UINT8, dims=[size])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    model.graph.node.add(op_type="Shape", input=["w"], output=["z"], name="shape")
    model.graph.output.add(name="z").type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(model, tmp_path / "model.onnx")
    said = {remark.rule for remark in trueport.check(tmp_path / "model.onnx").remarks}
    assert said & {"peak-memory", "beyond-protobuf"} == rules


def test_users_operators(tmp_path: Path) -> None:
    module = tmp_path / "mine.py"
    module.write_text(
        "from trueport import maps\n@maps('Bend', domain='com.acme')\ndef bend(t, x):\n    return x\n", "utf-8"
    )
    model = parsed("(float[3] x) => (float[3] y) { y = com.acme.Bend(x) }")
    remarks = trueport.check(model, ops=[module]).remarks
    assert [(r.where, r.because) for r in remarks if r.rule == "users-operator"] == [
        ("node 'n0' (com.acme::Bend)", "is translated by mine")
    ]


def test_a_training_graph_is_a_loss() -> None:
    model = relu_chain()
    model.training_info.add().algorithm.CopyFrom(model.graph)
    (loss,) = trueport.check(model).losses
    assert str(loss) == "the model: 1 training graph left out: what is converted is the inference graph"


def test_quantization_annotations_are_a_loss() -> None:
    model = relu_chain()
    model.graph.quantization_annotation.add(tensor_name="y")
    (loss,) = trueport.check(model).losses
    assert "quantization annotations of 'y' left out" in str(loss)


def test_the_line_that_an_exporter_left_is_the_source() -> None:
    model = parsed("(float[3] x) => (float[3] y) { y = com.acme.Bend(x) }")
    trace = 'File "/home/me/net.py", line 12, in forward\n  File "/env/torch/nn/functional.py", line 7, in relu'
    model.graph.node[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    (finding,) = trueport.check(model).findings
    assert (finding.node, finding.source) == ("n0", "/home/me/net.py:12")


def test_the_line_in_an_older_exporters_doc_string() -> None:
    model = parsed("(float[3] x) => (float[3] y) { y = com.acme.Bend(x) }")
    model.graph.node[0].doc_string = "/env/torch/nn/functional.py(7): relu\n/home/me/net.py(12): forward\n"
    (finding,) = trueport.check(model).findings
    assert finding.source == "/home/me/net.py:12"


def test_severities_of_fidelities() -> None:
    words = [Severity.of(fidelity).word for fidelity in Fidelity]
    assert words == ["note", "note", "warning", "warning", "error"]
