"""A converted model trains like any other of TensorFlow's: weights under their own names, statistics left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorflow as tf
from onnx import TensorProto, numpy_helper

import trueport
from tests.models import model_of

RNG = np.random.default_rng(3)


def weight(name: str, *shape: int, scale: float = 0.3) -> onnx.TensorProto:
    return numpy_helper.from_array((RNG.normal(size=shape) * scale).astype(np.float32), name)


def filled(name: str, value: float, size: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.full(size, value, np.float32), name)


def cnn() -> onnx.ModelProto:
    """Convolution, batch normalization, pooling, a linear layer; the names are PyTorch's."""
    nodes = [
        oh.make_node("Conv", ["x", "conv1.weight", "conv1.bias"], ["c"], "conv", pads=[1, 1, 1, 1]),
        oh.make_node("BatchNormalization", ["c", *(f"bn.{n}" for n in BATCH_NORM)], ["b"], "bn"),
        oh.make_node("Relu", ["b"], ["r"], "relu"),
        oh.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
        oh.make_node("Flatten", ["p"], ["f"], "flatten"),
        oh.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["y"], "fc", transB=1),
    ]
    weights = [
        weight("conv1.weight", 4, 3, 3, 3),
        weight("conv1.bias", 4),
        filled("bn.weight", 1, 4),
        filled("bn.bias", 0, 4),
        filled("bn.running_mean", 0.1, 4),
        filled("bn.running_var", 0.9, 4),
        weight("fc.weight", 2, 4),
        weight("fc.bias", 2),
    ]
    return model_of(
        nodes,
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 6, 6])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        initializers=weights,
    )


BATCH_NORM = ("weight", "bias", "running_mean", "running_var")
TRAINED = {"conv1.weight", "conv1.bias", "bn.weight", "bn.bias", "fc.weight", "fc.bias"}
STATISTICS = {"bn.running_mean", "bn.running_var"}


def mlp() -> onnx.ModelProto:
    nodes = [
        oh.make_node("MatMul", ["x", "l1.weight"], ["m1"], "l1"),
        oh.make_node("Add", ["m1", "l1.bias"], ["a1"], "b1"),
        oh.make_node("Tanh", ["a1"], ["t1"], "act"),
        oh.make_node("Gemm", ["t1", "l2.weight", "l2.bias"], ["y"], "l2"),
    ]
    return model_of(
        nodes,
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        initializers=[weight("l1.weight", 5, 7), weight("l1.bias", 7), weight("l2.weight", 7, 2), weight("l2.bias", 2)],
    )


def source_weights(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def in_source_order(conversion: trueport.Conversion) -> dict[str, np.ndarray]:
    """The variables as the source has them: the artifact's map says how each is held."""
    held = {stored.initializer: stored for stored in conversion.built.traced.map.weights}
    found = {}
    for name, stored in held.items():
        array = conversion.model.weights[stored.key].numpy()
        found[name] = array if stored.perm is None else array.transpose(np.argsort(stored.perm))
    return found


def loss_of(loaded: Any, x: Any, target: Any) -> Any:
    return tf.reduce_mean(tf.square(loaded(x)["y"] - target))


@pytest.mark.parametrize("build", [cnn, mlp])
def test_weights_are_the_initializers_by_name(build: Any) -> None:
    model = build()
    conversion = trueport.convert(model, verify=False)
    wanted = source_weights(model)
    got = in_source_order(conversion)
    assert set(got) == set(wanted)
    for name, array in wanted.items():
        np.testing.assert_array_equal(got[name], array)
    trained = {variable.name for variable in conversion.model.trainable_variables}
    assert trained == {f"{name}:0" for name in set(wanted) - STATISTICS}


def test_running_statistics_are_not_trained(tmp_path: Path) -> None:
    conversion = trueport.convert(cnn(), verify=False)
    conversion.save(tmp_path / "m")
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    assert set(loaded.weights) == TRAINED | STATISTICS
    assert {name for name, variable in loaded.weights.items() if variable.trainable} == TRAINED


@pytest.mark.parametrize("build, shape", [(cnn, (8, 3, 6, 6)), (mlp, (8, 5))])
def test_three_steps_on_the_saved_model_reduce_the_loss(build: Any, shape: tuple[int, ...], tmp_path: Path) -> None:
    trueport.convert(build(), verify=False).save(tmp_path / "m")
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=shape).astype(np.float32))
    target = tf.constant(rng.normal(size=(8, 2)).astype(np.float32))
    trained = [variable for variable in loaded.weights.values() if variable.trainable]
    before = {name: variable.numpy() for name, variable in loaded.weights.items()}
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = loss_of(loaded, x, target)
        for variable, gradient in zip(trained, tape.gradient(loss, trained), strict=True):
            variable.assign_sub(0.05 * gradient)
        losses.append(float(loss))
    losses.append(float(loss_of(loaded, x, target)))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    changed = {name for name, variable in loaded.weights.items() if np.any(variable.numpy() != before[name])}
    assert changed == set(before) - STATISTICS


def test_training_shows_in_the_signature_too(tmp_path: Path) -> None:
    """The variables that are trained are those that serve."""
    trueport.convert(mlp(), verify=False).save(tmp_path / "m")
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    loaded.weights["l2.bias"].assign([10.0, 20.0])
    x = tf.zeros([1, 5])
    np.testing.assert_array_equal(loaded.signatures["serving_default"](x=x)["y"], loaded(x)["y"])
    assert loaded(x)["y"].numpy().min() > 5


def test_checkpoint_goes_around(tmp_path: Path) -> None:
    conversion = trueport.convert(mlp(), verify=False)
    model = conversion.model
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
    before = {name: variable.numpy() for name, variable in model.weights.items()}
    for variable in model.trainable_variables:
        variable.assign(tf.zeros_like(variable))
    tf.train.Checkpoint(model=model).restore(path).assert_consumed()
    for name, array in before.items():
        np.testing.assert_array_equal(model.weights[name], array)


def test_a_trained_model_is_saved_again(tmp_path: Path) -> None:
    conversion = trueport.convert(mlp(), verify=False)
    conversion.model.weights["l2.bias"].assign([3.0, 4.0])
    conversion.save(tmp_path / "m")
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.weights["l2.bias"], [3.0, 4.0])


def tied(second: onnx.NodeProto, output: list[Any]) -> onnx.ModelProto:
    """One weight [4, 4], used by a Gemm with transB and once more."""
    return model_of(
        [oh.make_node("Gemm", ["x", "w"], ["h"], "first", transB=1), second],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, output)],
        initializers=[weight("w", 4, 4)],
    )


@pytest.mark.parametrize(
    "second",
    [
        oh.make_node("MatMul", ["h", "w"], ["y"], "second"),
        oh.make_node("Gemm", ["h", "w"], ["y"], "second", transB=1),
    ],
    ids=["two layouts", "one layout"],
)
def test_tied_weights_stay_one_variable(second: onnx.NodeProto) -> None:
    model = tied(second, ["n", 4])
    conversion = trueport.convert(model, verify=False)
    assert len(conversion.model.variables) == 1
    (w,) = source_weights(model).values()
    x = RNG.normal(size=(3, 4)).astype(np.float32)
    wanted = x @ w.T @ (w.T if second.op_type == "Gemm" else w)
    np.testing.assert_allclose(conversion.model(tf.constant(x))["y"], wanted, rtol=1e-5, atol=1e-6)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(conversion.model(tf.constant(x))["y"])
    (gradient,) = tape.gradient(total, conversion.model.trainable_variables)
    assert gradient.shape == [4, 4]


def test_a_kernel_shared_by_convolutions_of_two_layouts_stays_one_variable() -> None:
    """A kernel for Conv is held channel-last; as a plain tensor it is read in the source's order."""
    kernel = weight("k", 4, 3, 3, 3)
    model = model_of(
        [
            oh.make_node("Conv", ["x", "k"], ["a"], "conv"),
            oh.make_node("ConvTranspose", ["a", "k"], ["y"], "back"),
            oh.make_node("ReduceSum", ["k"], ["s"], "sum", keepdims=0),
        ],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 6, 6])],
        [
            oh.make_tensor_value_info("y", TensorProto.FLOAT, None),
            oh.make_tensor_value_info("s", TensorProto.FLOAT, []),
        ],
        initializers=[kernel],
    )
    conversion = trueport.convert(model)
    assert len(conversion.model.variables) == 1
    assert conversion.report.verdict == trueport.fidelity.Verdict.FAITHFUL
