"""Recurrent layers captured whole: PyTorch finds their results' shapes by walking along the sequence, which fixes its
length. The shapes follow from the arguments alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["open_sequences"]


@contextmanager
def open_sequences() -> Iterator[None]:
    """Within it a recurrent layer that is captured leaves the length of its sequence open."""
    from torch._decomp import decomposition_table

    aten = torch.ops.aten
    layers = [aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input]
    kept = [(layer, dict(layer.py_kernels), decomposition_table[layer]) for layer in layers]
    for layer, kernels, apart in kept:
        shaped = functools.partial(_shaped, several=layer is aten.lstm.input)
        _exchange(layer, {key: shaped(walked) for key, walked in kernels.items()})
        decomposition_table[layer] = shaped(apart)
    try:
        yield
    finally:
        for layer, kernels, apart in kept:
            _exchange(layer, kernels)
            decomposition_table[layer] = apart


def _exchange(layer: Any, kernels: Mapping[Any, Callable[..., Any]]) -> None:
    layer.py_kernels.clear()
    layer.py_kernels.update(kernels)
    layer._dispatch_cache.clear()


def _shaped(walked: Callable[..., Any], *, several: bool) -> Callable[..., Any]:
    """A layer's kernel that gives shapes for tensors without values; ``several``: its state is a list."""
    from torch._subclasses.fake_tensor import FakeTensor

    def called(x: Any, state: Any, *rest: Any, **options: Any) -> Any:
        if not isinstance(x, FakeTensor):
            return walked(x, state, *rest, **options)
        return _results(x, list(state) if several else [state], *rest, **options)

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
