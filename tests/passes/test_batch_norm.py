"""Batch norms after grouped convolutions: which join them, and that the results are the same but for rounding."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

import trueport
from tests.passes.layouts import copy, feeds_of, model_of, run
from trueport.fidelity import Verdict
from trueport.ir.provenance import mark_origins, origins
from trueport.passes.batch_norm import join_batch_norms

PLAIN = "c = Conv<group=2>(x, w)\n n = BatchNormalization(c, scale, shift, mean, variance)\n y = Relu(n)"
BIASED = PLAIN.replace("w)", "w, bias)")
APART = {
    "one group": PLAIN.replace("<group=2>", ""),
    "the convolution's result is used twice": PLAIN.replace("Relu(n)", "Add(n, c)"),
    "training": PLAIN.replace("n = BatchNormalization", "n, m, v = BatchNormalization<training_mode=1>"),
    "an epsilon that is added to nothing": PLAIN.replace("Normalization(", "Normalization<epsilon=0.0>("),
}


def model(steps: str, groups: int = 2, **given: np.ndarray) -> ir.Model:
    draw = np.random.default_rng(7)
    arrays = {
        "w": draw.normal(size=(6, 6 // groups, 3, 3)),
        "bias": draw.normal(size=6),
        "scale": draw.uniform(-2, 2, 6),
        "shift": draw.normal(size=6),
        "mean": draw.normal(size=6),
        "variance": draw.uniform(0.1, 4, 6),
    }
    used = {name: array.astype(np.float32) for name, array in (arrays | given).items() if name in steps}
    return model_of(f"agraph (float[N,6,9,8] x) => (float[N,6,7,6] y) {{ {steps} }}", **used)


@pytest.mark.parametrize("steps", [PLAIN, BIASED, PLAIN.replace("Normalization(", "Normalization<epsilon=0.25>(")])
def test_it_joins_a_grouped_convolution(steps: str):
    before = model(steps)
    after = copy(before)
    mark_origins(after.graph)
    assert join_batch_norms(after) == 1
    conv, relu = after.graph
    assert (conv.op_type, relu.op_type) == ("Conv", "Relu")
    assert conv.outputs[0].name == "n"
    assert origins(conv) == ("c", "n")
    feeds = feeds_of(before)
    wanted, got = run(before, feeds)[0], run(after, feeds)[0]
    # 27 products, the bias and the batch norm's steps, each rounded once, of numbers up to some hundreds.
    np.testing.assert_allclose(got, wanted, rtol=0, atol=32 * np.finfo(np.float32).eps * np.abs(wanted).max())


@pytest.mark.parametrize("why", APART)
def test_it_stays_apart(why: str):
    variance = np.zeros(6) if "nothing" in why else np.ones(6)
    groups = 1 if why == "one group" else 2
    after = model(APART[why], groups, variance=variance)
    assert join_batch_norms(after) == 0
    assert [node.op_type for node in after.graph][:2] == ["Conv", "BatchNormalization"]


def test_it_stays_after_a_depthwise_convolution():
    assert join_batch_norms(model(PLAIN.replace("group=2", "group=6"), groups=6)) == 0


def test_parameters_that_are_inputs_stay():
    taken = model(PLAIN)
    taken.graph.inputs.append(taken.graph.initializers["scale"])
    assert join_batch_norms(taken) == 0


@pytest.mark.parametrize("steps", [PLAIN, BIASED])
def test_the_joined_model_is_faithful(steps: str):
    result = trueport.convert(model(steps), to="tensorflow")
    assert result.report.verdict is Verdict.FAITHFUL
