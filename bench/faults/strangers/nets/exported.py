"""Models that other tools write: PyTorch's exporter, Keras by way of Trueport, ONNX Runtime's quantization."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.faults.strangers.nets.sketch import Net, Sketch

__all__ = ["NETS"]


def _export(module: Any, example: tuple[Any, ...], dynamic: dict[str, Any] | None = None) -> onnx.ModelProto:
    import torch

    program = torch.onnx.export(module.eval(), example, dynamo=True, dynamic_shapes=dynamic, verbose=False)
    model: onnx.ModelProto = program.model_proto
    return model


def _torch_vision() -> onnx.ModelProto:
    import torch
    from torch import nn

    torch.manual_seed(1)
    module = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.Conv2d(8, 8, 3, groups=4, padding=1),
        nn.Hardswish(), nn.AvgPool2d(2, ceil_mode=True), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.Conv2d(8, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5), nn.LogSoftmax(-1),
    )  # fmt: skip
    return _export(module, (torch.randn(2, 3, 13, 13),))


def _torch_transformer() -> onnx.ModelProto:
    import torch
    from torch import nn

    torch.manual_seed(2)

    class Block(nn.Module):  # type: ignore[misc]
        """Attention written out, and a gated layer behind it."""

        def __init__(self) -> None:
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
            self.up, self.down = nn.Linear(8, 16), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            q, k, v = self.qkv(self.norm(x)).reshape(x.shape[0], 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
            mask = torch.triu(torch.full((6, 6), -1e4), 1)
            shares = (q @ k.transpose(-1, -2) / 2 + mask).softmax(-1)
            x = x + self.out((shares @ v).transpose(1, 2).reshape(x.shape[0], 6, 8))
            a, b = self.up(x).chunk(2, -1)
            return x + self.down(a * nn.functional.gelu(b))

    return _export(Block(), (torch.randn(2, 6, 8),))


def _torch_lstm() -> onnx.ModelProto:
    import torch
    from torch import nn

    torch.manual_seed(3)

    class Tagger(nn.Module):  # type: ignore[misc]
        """Embedding, LSTM, a layer for tags."""

        def __init__(self) -> None:
            super().__init__()
            self.table, self.cell, self.out = nn.Embedding(11, 5), nn.LSTM(5, 6, batch_first=True), nn.Linear(6, 4)

        def forward(self, tokens: Any) -> Any:
            y, _ = self.cell(self.table(tokens))
            return self.out(y).argmax(-1), self.out(y.mean(1))

    return _export(Tagger(), (torch.randint(0, 11, (2, 7)),))


def _keras(layers: list[Any]) -> onnx.ModelProto:
    import keras  # type: ignore[import-untyped]
    import onnx_ir as ir

    from trueport.pipeline import convert

    model: onnx.ModelProto = ir.to_proto(convert(keras.Sequential(layers), to="onnx", verify=False).model)
    return model


def _keras_convnet() -> onnx.ModelProto:
    import keras
    from keras import layers

    keras.utils.set_random_seed(4)
    stack = [
        layers.Input((12, 12, 3)), layers.Conv2D(6, 3, strides=2, padding="same"), layers.BatchNormalization(),
        layers.ReLU(6.0), layers.DepthwiseConv2D(3, padding="same"), layers.Activation("silu"),
        layers.AveragePooling2D(2, padding="same"), layers.GlobalAveragePooling2D(), layers.Dense(4, "softmax"),
    ]  # fmt: skip
    return _keras(stack)


def _keras_sequence() -> onnx.ModelProto:
    import keras
    from keras import layers

    keras.utils.set_random_seed(5)
    stack = [layers.Input((6, 4)), layers.Conv1D(5, 3, padding="causal"), layers.GRU(5), layers.Dense(3, "tanh")]
    return _keras(stack)


def _small_cnn() -> onnx.ModelProto:
    s = Sketch("before_quantization", 17)
    x = s.input("x", ["N", 3, 8, 8])
    y = s("Relu", s("Conv", x, s.weight(6, 3, 3, 3), s.weight(6), pads=[1, 1, 1, 1]))
    y = s("MaxPool", s("Conv", y, s.weight(4, 6, 3, 3), s.weight(4)), kernel_shape=[2, 2], strides=[2, 2])
    return s.finish(s("Gemm", s("Flatten", y), s.weight(36, 5), s.weight(5)))


def _quantize(static: bool) -> onnx.ModelProto:
    from onnxruntime import quantization

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "before.onnx"), Path(folder, "after.onnx")
        onnx.save(_small_cnn(), before)
        if static:
            rng = np.random.default_rng(6)

            class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
                """Four samples."""

                def __init__(self) -> None:
                    self.left = [{"x": rng.normal(size=(2, 3, 8, 8)).astype(np.float32)} for _ in range(4)]

                def get_next(self) -> dict[str, np.ndarray] | None:
                    return self.left.pop() if self.left else None

            quantization.quantize_static(before, after, Reader(), per_channel=True)
        else:
            quantization.quantize_dynamic(before, after, weight_type=quantization.QuantType.QUInt8)
        return onnx.load(after)


NETS = (
    Net("torch_vision", _torch_vision, cached=True),
    Net("torch_transformer", _torch_transformer, cached=True),
    Net("torch_lstm", _torch_lstm, bounds={"tokens": (0, 10)}, cached=True),
    Net("keras_convnet", _keras_convnet, cached=True),
    Net("keras_sequence", _keras_sequence, cached=True),
    Net("static_quantized", lambda: _quantize(static=True), cached=True),
    Net("dynamic_quantized_cnn", lambda: _quantize(static=False), cached=True),
)
