"""PyTorch modules and the forms that PyTorch itself can give them."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

__all__ = ["FORMS", "NETS", "make_example", "make_net"]


class Residual(nn.Module):  # type: ignore[misc]
    """Two convolutions with batch normalization, and a shortcut."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + x)


class Recurrent(nn.Module):  # type: ignore[misc]
    """The last output of an LSTM or GRU."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0][:, -1]


class Attention(nn.Module):  # type: ignore[misc]
    """Scaled dot product attention with a causal mask."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Text(nn.Module):  # type: ignore[misc]
    """A mean of embeddings, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(20, 6), nn.Linear(6, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.head(self.table(ids).mean(1)), -1)


class Wave(nn.Module):  # type: ignore[misc]
    """Dilated convolutions with gates."""

    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.ModuleList(nn.Conv1d(4, 8, 3, dilation=2**k, padding=2**k) for k in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.gates:
            value, gate = layer(x).chunk(2, dim=1)
            x = x + torch.tanh(value) * torch.sigmoid(gate)
        return x


def _cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5)
    )


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4), nn.Softmax(-1))


def _upsample() -> nn.Module:
    return nn.Sequential(
        nn.ConvTranspose2d(4, 6, 4, stride=2, padding=1),
        nn.GroupNorm(3, 6),
        nn.Hardswish(),
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
        nn.Conv2d(6, 1, 1),
    )


NETS: Mapping[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "cnn": (_cnn, (2, 3, 12, 12)),
    "mlp": (_mlp, (3, 10)),
    "residual": (Residual, (2, 6, 8, 8)),
    "upsample": (_upsample, (1, 4, 5, 5)),
    "attention": (Attention, (2, 5, 8)),
    "wave": (Wave, (2, 4, 16)),
    "lstm": (lambda: Recurrent(nn.LSTM(4, 6, num_layers=2, batch_first=True)), (2, 9, 4)),
    "gru": (lambda: Recurrent(nn.GRU(4, 6, batch_first=True, bidirectional=True)), (2, 7, 4)),
    "text": (Text, (2, 6)),
}
"""By name: how to make the module, and the shape of its input."""


def make_net(name: str, seed: int) -> nn.Module:
    """Return the module in evaluation mode, with weights and statistics drawn from the seed."""
    torch.manual_seed(seed)
    net = NETS[name][0]()
    for part in net.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.normal_(part.running_mean)
            nn.init.uniform_(part.running_var, 0.2, 2.0)
    return net.eval()


def make_example(name: str, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """Return one input of the module."""
    shape = NETS[name][1]
    generator = torch.Generator().manual_seed(7)
    if name == "text":
        return (torch.randint(0, 20, shape, generator=generator),)
    return (torch.randn(shape, generator=generator).to(dtype),)


def _by_tracing(net: nn.Module, example: Any, folder: Path) -> Path:
    path = folder / "traced.onnx"
    with _quiet():
        torch.onnx.export(net, example, str(path), dynamo=False, input_names=["x"], opset_version=17)
    return path


def _by_dynamo(net: nn.Module, example: Any, folder: Path) -> Path:
    path = folder / "dynamo.onnx"
    with _quiet():
        torch.onnx.export(net, example, str(path), dynamo=True, input_names=["x"], verbose=False)
    return path


def _by_export(net: nn.Module, example: Any, folder: Path) -> Any:
    with _quiet():
        return torch.export.export(net, example)


def _copied(net: nn.Module, example: Any, folder: Path) -> nn.Module:
    """Return the module with its weights written and read again, in channels-last layout where it is 4-D."""
    other = copy.deepcopy(net)
    buffer = io.BytesIO()
    torch.save(net.state_dict(), buffer)
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer))
    return other.to(memory_format=torch.channels_last) if example[0].ndim == 4 else other


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide the exporters' warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


FORMS: Mapping[str, Callable[[nn.Module, Any, Path], Any]] = {
    "traced": _by_tracing,
    "dynamo": _by_dynamo,
    "exported_program": _by_export,
    "copied": _copied,
}
