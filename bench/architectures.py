"""Well-known architectures, written once for all forms."""

from __future__ import annotations

from typing import Any

from bench.layers import Net

__all__ = ["densenet", "gru", "lstm", "mobilenet_v2", "resnet18", "small_cnn", "squeezenet", "transformer", "vgg11"]

CLASSES = 1000


def _conv_norm_relu(net: Net, x: Any, out: int, kernel: int, stride: int = 1, pad: int = 0) -> Any:
    return net.relu(net.norm(net.conv(x, out, kernel, stride, pad, bias=False)))


def resnet18(net: Net) -> Any:
    x = net.max_pool(_conv_norm_relu(net, net.picture(3, 224, 224), 64, 7, 2, 3), 3, 2, 1)
    for out, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        y = _conv_norm_relu(net, x, out, 3, stride, 1)
        y = net.norm(net.conv(y, out, 3, 1, 1, bias=False))
        same = stride == 1 and net.channels(x) == out
        x = net.relu(net.add(x if same else net.norm(net.conv(x, out, 1, stride, bias=False)), y))
    return net.dense(net.global_average(x), CLASSES)


def mobilenet_v2(net: Net) -> Any:
    x = net.relu6(net.norm(net.conv(net.picture(3, 224, 224), 32, 3, 2, 1, bias=False)))
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, out, repeats, first in stages:
        for stride in (first, *[1] * (repeats - 1)):
            x = _inverted_residual(net, x, expansion, out, stride)
    x = net.relu6(net.norm(net.conv(x, 1280, 1, bias=False)))
    return net.dense(net.global_average(x), CLASSES)


def _inverted_residual(net: Net, x: Any, expansion: int, out: int, stride: int) -> Any:
    wide = net.channels(x) * expansion
    y = x if expansion == 1 else net.relu6(net.norm(net.conv(x, wide, 1, bias=False)))
    y = net.relu6(net.norm(net.conv(y, wide, 3, stride, 1, depthwise=True, bias=False)))
    y = net.norm(net.conv(y, out, 1, bias=False))
    return net.add(x, y) if stride == 1 and net.channels(x) == out else y


def vgg11(net: Net) -> Any:
    x = net.picture(3, 224, 224)
    for block in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for out in block:
            x = net.relu(net.conv(x, out, 3, 1, 1))
        x = net.max_pool(x, 2, 2)
    x = net.relu(net.dense(net.flatten(x), 512))
    return net.softmax(net.dense(x, CLASSES))


def squeezenet(net: Net) -> Any:
    x = net.max_pool(net.relu(net.conv(net.picture(3, 224, 224), 64, 3, 2)), 3, 2)
    for squeeze, expand, pool in ((16, 64, 0), (16, 64, 1), (32, 128, 0), (32, 128, 1), (48, 192, 0), (64, 256, 0)):
        narrow = net.relu(net.conv(x, squeeze, 1))
        wide = [net.relu(net.conv(narrow, expand, kernel, 1, kernel // 2)) for kernel in (1, 3)]
        x = net.max_pool(net.concat(wide), 3, 2) if pool else net.concat(wide)
    return net.softmax(net.global_average(net.relu(net.conv(x, CLASSES, 1))))


def densenet(net: Net) -> Any:
    x = net.max_pool(_conv_norm_relu(net, net.picture(3, 224, 224), 64, 7, 2, 3), 3, 2, 1)
    for number, layers in enumerate((6, 12, 12)):
        if number:
            half = net.channels(x) // 2
            x = net.average_pool(net.conv(net.relu(net.norm(x)), half, 1, bias=False), 2, 2)
        for _ in range(layers):
            y = _conv_norm_relu_first(net, _conv_norm_relu_first(net, x, 128, 1), 32, 3)
            x = net.concat([x, y])
    return net.dense(net.global_average(net.relu(net.norm(x))), CLASSES)


def _conv_norm_relu_first(net: Net, x: Any, out: int, kernel: int) -> Any:
    return net.conv(net.relu(net.norm(x)), out, kernel, 1, kernel // 2, bias=False)


def small_cnn(net: Net) -> Any:
    x = net.picture(1, 28, 28)
    for out in (32, 64):
        x = net.max_pool(net.relu(net.conv(x, out, 3)), 2, 2)
    return net.softmax(net.dense(net.flatten(x), 10))


def transformer(net: Net) -> Any:
    x = net.vectors(64, 256)
    for _ in range(4):
        x = net.add(x, net.attention(net.layer_norm(x), 8))
        x = net.add(x, net.dense(net.gelu(net.dense(net.layer_norm(x), 1024)), 256))
    return net.layer_norm(x)


def lstm(net: Net) -> Any:
    return net.dense(net.lstm(net.lstm(net.vectors(64, 64), 128), 128), 32)


def gru(net: Net) -> Any:
    return net.dense(net.gru(net.gru(net.vectors(64, 64), 128), 128), 32)
