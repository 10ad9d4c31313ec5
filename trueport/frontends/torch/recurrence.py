"""Recurrent layers captured whole: PyTorch finds their results' shapes by walking along the sequence, which fixes its
length. The shapes follow from the arguments alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["open_sequences"]


@contextmanager
def open_sequences() -> Iterator[None]:
    """Within it a recurrent layer that is captured leaves the length of its sequence open."""
    aten = torch.ops.aten
    layers = [aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input]
    kept = [layer._op_dk for layer in layers]
    for layer, walked in zip(layers, kept, strict=True):
        layer._op_dk = _shaped(walked, several=layer is aten.lstm.input)
    try:
        yield
    finally:
        for layer, walked in zip(layers, kept, strict=True):
            layer._op_dk = walked


def _shaped(walked: Callable[..., Any], *, several: bool) -> Callable[..., Any]:
    """A layer's composite kernel that gives shapes for tensors without values; ``several``: its state is a list."""
    from torch._subclasses.fake_tensor import FakeTensor

    def called(key: Any, x: Any, state: Any, *rest: Any, **options: Any) -> Any:
        states = list(state) if several else [state]
        if not isinstance(x, FakeTensor):
            return walked(key, x, state, *rest, **options)
        return _results(x, states, *rest, **options)

    return called


def _results(
    x: Any,
    states: Sequence[Any],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, ...]:
    torch._check(x.shape[0 if batch_first else 1] == states[0].shape[1])
    width = states[0].shape[2] * (2 if bidirectional else 1)
    return x.new_empty([x.shape[0], x.shape[1], width]), *(state.new_empty(state.shape) for state in states)
