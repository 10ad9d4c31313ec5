"""TFLite as a target and as a source: made by TensorFlow's own converter, of a Keras network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueport
from trueport.fidelity import Verdict
from trueport.runtimes.tflite import TfliteModel
from trueport.sources.open import describe

tf: Any = pytest.importorskip("tensorflow")


@pytest.fixture(scope="module")
def network() -> Any:
    import keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((8, 8, 3), name="image"),
            layers.Conv2D(4, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(6, activation="softmax", name="scores"),
        ]
    )


def lite(model: Any, *, quantized: bool = False) -> bytes:
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if quantized:
        rng = np.random.default_rng(0)

        def examples() -> Iterator[list[np.ndarray]]:
            for _ in range(16):
                yield [rng.normal(size=(1, 8, 8, 3)).astype(np.float32)]

        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = examples
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    content: bytes = converter.convert()
    return content


@pytest.fixture(scope="module")
def plain(network: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("lite") / "m.tflite"
    file.write_bytes(lite(network))
    return file


def test_a_faithful_file_is_faithful_both_ways(network: Any, plain: Path) -> None:
    there = trueport.verify(network, plain, samples=5)
    assert (there.verdict, there.target_runtime, there.samples) == (Verdict.FAITHFUL, "tflite", 5)
    back = trueport.verify(plain, network, samples=5, everywhere=True)
    assert (back.verdict, back.source_runtime, back.executions) == (Verdict.FAITHFUL, "tflite", 5)
    assert "can't be evaluated in float64" in back.oracle


def test_other_weights_depart_both_ways(network: Any, plain: Path) -> None:
    import keras

    other = keras.models.clone_model(network)
    other.set_weights([weight * 1.001 for weight in network.get_weights()])
    assert trueport.verify(other, plain, samples=3).verdict == Verdict.DEPARTS
    assert trueport.verify(plain, other, samples=3).verdict == Verdict.DEPARTS


def test_weights_in_half_precision_are_a_change_of_precision_and_say_by_how_much(network: Any) -> None:
    converter = tf.lite.TFLiteConverter.from_keras_model(network)
    converter.target_spec.supported_types = [tf.float16]
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    half = converter.convert()
    found = trueport.verify(network, half, samples=3)
    assert found.verdict == Verdict.PRECISION_CHANGE
    metrics = found.outputs[0].metrics
    assert metrics is not None
    assert metrics.max_abs is not None and 1e-6 < metrics.max_abs < 1e-2
    assert trueport.verify(network, half, samples=3, precision="strict").verdict == Verdict.DEPARTS
    loose = trueport.verify(network, half, samples=3, atol=1e-2)
    assert loose.verdict == Verdict.WITHIN_TOLERANCE


def test_quantized_tensors_are_integers_whose_meaning_is_known(network: Any, tmp_path: Path) -> None:
    file = tmp_path / "q.tflite"
    file.write_bytes(lite(network, quantized=True))
    model = TfliteModel(file)
    assert [port.dtype for port in (*model.inputs, *model.outputs)] == ["INT8", "INT8"]
    taken, given = (model.quantization()[ports[0].name] for ports in (model.inputs, model.outputs))
    x = np.random.default_rng(1).normal(size=(2, 8, 8, 3)).astype(np.float32)
    q = np.clip(np.round(x / taken.scales[0]) + taken.zero_points[0], -128, 127).astype(np.int8)
    (made,) = model.run({model.inputs[0].name: q}).values()
    scores = (made.astype(np.float32) - given.zero_points[0]) * given.scales[0]
    assert np.abs(scores - network(x).numpy()).max() < 0.1
    assert trueport.verify(file, file, samples=3).verdict == Verdict.FAITHFUL
    assert "int8" in str(describe(file)["quantized"])


def test_inner_tensors_can_be_fetched(network: Any, plain: Path) -> None:
    model = trueport.load(plain)
    x = np.random.default_rng(2).normal(size=(3, 8, 8, 3)).astype(np.float32)
    name = next(name for name in model.inner() if "Relu" in name)
    (got,) = model.run({model.inputs[0].name: x}, fetch=[name]).values()
    np.testing.assert_allclose(got, network.layers[0](x).numpy(), rtol=1e-4, atol=1e-5)
