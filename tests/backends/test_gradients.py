"""Gradients lead through every operator that has one, and agree with finite differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from onnx import TensorProto

from tests.backends.gradients import slopes
from tests.conformance import suite
from tests.conformance.known import RANDOM
from tests.grid.harness import make_model
from trueport.pipeline import convert

STEPS = "a step function of this input"
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)

NO_GRADIENT = {
    ("Ceil", "x"): STEPS,
    ("Dropout", "r"): "the ratio says how many elements are dropped: a step function, and outside of training nothing",
    ("Floor", "x"): STEPS,
    ("Hardmax", "x"): STEPS,
    ("MelWeightMatrix", "lower_edge_hertz"): "edges fall into bins: a step function",
    ("MelWeightMatrix", "upper_edge_hertz"): "edges fall into bins: a step function",
    ("OneHot", "depth"): "a size",
    ("OneHot", "indices"): "positions",
    ("Range", "limit"): "a step function: it says how many elements there are",
    ("Round", "x"): STEPS,
    ("Sign", "x"): STEPS,
    ("Upsample", "scales"): "a size",
    ("ai.onnx.ml::Binarizer", "X"): STEPS,
    ("ai.onnx.ml::TreeEnsemble", "X"): "trees compare it with thresholds: a step function",
}
"""Operators and inputs without a gradient, or with one that is zero everywhere."""

NO_GRADIENT_IN = {
    "test_gridsample_nearest": ("Grid", "the nearest element: a step function of the position"),
    "test_gridsample_volumetric_nearest": ("Grid", "the nearest element: a step function of the position"),
}
"""The same for some modes of an operator, by the beginnings of the cases' names."""

NOT_COMPARABLE = {
    "test_acosh_example": "a value at the border of the domain",
    "test_attention_24_qk_matmul_output_mode3_softmax_precision": "float16 inside: differences are its rounding",
    "test_attention_4d_softcap_neginf_mask": "infinite masks: differences are NaN",
    "test_attention_4d_with_past_and_present_qk_matmul_bias_": "outputs with infinities: differences are NaN",
    "test_cast_": "values with NaN and infinities",
    "test_castlike_": "values with NaN and infinities",
    "test_dequantizelinear_": "quantized types",
    "test_logsoftmax_large_number": "values of 10⁴: differences drown in rounding",
    "test_mod_float_edge_cases": "values with NaN and infinities",
    "test_softmax_large_number": "values of 10⁴: differences drown in rounding",
    "test_training_dropout_zero_ratio": "the ratio moved below zero",
}
"""Cases whose values no finite difference can be taken at, by the beginnings of their names."""


def _has_floats(values: object) -> bool:
    return any(value.type.tensor_type.elem_type in FLOATS for value in values)


def _differentiable() -> dict[str, str]:
    """The cases with float inputs and outputs, each with its operator; bodies and networks are left out."""
    found = {}
    for name, case in suite.cases().items():
        if case.model is None or name in RANDOM or "expanded" in name or name.startswith(tuple(NOT_COMPARABLE)):
            continue
        graph = case.model.graph
        if len(graph.node) == 1 and _has_floats(graph.input) and _has_floats(graph.output):
            (found[name],) = suite.operators(case.model)
    return found


CASES = _differentiable()


def _first_of_each() -> list[str]:
    first: dict[str, str] = {}
    for name, operator in sorted(CASES.items(), key=lambda item: (len(item[0]), item[0])):
        if all(_size(value) for value in suite.cases()[name].model.graph.input):
            first.setdefault(operator, name)
    return sorted(first.values())


def _size(value: object) -> int:
    """Zero for an empty tensor."""
    return min((dim.dim_value for dim in value.type.tensor_type.shape.dim if dim.HasField("dim_value")), default=1)


FIRST = _first_of_each()


def flat(name: str, operator: str) -> set[str]:
    """The inputs of a case that have no gradient."""
    found = {input_name for op, input_name in NO_GRADIENT if op == operator}
    return found | {input_name for start, (input_name, _) in NO_GRADIENT_IN.items() if name.startswith(start)}


def agrees(name: str) -> None:
    without = flat(name, CASES[name])
    for slope in slopes(name):
        if slope.input in without:
            assert not slope.gradient, f"{slope.input} has a gradient: it must leave the list"
        else:
            assert slope.agrees, slope


def test_many_operators_are_differentiable() -> None:
    assert len({CASES[name] for name in FIRST}) > 120


@pytest.mark.parametrize("name", FIRST)
def test_gradient_agrees_with_differences(name: str) -> None:
    agrees(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(CASES) - set(FIRST)))
def test_gradient_agrees_in_every_case(name: str) -> None:
    agrees(name)


def test_what_is_listed_exists() -> None:
    seen = set(CASES.values())
    assert {operator for operator, _ in NO_GRADIENT} <= seen


@pytest.mark.parametrize(
    "name",
    [
        "test_causal_conv_with_state_silu",
        "test_gru_reverse",
        "test_lstm_reverse",
        "test_scan_sum",
        "test_sce_sum",
        "test_swish",
    ],
)
def test_gradients_survive_saving(name: str, tmp_path: Path) -> None:
    """What is loaded again has the gradients of what was saved, without the Python that made it."""
    case = suite.cases()[name]
    model = suite.model_of(case)
    inputs, _ = next(iter(suite.data_of(case, model)))
    conversion = convert(model, verify=False)
    conversion.save(tmp_path / "saved")
    kinds = {node.op for node in conversion.built.traced.function.graph.as_graph_def().node}
    assert "IdentityN" not in kinds, "a gradient of Python's own"
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    tensors = [tf.constant(array) for array in inputs]
    found = []
    for function in (conversion.model, loaded):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            made = [value for value in function(*tensors).values() if value.dtype.is_floating]
            total = tf.add_n([tf.reduce_sum(value * value) for value in made])
        found.append(tape.gradient(total, tensors))
    for before, after in zip(*found, strict=True):
        assert (before is None) == (after is None)
        if before is not None:
            np.testing.assert_array_equal(before, after)


CONVOLUTIONS = {
    "groups": ("Conv", (4, 2, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "groups, same": ("Conv", (4, 2, 3, 2), {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    "dilations": ("Conv", (3, 4, 3, 3), {"dilations": [2, 2], "pads": [2, 0, 1, 3]}),
    "dilations, same": ("Conv", (3, 4, 3, 3), {"dilations": [2, 1], "auto_pad": "SAME_UPPER"}),
    "dilations and strides": ("Conv", (3, 4, 2, 3), {"dilations": [2, 2], "strides": [2, 1]}),
    "groups and dilations": ("Conv", (6, 2, 3, 2), {"group": 2, "dilations": [1, 2], "strides": [1, 2]}),
    "transposed, dilated": ("ConvTranspose", (4, 3, 3, 2), {"dilations": [2, 2], "strides": [2, 1]}),
    "transposed, groups": ("ConvTranspose", (4, 2, 3, 2), {"group": 2, "dilations": [1, 2]}),
}


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_gradients_that_some_cpus_lack(kind: str, tmp_path: Path) -> None:
    """TensorFlow's kernels have gradients of groups and dilations only with oneDNN; ours are there, saved as well."""
    op, shape, attributes = CONVOLUTIONS[kind]
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 4, 7, 8)), rng.normal(size=shape)
    model = make_model(op, [[x, w]], fixed=(0, 1), **attributes)
    conversion = convert(model, verify=False)
    conversion.save(tmp_path / "saved")
    for function in (conversion.model, tf.saved_model.load(str(tmp_path / "saved"))):
        tensors = [tf.constant(x), tf.constant(w)]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            made = function(*tensors)["y0"]
            total = tf.reduce_sum(made * made)
        for index, gradient in enumerate(tape.gradient(total, tensors)):
            direction = rng.normal(size=tensors[index].shape)
            ends = [list(tensors), list(tensors)]
            step = 1e-3
            for sign, moved in zip((1, -1), ends, strict=True):
                moved[index] = tensors[index] + sign * step * direction
            sums = [float(tf.reduce_sum(tf.square(function(*moved)["y0"]))) for moved in ends]
            # The sum is quadratic in either input: central differences are exact but for rounding.
            difference = (sums[0] - sums[1]) / (2 * step)
            slope = float(np.sum(gradient.numpy() * direction))
            assert abs(slope - difference) <= 1e-9 * float(total) / step, (slope, difference)
