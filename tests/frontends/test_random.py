"""Random numbers: shapes and types as TensorFlow's, distributions by their moments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types, traced
from trueport.pipeline import convert_file
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

SHAPES = [[np.array([2, 3], np.int32)], [np.array([0, 5], np.int32)]]
SEED = np.array([1, 2], np.int32)


def drawn(function: Callable[..., Any], *inputs: Any, folder: Path) -> np.ndarray:
    """What the converted function gives."""
    place = folder / f"{len(list(folder.iterdir()))}.onnx"
    convert_file(traced(function, [inputs]), place, verify=False)
    model = OnnxRuntimeModel(place)
    (made,) = model.run({port.name: array for port, array in zip(model.inputs, inputs, strict=True)}).values()
    return np.asarray(made, np.float64)


FLOATS: dict[str, Callable[..., Any]] = {
    "uniform": lambda s, d: tf.random.uniform(s, dtype=d),
    "normal": lambda s, d: tf.random.normal(s, dtype=d),
    "truncated_normal": lambda s, d: tf.random.truncated_normal(s, dtype=d),
    "seeded": lambda s, d: tf.random.uniform(s, dtype=d, seed=7),
    "stateless_uniform": lambda s, d: tf.random.stateless_uniform(s, SEED, dtype=d),
    "stateless_normal": lambda s, d: tf.random.stateless_normal(s, SEED, dtype=d),
    "stateless_truncated_normal": lambda s, d: tf.random.stateless_truncated_normal(s, SEED, dtype=d),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str, dtype: str) -> None:
    agree(lambda shape: FLOATS[name](shape, dtype), *SHAPES, ignore_values=True)
    agree(lambda x: tf.cast(x, dtype) + FLOATS[name]([2], dtype), [np.zeros(2, np.float32)], ignore_values=True)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(dtype: str) -> None:
    agree(lambda shape: tf.random.uniform(shape, -3, 9, dtype), *SHAPES, ignore_values=True)
    agree(lambda shape: tf.random.stateless_uniform(shape, SEED, -3, 9, dtype), *SHAPES, ignore_values=True)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_integers_of_the_full_range(dtype: str) -> None:
    agree(lambda shape: tf.random.stateless_uniform(shape, SEED, None, None, dtype), *SHAPES, ignore_values=True)


def test_what_a_known_seed_gives_is_known() -> None:
    written = agree(lambda x: x + tf.random.stateless_normal([3], SEED), [np.zeros(3, np.float32)])
    assert op_types(written) == ["Add"]


def test_choices() -> None:
    logits = np.log(np.array([[1, 2, 3], [3, 2, 1]], np.float32))
    agree(lambda x: tf.random.categorical(x, 5), [logits], [logits[:1]], ignore_values=True)
    agree(lambda x: tf.random.stateless_categorical(x, 5, SEED), [logits], [logits[:1]], ignore_values=True)


def test_a_generator() -> None:
    generator = tf.random.Generator.from_seed(1)
    for draw in (generator.uniform, generator.normal, generator.truncated_normal):
        agree(lambda shape, draw=draw: draw(shape), *SHAPES, ignore_values=True)


def test_moments(tmp_path: Path) -> None:
    shape = np.array([20000], np.int32)
    uniform = drawn(lambda s: tf.random.uniform(s), shape, folder=tmp_path)
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.01
    half = drawn(lambda s: tf.random.uniform(s, dtype=tf.float16), shape, folder=tmp_path)
    assert half.min() >= 0 and half.max() < 1 and abs(half.mean() - 0.5) < 0.01
    normal = drawn(lambda s: tf.random.normal(s), shape, folder=tmp_path)
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03
    cut = drawn(lambda s: tf.random.truncated_normal(s), shape, folder=tmp_path)
    assert abs(cut).max() <= 2 and abs(cut.std() - 0.8796) < 0.03
    dice = drawn(lambda s: tf.random.uniform(s, 1, 7, tf.int32), shape, folder=tmp_path)
    assert set(dice) == {1, 2, 3, 4, 5, 6} and abs(dice.mean() - 3.5) < 0.06
    full = drawn(lambda s: tf.random.stateless_uniform(s, SEED, None, None, tf.int32), shape, folder=tmp_path)
    assert full.min() < -2e9 and full.max() > 2e9


def test_a_shuffle_is_a_permutation(tmp_path: Path) -> None:
    rows = np.arange(40, dtype=np.float32).reshape(20, 2)
    made = drawn(lambda x: tf.random.shuffle(x), rows, folder=tmp_path)
    assert sorted(made.tolist()) == rows.tolist() and made.tolist() != rows.tolist()
