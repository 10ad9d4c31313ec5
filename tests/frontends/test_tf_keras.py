"""Keras 2, which lives on as tf_keras: its model objects, its files, and the loops of its SavedModels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frontends.harness import agree, op_types
from trueport.errors import InvalidModel

keras = pytest.importorskip("tf_keras", reason="tf_keras is not installed")
L = keras.layers
RECURRENT = ("LSTM", "GRU", "RNN", "Loop")


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


SEQUENCES = ([normal(2, 4, 3)], [normal(5, 7, 3)])
PICTURES = ([normal(2, 8, 8, 3)], [normal(3, 8, 8, 3)])


def stirred(model: Any) -> Any:
    """No bias of zero, no scale of one."""
    rng = np.random.default_rng(1)
    for weight in model.weights:
        weight.assign(rng.uniform(0.1, 0.6, weight.shape))
    return model


def recurrent(*layers: Any) -> Any:
    return stirred(keras.Sequential([keras.Input((None, 3)), *layers]))


def pictures() -> Any:
    layers = [L.Conv2D(4, 3, padding="same"), L.BatchNormalization(), L.ReLU(), L.MaxPooling2D(), L.Flatten()]
    return stirred(keras.Sequential([keras.Input((8, 8, 3)), *layers, L.Dense(2, activation="softmax")]))


def two_inputs() -> Any:
    left, right = keras.Input((3,), name="left"), keras.Input((3,), name="right")
    joined = L.Concatenate()([left, L.Dense(3, activation="gelu")(right)])
    return stirred(keras.Model([left, right], [L.Dense(2, name="first")(joined), L.Add(name="second")([left, right])]))


def test_a_sequential_model() -> None:
    assert "BatchNormalization" in op_types(agree(pictures(), *PICTURES))


def test_a_functional_model_keeps_the_names_of_inputs_and_outputs() -> None:
    written = agree(two_inputs(), [normal(2, 3), normal(2, 3)], [normal(5, 3), normal(5, 3)])
    assert [value.name for value in written.graph.input] == ["left", "right"]
    assert [value.name for value in written.graph.output] == ["first", "second"]
    assert written.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


class Doubled(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.dense = L.Dense(3)

    def call(self, x: Any, training: bool = False) -> Any:
        return self.dense(x) * (3.0 if training else 2.0)


def test_a_subclassed_model_that_was_called() -> None:
    model = Doubled()
    model(normal(2, 4))
    agree(stirred(model), [normal(2, 4)], [normal(5, 4)])


def test_a_subclassed_model_that_was_never_called() -> None:
    with pytest.raises(InvalidModel, match="not built"):
        agree(Doubled(), [normal(2, 4)])


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_files(name: str, tmp_path: Path) -> None:
    model = recurrent(L.LSTM(4, time_major=False))
    model.save(tmp_path / name)
    assert "LSTM" in op_types(agree(tmp_path / name, *SEQUENCES))


STACKS = {
    "LSTM": (lambda: [L.LSTM(4)], ["LSTM"]),
    "LSTM, sequences, backwards": (lambda: [L.LSTM(4, return_sequences=True, go_backwards=True)], ["LSTM"]),
    "GRU": (lambda: [L.GRU(4)], ["GRU"]),
    "GRU, reset before": (lambda: [L.GRU(4, reset_after=False)], ["GRU"]),
    "SimpleRNN": (lambda: [L.SimpleRNN(4)], ["RNN"]),
    "stacked": (lambda: [L.LSTM(4, return_sequences=True), L.GRU(5)], ["LSTM", "GRU"]),
    "relu": (lambda: [L.LSTM(4, activation="relu")], ["LSTM"]),
    "masked": (lambda: [L.Masking(), L.LSTM(4)], ["Loop"]),
}


@pytest.mark.parametrize(("layers", "operators"), STACKS.values(), ids=STACKS)
def test_while_loops_of_saved_models(layers: Any, operators: list[str], tmp_path: Path) -> None:
    recurrent(*layers()).save(tmp_path / "saved", save_format="tf")
    written = agree(tmp_path / "saved", *SEQUENCES)
    assert [op for op in op_types(written) if op in RECURRENT] == operators


def test_a_model_as_keras_2_exports_it(tmp_path: Path) -> None:
    pictures().export(tmp_path / "saved")
    agree(tmp_path / "saved", *PICTURES)
