"""Converted models compile under ``tf.function(jit_compile=True)`` wherever XLA has the operators."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorflow as tf
from onnx import TensorProto

from tests.backends.xla import compiled
from tests.conformance import suite
from tests.conformance.known import RANDOM
from tests.conformance.test_saved import CASES
from tests.models import model_of
from trueport.pipeline import convert

STRINGS = "XLA has no strings"
OUTER_LISTS = (
    "its case is given a sequence or an optional: the number of elements shows at run time, XLA needs it before"
)
KNOWN_NOT_XLA = {
    "Det": "XLA has no MatrixDeterminant",
    "ImageDecoder": "bytes become strings for TensorFlow's decoders, and the image's size stands in its bytes",
    "Loop": "its case carries a value that grows with each step; one of fixed shape compiles (see below)",
    "OptionalHasElement": OUTER_LISTS,
    "RegexFullMatch": STRINGS,
    "SequenceEmpty": OUTER_LISTS,
    "SequenceInsert": OUTER_LISTS,
    "SequenceMap": OUTER_LISTS,
    "StringConcat": STRINGS,
    "StringNormalizer": STRINGS,
    "StringSplit": STRINGS,
    "ai.onnx.ml::LabelEncoder": STRINGS,
}
"""Operators whose case can't be compiled, and why; one that compiles must leave the list."""

QUICK = frozenset(
    """
    Add ArgMax Attention AveragePool BatchNormalization Cast Clip Compress Conv ConvInteger ConvTranspose CumSum
    DepthToSpace DequantizeLinear Einsum Erf Expand GRU Gather GatherND Gemm GridSample If LSTM LayerNormalization
    MatMul MaxPool NonMaxSuppression NonZero OneHot Pad QLinearMatMul ReduceL2 ReduceMean Resize Scan ScatterND Slice
    Softmax Split SplitToSequence TopK Transpose Unique Where ai.onnx.ml::TreeEnsemble
    """.split()  # noqa: SIM905 (a line per operator would hide the test)
)
PAGE = Path(__file__).parents[2] / "docs" / "xla.md"


def agrees(operator: str) -> None:
    name = CASES[operator]
    wanted, got = compiled(name)
    if name not in RANDOM:
        suite.compare(suite.cases()[name], wanted, got)


@pytest.mark.parametrize("operator", sorted(QUICK))
def test_compiles_and_agrees(operator: str) -> None:
    agrees(operator)


@pytest.mark.slow
@pytest.mark.parametrize("operator", sorted(set(CASES) - QUICK - set(KNOWN_NOT_XLA)))
def test_every_other_operator_compiles_and_agrees(operator: str) -> None:
    agrees(operator)


@pytest.mark.parametrize("operator", sorted(op for op, why in KNOWN_NOT_XLA.items() if why != STRINGS))
def test_listed_operator_still_does_not_compile(operator: str) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.UnimplementedError, tf.errors.InternalError)):
        agrees(operator)


def test_xla_still_has_no_strings() -> None:
    """In a process of its own: XLA may end it (a failed check in its cache) where it should refuse."""
    code = "import tensorflow as tf\nprint(tf.function(lambda x: tf.identity(x), jit_compile=True)(tf.constant(['a'])))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    for operator in [op for op, why in KNOWN_NOT_XLA.items() if why == STRINGS]:
        graph = suite.model_of(suite.cases()[CASES[operator]]).graph
        ports = [*graph.input, *graph.output]
        assert TensorProto.STRING in [value.type.tensor_type.elem_type for value in ports], operator


def test_the_page_shows_the_list() -> None:
    """Write it anew with ``python -m tests.backends.test_xla``."""
    assert PAGE.read_text() == page()


def page() -> str:
    """docs/xla.md."""
    rows = [f"| `{operator}` | {why} |" for operator, why in KNOWN_NOT_XLA.items()]
    head = f"""# XLA

A converted model is plain TensorFlow and may be called inside `tf.function(jit_compile=True)`. Of the {len(CASES)}
operators in ONNX's own suite, {len(CASES) - len(KNOWN_NOT_XLA)} compile and agree with the suite's expected values.
Shapes must be known when XLA compiles: inputs of fixed shape, and shapes, axes and counts that the model holds as
constants. Outputs whose size depends on data (`NonZero`, `Unique`, `NonMaxSuppression`) work: XLA bounds their size.

This list is printed from `tests/backends/test_xla.py`, which fails when an entry is no longer true.

| operator | why its case does not compile |
|---|---|
"""
    return head + "\n".join(rows) + "\n"


def counted_loop(scanned: bool) -> onnx.ModelProto:
    """y = x doubled M times, as exporters write a counted loop: the condition is always true."""
    body = oh.make_graph(
        [
            oh.make_node("Identity", ["go"], ["go_on"]),
            oh.make_node("Add", ["v", "v"], ["after"]),
            oh.make_node("Sqrt", ["after"], ["given"]),
        ],
        "body",
        [
            oh.make_tensor_value_info("i", TensorProto.INT64, []),
            oh.make_tensor_value_info("go", TensorProto.BOOL, []),
            oh.make_tensor_value_info("v", TensorProto.FLOAT, [3]),
        ],
        [
            oh.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            oh.make_tensor_value_info("after", TensorProto.FLOAT, [3]),
            *([oh.make_tensor_value_info("given", TensorProto.FLOAT, [3])] if scanned else []),
        ],
    )
    outputs = ["y", "steps"] if scanned else ["y"]
    return model_of(
        [oh.make_node("Loop", ["M", "start", "x"], outputs, "loop", body=body)],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [oh.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        initializers=[
            onnx.numpy_helper.from_array(np.array(4), "M"),
            onnx.numpy_helper.from_array(np.array(True), "start"),
        ],
    )


@pytest.mark.parametrize("scanned", [False, True])
def test_a_counted_loop_compiles_with_its_gradient(scanned: bool) -> None:
    model = convert(counted_loop(scanned), verify=False).model

    @tf.function(jit_compile=True)
    def value_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            made = model(x)
            total = tf.reduce_sum(made["steps"] if scanned else made["y"])
        return made, tape.gradient(total, x)

    x = np.array([1, 4, 9], np.float32)
    made, gradient = value_and_gradient(tf.constant(x))
    np.testing.assert_allclose(made["y"], 16 * x)
    doubled = 2.0 ** np.arange(1, 5)[:, None]
    if scanned:
        np.testing.assert_allclose(made["steps"], np.sqrt(doubled * x), rtol=1e-6)
    wanted = (0.5 * np.sqrt(doubled / x)).sum(0) if scanned else np.full(3, 16)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
