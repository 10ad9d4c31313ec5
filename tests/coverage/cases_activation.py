"""Activations, merging layers and losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.coverage.case import Cannot, Case, NoGraph
from tests.coverage.cases_math import ANY, FRACTIONS, TWO, TWO_POSITIVE

__all__ = ["CASES"]

_RNG = np.random.default_rng(11)


def _batch(count: int, *shape: int) -> np.ndarray:
    return _RNG.normal(size=(count, *shape)).astype(np.float32)


def _layer(name: str, label: str = "", inputs: int = 1, **options: Any) -> Case:
    def make() -> keras.Model:
        given = [keras.Input((4, 6)) for _ in range(inputs)]
        made = getattr(keras.layers, name)(**options)
        return keras.Model(given, made(given if inputs > 1 else given[0]))

    return Case(f"keras.layers.{name}", make, [[_batch(n, 4, 6) for _ in range(inputs)] for n in (1, 3)], label=label)


def _activation(name: str) -> Case:
    return _layer("Activation", name, activation=name)


def _plain(prefix: str, space: Any, names: str, **options: Any) -> Iterable[Case]:
    for name in names.split():
        yield Case(f"{prefix}.{name}", _function(space, name, options), ANY)


def _function(space: Any, name: str, options: dict[str, Any]) -> Callable[[], Any]:
    return lambda: lambda x: getattr(space, name)(x, **options)


def _case(name: str, function: Callable[..., Any], samples: Any = ANY) -> Case:
    return Case(name, lambda: function, samples)


EVEN = [[_batch(2, 6)], [_batch(5, 6)]]
CLASSES = [[np.arange(n, dtype=np.int32) % 3, _batch(n, 3)] for n in (2, 5)]
SHARES = [[np.eye(3, dtype=np.float32)[np.arange(n) % 3], _batch(n, 3)] for n in (2, 5)]
TARGETS = [[(_batch(n, 3) > 0).astype(np.float32), _batch(n, 3)] for n in (2, 5)]

_LAYERS = [
    *(
        _activation(name)
        for name in [
            "celu",
            "elu",
            "exponential",
            "gelu",
            "glu",
            "hard_shrink",
            "hard_sigmoid",
            "hard_silu",
            "hard_tanh",
            "leaky_relu",
            "linear",
            "log_sigmoid",
            "log_softmax",
            "mish",
            "relu",
            "relu6",
            "selu",
            "sigmoid",
            "silu",
            "soft_shrink",
            "softmax",
            "softplus",
            "softsign",
            "sparse_plus",
            "sparse_sigmoid",
            "sparsemax",
            "squareplus",
            "tanh",
            "tanh_shrink",
        ]
    ),
    *(_layer(name, inputs=3) for name in ("Add", "Average", "Maximum", "Minimum", "Multiply")),
    _layer("Subtract", inputs=2),
    _layer("ActivityRegularization", l2=0.1),
    _layer("ELU", alpha=0.7),
    _layer("LeakyReLU", negative_slope=0.2),
    _layer("PReLU", alpha_initializer="uniform"),
    _layer("ReLU", max_value=1.0, negative_slope=0.1, threshold=0.2),
    _layer("Softmax", axis=1),
    _layer("Rescaling", scale=0.5, offset=-1.0),
    _layer("Normalization", axis=-1, mean=[0.1] * 6, variance=[2.0] * 6),
    _layer("Lambda", function=lambda x: x * 2 + 1),
]

_KERAS = [
    *_plain(
        "keras.ops",
        keras.ops,
        "celu elu gelu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax "
        "normalize relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid "
        "sparsemax squareplus swish tanh_shrink",
    ),
    _case("keras.ops.glu", keras.ops.glu, EVEN),
    _case("keras.ops.threshold", lambda x: keras.ops.threshold(x, 0.5, -1.0)),
    _case("keras.ops.binary_crossentropy", lambda a, b: keras.ops.binary_crossentropy(a, b, from_logits=True), TARGETS),
    _case(
        "keras.ops.categorical_crossentropy",
        lambda a, b: keras.ops.categorical_crossentropy(a, b, from_logits=True),
        SHARES,
    ),
    _case(
        "keras.ops.sparse_categorical_crossentropy",
        lambda a, b: keras.ops.sparse_categorical_crossentropy(a, b, from_logits=True),
        CLASSES,
    ),
]

_NN = [
    *_plain(
        "tf.nn",
        tf.nn,
        "crelu elu gelu l2_loss leaky_relu log_softmax relu relu6 selu sigmoid silu softmax softplus softsign swish "
        "tanh zero_fraction scale_regularization_loss",
    ),
    *_plain("tf.math", tf.math, "log_sigmoid log_softmax sigmoid softmax softplus softsign"),
    *_plain("tf.nn", tf.nn, "l2_normalize", axis=-1),
    *_plain("tf.nn", tf.nn, "moments sufficient_statistics", axes=[0]),
    _case("tf.nn.weighted_moments", lambda x, w: tf.nn.weighted_moments(x, [0], w), TWO_POSITIVE),
    _case("tf.nn.normalize_moments", lambda a, b: tf.nn.normalize_moments(4.0, a, b, None), TWO),
    _case("tf.nn.compute_average_loss", lambda x: tf.nn.compute_average_loss(x[:, 0], global_batch_size=4), FRACTIONS),
    _case("tf.nn.log_poisson_loss", tf.nn.log_poisson_loss, TWO_POSITIVE),
    _case("tf.nn.sigmoid_cross_entropy_with_logits", tf.nn.sigmoid_cross_entropy_with_logits, TARGETS),
    _case(
        "tf.nn.weighted_cross_entropy_with_logits",
        lambda a, b: tf.nn.weighted_cross_entropy_with_logits(a, b, 2.0),
        TARGETS,
    ),
    _case("tf.nn.softmax_cross_entropy_with_logits", tf.nn.softmax_cross_entropy_with_logits, SHARES),
    _case("tf.nn.sparse_softmax_cross_entropy_with_logits", tf.nn.sparse_softmax_cross_entropy_with_logits, CLASSES),
]

CASES: list[Case | Cannot | NoGraph] = [*_LAYERS, *_KERAS, *_NN]
