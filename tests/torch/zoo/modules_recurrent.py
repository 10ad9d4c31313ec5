"""Recurrent networks, and sequences that are walked by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.torch.operators.draws import normal
from tests.torch.zoo.member import TARGETS, Member

__all__ = ["MEMBERS"]


class Plain(nn.Module):
    def __init__(self, kind: type[nn.Module], **options: Any) -> None:
        super().__init__()
        self.layer = kind(5, 4, **options)

    def forward(self, x: Tensor) -> Any:
        return self.layer(x)


class Handed(nn.Module):
    """The state comes from outside and goes back."""

    def __init__(self, kind: type[nn.Module], **options: Any) -> None:
        super().__init__()
        self.layer = kind(5, 4, batch_first=True, **options)

    def forward(self, x: Tensor, state: Any) -> Any:
        return self.layer(x, state)


class Cell(nn.Module):
    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.cell = kind(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        state, seen = None, []
        for step in range(6):
            state = self.cell(x[:, step], state)
            seen.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(seen, 1)


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.walk, self.out = nn.Embedding(12, 5), nn.LSTM(5, 4, 2, bidirectional=True), nn.Linear(8, 3)

    def forward(self, words: Tensor) -> Any:
        _, (h, _) = self.walk(self.embed(words).transpose(0, 1))
        return self.out(torch.cat([h[-2], h[-1]], -1)).log_softmax(-1)


class SelectiveScan(nn.Module):
    """A state-space layer: the step depends on the input."""

    def __init__(self) -> None:
        super().__init__()
        self.log_rates = nn.Parameter(torch.log(torch.arange(1, 4).float()).repeat(5, 1))
        self.project = nn.Linear(5, 11)

    def forward(self, x: Tensor) -> Tensor:
        step, inwards, outwards = self.project(x).split([5, 3, 3], -1)
        step = nn.functional.softplus(step)[..., None]
        kept = torch.exp(-step * torch.exp(self.log_rates))
        added = step * inwards[:, :, None] * x[..., None]
        state = torch.zeros_like(added[:, 0])
        seen = []
        for t in range(6):
            state = kept[:, t] * state + added[:, t]
            seen.append((state * outwards[:, t, None]).sum(-1))
        return torch.stack(seen, 1)


def _sequences(n: int) -> Any:
    return normal(n, n + 4, 5)


def _first(n: int) -> Any:
    return normal(n + 4, n, 5)


def _steps(n: int) -> Any:
    return normal(n, 6, 5)


def _states(layers: int) -> Any:
    return lambda n: (_sequences(n), tuple(normal(layers, n, 4, seed=seed) for seed in (1, 2)))


MEMBERS: list[Member] = [
    Member("RNN", lambda: Plain(nn.RNN, batch_first=True), _sequences),
    Member("RNN of ReLU, two layers", lambda: Plain(nn.RNN, nonlinearity="relu", num_layers=2), _first),
    Member("RNN, both ways", lambda: Plain(nn.RNN, bidirectional=True, bias=False), _first),
    Member("LSTM", lambda: Plain(nn.LSTM, batch_first=True), _sequences, quick=True),
    Member("LSTM, two layers, both ways", lambda: Plain(nn.LSTM, num_layers=2, bidirectional=True), _first),
    Member(
        "LSTM, projected",
        lambda: Plain(nn.LSTM, proj_size=3, batch_first=True),
        _sequences,
        cannot=dict.fromkeys(TARGETS, "ONNX's LSTM has no projection of its state"),
    ),
    Member("LSTM with its state", lambda: Handed(nn.LSTM, num_layers=2), _states(2)),
    Member("GRU", lambda: Plain(nn.GRU), _first, quick=True),
    Member(
        "GRU, three layers, both ways",
        lambda: Plain(nn.GRU, num_layers=3, bidirectional=True, batch_first=True),
        _sequences,
    ),
    Member("GRU with its state", lambda: Handed(nn.GRU), lambda n: (_sequences(n), normal(1, n, 4, seed=1))),
    Member("RNNCell", lambda: Cell(nn.RNNCell), _steps),
    Member("LSTMCell", lambda: Cell(nn.LSTMCell), _steps),
    Member("GRUCell", lambda: Cell(nn.GRUCell), _steps),
    Member("LSTM classifier", Classifier, lambda n: torch.arange(n * (n + 3)).reshape(n, n + 3) % 12),
    Member("selective scan", SelectiveScan, _steps),
]
