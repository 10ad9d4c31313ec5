"""`Net` as a Keras model, in the layers a person would write it with.

As a script (``python -m bench.keras_net MODEL FOLDER``) it writes a model of the catalogue as a SavedModel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.layers import Net, Weights

__all__ = ["KerasNet", "keras_model"]


class KerasNet:
    """Channel last."""

    def __init__(self) -> None:
        import keras

        self.keras = keras
        self.layers = keras.layers
        self.weights = Weights()
        self.input: Any = None

    def _with(self, layer: Any, x: Any, *weights: np.ndarray) -> Any:
        made = layer(x)
        layer.set_weights([np.asarray(w) for w in weights])
        return made

    def channels(self, x: Any) -> int:
        return int(x.shape[-1])

    def picture(self, channels: int, height: int, width: int) -> Any:
        self.input = self.keras.Input((height, width, channels), name="x")
        return self.input

    def vectors(self, steps: int, features: int) -> Any:
        self.input = self.keras.Input((steps, features), name="x")
        return self.input

    def conv(
        self,
        x: Any,
        out: int,
        kernel: int,
        stride: int = 1,
        pad: int = 0,
        *,
        depthwise: bool = False,
        bias: bool = True,
    ) -> Any:
        each = 1 if depthwise else self.channels(x)
        w = self.weights.kernel(out, each, kernel, kernel, fan_in=each * kernel * kernel)
        parameters = [w.transpose(2, 3, 0, 1) if depthwise else w.transpose(2, 3, 1, 0)]
        parameters += [self.weights.vector(out)] if bias else []
        same = stride == 1 and 2 * pad == kernel - 1
        x = x if same or not pad else self.layers.ZeroPadding2D(pad)(x)
        padding = "same" if same else "valid"
        if depthwise:
            return self._with(self.layers.DepthwiseConv2D(kernel, stride, padding, use_bias=bias), x, *parameters)
        return self._with(self.layers.Conv2D(out, kernel, stride, padding, use_bias=bias), x, *parameters)

    def norm(self, x: Any) -> Any:
        parts = [self.weights.vector(self.channels(x), around) for around in (1.0, 0.0, 0.0, 1.0)]
        return self._with(self.layers.BatchNormalization(epsilon=1e-5), x, *parts)

    def relu(self, x: Any) -> Any:
        return self.layers.ReLU()(x)

    def relu6(self, x: Any) -> Any:
        return self.layers.ReLU(6.0)(x)

    def max_pool(self, x: Any, kernel: int, stride: int, pad: int = 0) -> Any:
        """As keras.applications pad: with zeros, which are no larger than anything behind a ReLU."""
        return self.layers.MaxPooling2D(kernel, stride)(self.layers.ZeroPadding2D(pad)(x) if pad else x)

    def average_pool(self, x: Any, kernel: int, stride: int) -> Any:
        return self.layers.AveragePooling2D(kernel, stride)(x)

    def global_average(self, x: Any) -> Any:
        return self.layers.GlobalAveragePooling2D()(x)

    def flatten(self, x: Any) -> Any:
        return self.layers.Flatten()(x)

    def add(self, a: Any, b: Any) -> Any:
        return self.layers.Add()([a, b])

    def concat(self, parts: Sequence[Any]) -> Any:
        return self.layers.Concatenate()(list(parts))

    def dense(self, x: Any, out: int) -> Any:
        features = self.channels(x)
        w, b = self.weights.kernel(features, out, fan_in=features), self.weights.vector(out)
        return self._with(self.layers.Dense(out), x, w, b)

    def softmax(self, x: Any) -> Any:
        return self.layers.Softmax()(x)

    def layer_norm(self, x: Any) -> Any:
        parts = [self.weights.vector(self.channels(x), around) for around in (1.0, 0.0)]
        return self._with(self.layers.LayerNormalization(epsilon=1e-5), x, *parts)

    def gelu(self, x: Any) -> Any:
        return self.layers.Activation("gelu")(x)

    def attention(self, x: Any, heads: int) -> Any:
        width = self.channels(x)
        each = width // heads
        layer = self.layers.MultiHeadAttention(heads, each)
        made = layer(x, x)
        drawn = [(self.weights.kernel(width, width, fan_in=width), self.weights.vector(width)) for _ in range(4)]
        inner = [part for w, b in drawn[:3] for part in (w.reshape(width, heads, each), b.reshape(heads, each))]
        layer.set_weights([*inner, drawn[3][0].reshape(heads, each, width), drawn[3][1]])
        return made

    def _recurrent(self, layer: Any, x: Any, units: int, gates: int) -> tuple[Any, list[np.ndarray]]:
        features = self.channels(x)
        w = self.weights.kernel(features, gates, units, fan_in=features).reshape(features, -1)
        r = self.weights.kernel(units, gates, units, fan_in=units * 4).reshape(units, -1)
        return layer(x), [w, r, self.weights.vector(gates * units)]

    def lstm(self, x: Any, units: int) -> Any:
        layer = self.layers.LSTM(units, return_sequences=True)
        made, weights = self._recurrent(layer, x, units, 4)
        layer.set_weights(weights)
        return made

    def gru(self, x: Any, units: int) -> Any:
        layer = self.layers.GRU(units, return_sequences=True, reset_after=True)
        made, (w, r, b) = self._recurrent(layer, x, units, 3)
        layer.set_weights([w, r, np.stack([b, np.zeros_like(b)])])
        return made


def keras_model(architecture: Callable[[Net], Any]) -> Any:
    """The architecture as a keras.Model."""
    net = KerasNet()
    made = architecture(net)
    return net.keras.Model(net.input, made)


def main(name: str, folder: str) -> None:
    from bench.models import find

    architecture = find(name).architecture
    assert architecture is not None
    keras_model(architecture).export(folder, verbose=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
