"""The models of the Keras zoo, each as a person would write it."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

__all__ = ["WORDS", "application"]

WORDS = ("a", "good", "bad", "film", "with", "no", "plot", "and", "great", "actors", "the", "end")


def application(name: str, size: int, **options: Any) -> Any:
    """A family of keras.applications with random weights."""
    x = keras.Input((size, size, 3), name="x")
    return keras.Model(x, getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), **options)(x))


def mlp() -> Any:
    x = keras.Input((64,), name="x")
    y = x
    for width, activation in ((256, "relu"), (256, "tanh"), (128, "silu"), (64, "elu")):
        y = layers.Dense(width, activation=activation)(y)
    return keras.Model(x, layers.Dense(10, activation="softmax")(layers.Dropout(0.2)(y)))


def small_cnn() -> Any:
    x = keras.Input((28, 28, 1), name="x")
    y = layers.MaxPooling2D()(layers.Conv2D(32, 3, activation="relu")(x))
    y = layers.MaxPooling2D()(layers.Conv2D(64, 3, activation="relu")(y))
    return keras.Model(x, layers.Dense(10, activation="softmax")(layers.Flatten()(y)))


def _convolved(y: Any, width: int, size: int = 3, stride: int = 1, activation: str | None = "relu") -> Any:
    y = layers.Conv2D(width, size, stride, "same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    return layers.Activation(activation)(y) if activation else y


def residual() -> Any:
    x = keras.Input((32, 32, 3), name="x")
    y = _convolved(x, 32)
    for width, stride in ((32, 1), (64, 2), (128, 2)):
        short = _convolved(y, width, 1, stride, None)
        y = _convolved(_convolved(y, width, stride=stride), width, activation=None)
        y = layers.ReLU()(layers.Add()([y, short]))
    return keras.Model(x, layers.Dense(10)(layers.GlobalAveragePooling2D()(y)))


def unet() -> Any:
    x = keras.Input((64, 64, 3), name="x")
    y, kept = x, []
    for width in (16, 32, 64):
        y = _convolved(_convolved(y, width), width)
        kept.append(y)
        y = layers.MaxPooling2D()(y)
    y = _convolved(y, 128)
    for width, short in zip((64, 32, 16), reversed(kept), strict=True):
        y = layers.Conv2DTranspose(width, 2, 2, "same")(y)
        y = _convolved(layers.Concatenate()([y, short]), width)
    return keras.Model(x, layers.Conv2D(2, 1, activation="sigmoid")(y))


def generator() -> Any:
    x = keras.Input((32,), name="x")
    y = layers.Reshape((4, 4, 128))(layers.Dense(4 * 4 * 128)(x))
    for width in (64, 32):
        y = layers.Conv2DTranspose(width, 4, 2, "same")(layers.UpSampling2D(interpolation="bilinear")(y))
        y = layers.LeakyReLU(0.2)(layers.BatchNormalization()(y))
    return keras.Model(x, layers.Conv2DTranspose(3, 5, 1, "same", activation="tanh")(y))


def wavenet() -> Any:
    x = keras.Input((256, 16), name="x")
    y = layers.Conv1D(32, 1)(x)
    for rate in (1, 2, 4, 8, 16):
        tanh = layers.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="tanh")(y)
        gate = layers.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(y)
        y = layers.Add()([y, layers.Conv1D(32, 1)(layers.Multiply()([tanh, gate]))])
    return keras.Model(x, layers.Dense(10)(layers.GlobalMaxPooling1D()(y)))


def conv3d() -> Any:
    x = keras.Input((8, 32, 32, 3), name="x")
    y = layers.MaxPooling3D((1, 2, 2))(layers.Conv3D(16, 3, padding="same", activation="relu")(x))
    y = layers.AveragePooling3D(2)(layers.Conv3D(32, 3, padding="same", activation="relu")(y))
    return keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling3D()(layers.BatchNormalization()(y))))


def normalizations() -> Any:
    x = keras.Input((32, 32, 8), name="x")
    y = x
    for layer in (layers.GroupNormalization(4), layers.LayerNormalization(), layers.GroupNormalization(-1)):
        y = layer(layers.Conv2D(16, 3, padding="same")(y))
    y = layers.UnitNormalization()(layers.RMSNormalization()(y))
    return keras.Model(x, layers.Conv2D(4, 1)(y))


def lstm() -> Any:
    x = keras.Input((64, 32), name="x")
    return keras.Model(x, layers.Dense(10)(layers.LSTM(64)(layers.LSTM(64, return_sequences=True)(x))))


def gru() -> Any:
    x = keras.Input((64, 32), name="x")
    y = layers.GRU(64, return_sequences=True)(x)
    return keras.Model(x, layers.Dense(10)(layers.GRU(64, reset_after=False)(y)))


def bidirectional() -> Any:
    x = keras.Input((40, 32), name="x")
    y = layers.Bidirectional(layers.LSTM(32, return_sequences=True))(x)
    y = layers.Bidirectional(layers.GRU(32, return_sequences=True))(y)
    return keras.Model(x, layers.Dense(10)(layers.Bidirectional(layers.SimpleRNN(16))(y)))


def masked_lstm() -> Any:
    x = keras.Input((30,), dtype="int32", name="x")
    y = layers.Embedding(500, 32, mask_zero=True)(x)
    return keras.Model(x, layers.Dense(2)(layers.LSTM(32)(y)))


def conv_lstm() -> Any:
    x = keras.Input((6, 16, 16, 3), name="x")
    return keras.Model(x, layers.Conv2D(1, 1)(layers.ConvLSTM2D(8, 3, padding="same")(x)))


def seq2seq() -> Any:
    source = keras.Input((16,), dtype="int32", name="source")
    target = keras.Input((12,), dtype="int32", name="target")
    _, *state = layers.LSTM(48, return_state=True)(layers.Embedding(200, 32)(source))
    y = layers.LSTM(48, return_sequences=True)(layers.Embedding(200, 32)(target), initial_state=state)
    return keras.Model([source, target], layers.Dense(200, activation="softmax")(y))


def _attended(y: Any, *, heads: int, causal: bool = False, activation: str = "relu") -> Any:
    width = y.shape[-1]
    z = layers.LayerNormalization()(y)
    y = y + layers.MultiHeadAttention(heads, width // heads)(z, z, use_causal_mask=causal)
    z = layers.Dense(2 * width, activation=activation)(layers.LayerNormalization()(y))
    return y + layers.Dense(width)(z)


def encoder() -> Any:
    x = keras.Input((64, 128), name="x")
    y = _attended(_attended(x, heads=4), heads=4)
    return keras.Model(x, layers.Dense(10)(layers.GlobalAveragePooling1D()(y)))


def decoder() -> Any:
    x = keras.Input((48,), dtype="int32", name="x")
    y = layers.Embedding(1000, 128)(x) + layers.Embedding(48, 128)(ops.arange(48))
    y = _attended(_attended(y, heads=4, causal=True), heads=4, causal=True)
    return keras.Model(x, layers.Dense(1000)(layers.LayerNormalization()(y)))


def vision_transformer() -> Any:
    x = keras.Input((64, 64, 3), name="x")
    y = layers.Reshape((64, 96))(layers.Conv2D(96, 8, 8)(x))
    for _ in range(3):
        y = _attended(y, heads=3, activation="gelu")
    return keras.Model(x, layers.Dense(10, activation="softmax")(y[:, 0]))


def recommender() -> Any:
    user = keras.Input((), dtype="int32", name="user")
    items = keras.Input((20,), dtype="int32", name="items")
    who = layers.Embedding(1000, 32)(user)
    seen = layers.Embedding(5000, 32)(items)
    score = layers.Dot(axes=(2, 1))([seen, layers.Dense(32)(who)])
    best, place = ops.top_k(score, 5)
    return keras.Model([user, items], {"best": best, "chosen": ops.take_along_axis(items, place, axis=1)})


def two_towers() -> Any:
    picture = keras.Input((32, 32, 3), name="picture")
    numbers = keras.Input((10,), name="numbers")
    seen = layers.GlobalAveragePooling2D()(_convolved(picture, 32, stride=2))
    y = layers.Concatenate()(
        [seen, layers.Dense(32, activation="relu")(layers.Normalization(mean=0.1, variance=2.0)(numbers))]
    )
    return keras.Model(
        [picture, numbers],
        {
            "kind": layers.Dense(5, activation="softmax")(y),
            "price": layers.Dense(1)(y),
            "on": layers.Dense(1, "sigmoid")(y),
        },
    )


def text_lookup() -> Any:
    x = keras.Input((12,), dtype="string", name="x")
    y = layers.Embedding(len(WORDS) + 1, 16)(layers.StringLookup(vocabulary=list(WORDS))(x))
    return keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))


class Excitation(layers.Layer):
    """Squeeze and excite, written with keras.ops."""

    def build(self, shape: Any) -> None:
        self.inner = self.add_weight(shape=(shape[-1], 4), name="inner")
        self.outer = self.add_weight(shape=(4, shape[-1]), name="outer")

    def call(self, x: Any) -> Any:
        mean = ops.mean(x, axis=(1, 2))
        gate = ops.sigmoid(ops.matmul(ops.relu(ops.matmul(mean, self.inner)), self.outer))
        return x * gate[:, None, None, :] + ops.roll(x, 1, axis=1) * ops.where(x > 0, 0.1, 0.0)


def custom_layer() -> Any:
    x = keras.Input((32, 32, 16), name="x")
    y = Excitation()(layers.Conv2D(16, 3, padding="same", activation="swish")(x))
    return keras.Model(x, layers.Dense(4)(layers.GlobalMaxPooling2D()(Excitation()(y))))


def mixed_precision() -> Any:
    keras.mixed_precision.set_global_policy("mixed_float16")
    x = keras.Input((32, 32, 3), name="x")
    y = layers.GlobalAveragePooling2D()(_convolved(_convolved(x, 16), 32, stride=2))
    return keras.Model(x, layers.Dense(10, activation="softmax", dtype="float32")(layers.Dense(32, "relu")(y)))


def int8() -> Any:
    model = mlp()
    model.quantize("int8")
    return model


class Refined(layers.Layer):
    """As many steps of x ← tanh(W x) as it takes, twenty at most."""

    def build(self, shape: Any) -> None:
        self.weight = self.add_weight(shape=(shape[-1], shape[-1]), name="weight", initializer="orthogonal")

    def call(self, x: Any) -> Any:
        def step(i: Any, y: Any) -> tuple[Any, Any]:
            return i + 1, ops.tanh(ops.matmul(y, self.weight)) * 0.9

        _, y = ops.while_loop(lambda i, y: ops.logical_and(i < 20, ops.max(ops.abs(y)) > 0.05), step, (0, x))
        return ops.cond(ops.mean(y) > 0, lambda: y, lambda: -2.0 * y)


def control_flow() -> Any:
    x = keras.Input((32,), name="x")
    return keras.Model(x, layers.Dense(4)(Refined()(x)))


def spectrogram() -> Any:
    x = keras.Input((4000,), name="x")
    real, imaginary = ops.stft(x, 256, 128, 256)
    y = ops.log(ops.sqrt(real * real + imaginary * imaginary) + 1e-3)
    y = layers.MaxPooling2D()(layers.Conv2D(8, 3, activation="relu")(ops.expand_dims(y, -1)))
    return keras.Model(x, layers.Dense(6)(layers.GlobalAveragePooling2D()(y)))


class Detected(layers.Layer):
    """The best boxes of a grid, with tf.image."""

    def call(self, boxes: Any, scores: Any) -> Any:
        import tensorflow as tf

        found = tf.image.combined_non_max_suppression(boxes[:, :, None, :], scores, 10, 20, 0.5, 0.1)
        return tuple(found)

    def compute_output_spec(self, boxes: Any, scores: Any) -> Any:
        shapes = ((20, 4), "float32"), ((20,), "float32"), ((20,), "float32"), ((), "int32")
        return tuple(keras.KerasTensor((None, *shape), dtype=dtype) for shape, dtype in shapes)


def detection() -> Any:
    x = keras.Input((32, 32, 3), name="x")
    y = _convolved(_convolved(x, 16, stride=2), 32, stride=2)
    corners = layers.Reshape((64, 4))(layers.Conv2D(4, 1, activation="sigmoid")(y))
    scores = layers.Reshape((64, 3))(layers.Conv2D(3, 1, activation="sigmoid")(y))
    boxes = ops.concatenate([corners[..., :2], corners[..., :2] + corners[..., 2:]], -1)
    return keras.Model(x, Detected()(boxes, scores))


def resizing() -> Any:
    x = keras.Input((30, 40, 3), name="x")
    y = layers.CenterCrop(48, 48)(layers.Resizing(64, 64)(layers.Rescaling(1 / 127.5, -1.0)(x)))
    y = layers.ZeroPadding2D(2)(layers.SeparableConv2D(16, 3, 2, activation="relu")(y))
    return keras.Model(x, layers.Resizing(16, 16, "bicubic")(layers.DepthwiseConv2D(3, padding="same")(y)))
