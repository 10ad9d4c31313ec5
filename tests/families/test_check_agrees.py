"""Whatever check calls convertible converts: models of unknown ranks and dynamic parameters, built or cut from suites.

Check may refuse, or say "not known before conversion"; if it does neither, the conversion must succeed.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import onnx
import onnx.parser
import pytest

import trueport
from tests.cells import grid
from tests.checking.agreement import disagreements
from tests.conformance import suite
from trueport.errors import ConversionError
from trueport.fidelity import UNSUPPORTED
from trueport.mapping.needs import NOT_KNOWN

PER_OPERATOR = 3
"""Cases of ONNX's suite that are taken per operator."""
HEADER = '<ir_version: 10, opset_import: ["" : 22]> g '


@functools.cache
def _single_nodes() -> dict[str, str]:
    """Names of cases of one node, some per operator: those whose name comes first, in the middle, last."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, case in sorted(suite.cases().items()):
        if case.kind == "node":
            found[name.removeprefix("test_").split("_")[0]].append(name)
    chosen = (names[:: max(1, len(names) // PER_OPERATOR)][:PER_OPERATOR] for names in found.values())
    return {name: name for names in chosen for name in names}


def _without_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    for value in (*copy.graph.input, *copy.graph.output):
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return copy


@grid(_single_nodes(), quick=6)
def test_inputs_of_unknown_rank(cell: str) -> None:
    assert not disagreements(_without_shapes(suite.model_of(suite.cases()[cell])), "tensorflow", measure=False)


UNKNOWN = "h = Reshape(x, s)"
NODES = {
    "conv": "y = Conv(h, k4)",
    "conv-fed-kernel": "k = Reshape(w, t) y = Conv(h, k)",
    "conv-fed-grouped": "k = Reshape(w, t) y = Conv<group=2, dilations=[2,2,2]>(h, k)",
    "conv-transpose-fed-dilated": "k = Reshape(w, t) y = ConvTranspose<dilations=[2,1,1]>(h, k)",
    "global-pool": "y = GlobalAveragePool(h)",
    "max-pool": "y = MaxPool<kernel_shape=[2,2]>(h)",
    "batch-norm": "y = BatchNormalization(h, v, v, v, v)",
    "instance-norm": "y = InstanceNormalization(h, v, v)",
    "group-norm": "y = GroupNormalization<num_groups=2>(h, v, v)",
    "layer-norm": "y = LayerNormalization<axis=-1>(h, v)",
    "layer-norm-front": "y = LayerNormalization<axis=1>(h, v)",
    "top-k": "y, j = TopK(h, one)",
    "gather-elements": "y = GatherElements<axis=1>(h, i)",
    "scatter-elements": "y = ScatterElements<axis=-1>(h, i, h)",
    "pad-edge": 'y = Pad<mode="edge">(h, s)',
    "pad-constant": "y = Pad(h, s)",
    "resize": 'y = Resize<mode="linear">(h, "", v)',
    "one-hot": "q = Cast<to=7>(h) y = OneHot<axis=-2>(q, one, pair)",
    "softmax": "y = Softmax(h)",
    "flatten": "y = Flatten<axis=2>(h)",
    "transpose": "y = Transpose(h)",
    "split": "y, j = Split<axis=-1, num_outputs=2>(h)",
    "squeeze": "y = Squeeze(h)",
    "unsqueeze": "y = Unsqueeze(h, one)",
    "expand": "y = Expand(h, s)",
    "tile": "y = Tile(h, s)",
    "concat": "y = Concat<axis=1>(h, h)",
    "slice": "y = Slice(h, one, s, one)",
    "reduce": "y = ReduceSum<keepdims=0>(h, one)",
    "reduce-fed-axes": "y = ReduceSum(h, s)",
    "einsum": 'y = Einsum<equation="ij->ji">(h)',
    "matmul": "y = MatMul(h, h)",
    "gemm": "y = Gemm(h, h)",
    "cumsum": "y = CumSum(h, one)",
    "arg-max": "y = ArgMax<axis=-1>(h)",
    "gather-nd": "y = GatherND(h, i)",
    "depth-to-space": "y = DepthToSpace<blocksize=2>(h)",
    "grid-sample": "y = GridSample(h, h)",
    "lrn": "y = LRN<size=3>(h)",
    "lstm": "y, j = RNN<hidden_size=2>(h, h, h)",
    "dft": "y = DFT(h)",
    "loop": "y = Loop(one, c, h) <body = b (int64 n, bool g, float[N] p) => (bool o, float[N] q) "
    "{ o = Identity(g) q = GlobalMaxPool(p) }>",
    "if": "y = If(c) <then_branch = b () => (float[N] p) { p = GlobalMaxPool(h) }, "
    "else_branch = d () => (float[N] q) { q = InstanceNormalization(h, v, v) }>",
}
"""What is done with ``h``, whose rank only the run tells."""


def _model(body: str) -> onnx.ModelProto:
    text = (
        f"{HEADER} (float[N] x, int64[R] s, float[M] w, int64[Q] t, float[V] v, bool c, float[A,B,C,D] k4) "
        "=> (float[K] y) "
        f"<int64[1] one = {{1}}, int64[2] pair = {{0, 1}}> {{ {UNKNOWN} i = Cast<to=7>(h) "
        f"{body} }}"
    )
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    if "ArgMax" in body or "OneHot" in body:
        model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    return model


@grid(NODES, quick=6)
def test_values_of_unknown_rank(cell: str) -> None:
    assert not disagreements(_model(cell), "tensorflow", measure=False)


def test_what_is_not_known_is_said_and_changes_the_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(_model(NODES["global-pool"]), path)
    report = trueport.check(path, to="tensorflow")
    assert [reason.label for finding in report.undecided for reason in finding.reasons] == [NOT_KNOWN]
    assert report.fidelity < UNSUPPORTED
    done = subprocess.run(
        [sys.executable, "-m", "trueport", "check", str(path), "--to", "tensorflow"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "not known before conversion at 1 node" in done.stdout
    with pytest.raises(ConversionError, match="rank"):
        trueport.convert(path, to="tensorflow", verify=False)


def test_what_turns_out_to_be_known_converts() -> None:
    """TensorFlow derives a rank that ONNX's inference does not: check says that it does not know, convert does it."""
    model = onnx.parser.parse_model(
        f"{HEADER} (float[N,3,4] x, int64 m, bool c) => (float[K] y) {{ h = Loop(m, c, x) <body = b (int64 i, bool g, "
        "float[A,B,D] p) => (bool o, float[A,B,D] q) { o = Identity(g) q = Relu(p) }> y = GlobalMaxPool(h) }"
    )
    made = trueport.convert(model, to="tensorflow", verify=False)
    assert not made.report.undecided
