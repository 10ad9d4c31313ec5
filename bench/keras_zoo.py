"""Keras models of many kinds, small to medium, with random weights: ``python -m bench.keras_zoo NAME FOLDER``.

As a script it writes one of them as a SavedModel with Keras' own ``export``: every converter gets this one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import keras_zoo_nets as nets

__all__ = ["ZOO", "ZooModel", "find", "matching"]

Feeds = dict[str, np.ndarray]
Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class ZooModel:
    """A model, what it takes, and how far float rounding may carry its results."""

    name: str
    make: Callable[[], Any]
    inputs: dict[str, Draw]
    batch: int = 1
    """of the latencies; that results agree is seen at this and at another one"""
    tolerance: float = 1e-3
    """distance to TensorFlow's outputs, relative to the largest of each"""
    quick: bool = False

    def sample(self, batch: int) -> Feeds:
        rng = np.random.default_rng(batch)
        return {name: draw(rng, batch) for name, draw in self.inputs.items()}

    def export(self, folder: str) -> None:
        import keras

        keras.utils.set_random_seed(0)
        model = self.make()
        _stir(model)
        model.export(folder, verbose=False)


def _stir(model: Any) -> None:
    """Biases of zero and scales of one would hide that they were lost."""
    rng = np.random.default_rng(0)
    for variable in model.variables:
        if len(variable.shape) == 1 and variable.dtype == "float32":
            variable.assign(np.asarray(variable) + rng.uniform(0, 0.05, variable.shape).astype(np.float32))


def _normal(*shape: int) -> Draw:
    return lambda rng, batch: rng.normal(size=(batch, *shape)).astype(np.float32)


def _picture(size: int) -> Draw:
    return lambda rng, batch: rng.uniform(0, 255, (batch, size, size, 3)).astype(np.float32)


def _tokens(limit: int, *shape: int, start: int = 0) -> Draw:
    return lambda rng, batch: rng.integers(start, limit, (batch, *shape)).astype(np.int32)


def _padded(limit: int, steps: int) -> Draw:
    """Sequences of differing lengths with zeros behind."""

    def draw(rng: np.random.Generator, batch: int) -> np.ndarray:
        lengths = rng.integers(steps // 2, steps + 1, (batch, 1))
        return np.where(np.arange(steps) < lengths, rng.integers(1, limit, (batch, steps)), 0).astype(np.int32)

    return draw


def _words(rng: np.random.Generator, batch: int) -> np.ndarray:
    known = np.array([*nets.WORDS, "unheard", "of"], object)
    return known[rng.integers(0, len(known), (batch, 12))]


def _application(name: str, size: int, *, quick: bool = False, **options: Any) -> ZooModel:
    return ZooModel(name.lower(), lambda: nets.application(name, size, **options), {"x": _picture(size)}, quick=quick)


def _simple(make: Callable[[], Any], *shape: int, **settings: Any) -> ZooModel:
    return ZooModel(make.__name__, make, {"x": _normal(*shape)}, **settings)


ZOO = (
    _simple(nets.mlp, 64, batch=8, quick=True),
    _simple(nets.small_cnn, 28, 28, 1, quick=True),
    _simple(nets.residual, 32, 32, 3),
    _application("ResNet50", 96),
    _application("VGG16", 64, include_top=False),
    _application("MobileNetV2", 96),
    _application("MobileNetV3Small", 96),
    _application("EfficientNetB0", 96),
    _application("DenseNet121", 64),
    _application("InceptionV3", 96),
    _application("Xception", 96),
    _application("ConvNeXtTiny", 64),
    _application("NASNetMobile", 64, include_top=False),
    _simple(nets.unet, 64, 64, 3),
    _simple(nets.generator, 32),
    _simple(nets.wavenet, 256, 16),
    _simple(nets.conv3d, 8, 32, 32, 3),
    _simple(nets.normalizations, 32, 32, 8),
    _simple(nets.lstm, 64, 32, quick=True),
    _simple(nets.gru, 64, 32),
    _simple(nets.bidirectional, 40, 32),
    ZooModel("masked_lstm", nets.masked_lstm, {"x": _padded(500, 30)}, batch=4),
    _simple(nets.conv_lstm, 6, 16, 16, 3),
    ZooModel("seq2seq", nets.seq2seq, {"source": _tokens(200, 16), "target": _tokens(200, 12)}),
    _simple(nets.encoder, 64, 128, quick=True),
    ZooModel("decoder", nets.decoder, {"x": _tokens(1000, 48)}),
    _simple(nets.vision_transformer, 64, 64, 3),
    ZooModel("recommender", nets.recommender, {"user": _tokens(1000), "items": _tokens(5000, 20)}, batch=8),
    ZooModel("two_towers", nets.two_towers, {"picture": _normal(32, 32, 3), "numbers": _normal(10)}),
    ZooModel("text_lookup", nets.text_lookup, {"x": _words}, batch=4),
    _simple(nets.custom_layer, 32, 32, 16),
    _simple(nets.mixed_precision, 32, 32, 3, tolerance=2e-2),
    _simple(nets.int8, 64, batch=8, tolerance=2e-2),
    _simple(nets.control_flow, 32, batch=4),
    _simple(nets.spectrogram, 4000),
    _simple(nets.detection, 32, 32, 3),
    _simple(nets.resizing, 30, 40, 3),
)


def find(name: str) -> ZooModel:
    """The model of this name."""
    return next(model for model in ZOO if model.name == name)


def matching(pattern: str, quick: bool) -> Iterator[ZooModel]:
    """The models whose name holds the pattern."""
    return (model for model in ZOO if re.search(pattern, model.name) and (model.quick or not quick))


if __name__ == "__main__":
    find(sys.argv[1]).export(sys.argv[2])
