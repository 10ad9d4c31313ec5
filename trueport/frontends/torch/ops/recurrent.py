"""Recurrent layers: those that the exporter has no translation for, and the kind of one that it would get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.fidelity import accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value


@maps_torch("aten::lstm.input", error=accumulation())
def lstm(
    x: Any,
    states: Sequence[Any],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """The exporter's own, which does not see that a state is projected."""
    from onnxscript.function_libs.torch_lib.ops.core import aten_lstm

    if len(params) != num_layers * (2 if bidirectional else 1) * (4 if has_biases else 2):
        raise ConversionError(
            "ONNX's LSTM has no projection of its state",
            where="aten::lstm",
            remedy="leave proj_size away and put an nn.Linear after it, or write the steps with nn.LSTMCell",
        )
    return aten_lstm(x, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


def _rnn(
    t: TorchTranslation,
    x: Value,
    state: Value,
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    *,
    activation: str,
) -> tuple[Value, Value]:
    ways, each = 2 if bidirectional else 1, 4 if has_biases else 2
    found, last = t.op.Transpose(x, perm=[1, 0, 2]) if batch_first else x, []
    for layer in range(num_layers):
        start = layer * ways
        own = [params[each * (start + way) : each * (start + way + 1)] for way in range(ways)]
        walked, end = t.op.several(2).RNN(
            found,
            *(_stacked(t, [weights[part] for weights in own]) for part in (0, 1)),
            _biases(t, own) if has_biases else None,
            None,
            t.op.Slice(state, [start], [start + ways], [0]),
            hidden_size=t.dims(params[1])[1],
            direction="bidirectional" if bidirectional else "forward",
            activations=[activation] * ways,
        )
        # [length, ways, batch, width], the ways side by side
        found = t.op.Reshape(t.op.Transpose(walked, perm=[0, 2, 1, 3]), [0, 0, -1])
        last.append(end)
    states = last[0] if num_layers == 1 else t.op.Concat(*last, axis=0)
    return t.op.Transpose(found, perm=[1, 0, 2]) if batch_first else found, states


def _stacked(t: TorchTranslation, parts: Sequence[Value]) -> Value:
    rows = [t.op.Unsqueeze(part, [0]) for part in parts]
    return rows[0] if len(rows) == 1 else t.op.Concat(*rows, axis=0)


def _biases(t: TorchTranslation, own: Sequence[Sequence[Value]]) -> Value:
    return _stacked(t, [t.op.Concat(weights[2], weights[3], axis=0) for weights in own])


@maps_torch("aten::rnn_tanh.input", error=accumulation())
@recorded
def rnn_tanh(t: TorchTranslation, *args: Any) -> Any:
    return _rnn(t, *args, activation="Tanh")


@maps_torch("aten::rnn_relu.input", error=accumulation())
@recorded
def rnn_relu(t: TorchTranslation, *args: Any) -> Any:
    return _rnn(t, *args, activation="Relu")
