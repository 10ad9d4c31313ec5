"""Attention in its variants."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.torch.operators.draws import choices, normal
from tests.torch.zoo.making import function, layers
from tests.torch.zoo.member import Member

__all__ = ["MEMBERS"]


class SelfAttention(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    def forward(self, x: Tensor) -> Any:
        return self.attention(x, x, x)


class CrossAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, kdim=6, vdim=5, add_bias_kv=False, batch_first=True)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, absent: Tensor) -> Any:
        return self.attention(query, key, value, key_padding_mask=absent, need_weights=False)[0]


class CausalAttention(nn.Module):
    """Sequence first, with a mask of what comes later."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 4, bias=False)

    def forward(self, x: Tensor) -> Any:
        later = torch.triu(torch.ones(x.shape[0], x.shape[0], dtype=torch.bool), 1)
        return self.attention(x, x, x, attn_mask=later, average_attn_weights=False)


class Grouped(nn.Module):
    """Four heads of queries share two of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Any:
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, 4, 4).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, 8).transpose(1, 2).chunk(2, -1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, 16))


class Rotary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.register_buffer("speeds", 1.0 / 100 ** (torch.arange(0, 4, 2) / 4), persistent=False)

    def _turned(self, x: Tensor) -> Tensor:
        angles = torch.outer(torch.arange(x.shape[2]).float(), self.speeds).repeat(1, 2)
        left, right = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-right, left], -1) * angles.sin()

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4).unbind(0)
        return F.scaled_dot_product_attention(self._turned(q), self._turned(k), v).transpose(1, 2).flatten(2)


class Alibi(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("slopes", 2.0 ** -torch.arange(1, 3).float().view(2, 1, 1))

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        places = torch.arange(k.shape[2])
        bias = -self.slopes * (places[None, :] - places[:, None]).abs()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class Linearized(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k = F.elu(q) + 1, F.elu(k) + 1
        return q @ (k.transpose(-1, -2) @ v) / (q * k.sum(2, keepdim=True)).sum(-1, keepdim=True)


class Windowed(nn.Module):
    """Attention within windows of an image, shifted."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.roll(x, (-1, -1), (1, 2))
        rows = x.view(-1, 2, 4, 2, 4, 4).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, 4)
        y = self.attention(rows, rows, rows, need_weights=False)[0]
        y = y.view(-1, 2, 2, 4, 4, 4).permute(0, 1, 3, 2, 4, 5).reshape(-1, 8, 8, 4)
        return torch.roll(y, (1, 1), (1, 2))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2)

    def forward(self, target: Tensor, memory: Tensor) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.decoder(target, memory, tgt_mask=mask, tgt_is_causal=True)


class Whole(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        return self.network(source, target)


def _heads(n: int) -> tuple[Any, ...]:
    return tuple(normal(n, 2, n + 3, 4, seed=seed) for seed in range(3))


def _crossed(n: int) -> tuple[Any, ...]:
    absent = torch.zeros(n, n + 5, dtype=torch.bool)
    absent[:, -2:] = True
    return normal(n, n + 1, 8), normal(n, n + 5, 6, seed=1), normal(n, n + 5, 5, seed=2), absent


def _some_rows_without(n: int) -> tuple[Any, ...]:
    mask = choices(n, 1, n + 3, n + 3)
    mask[..., 0] = True
    mask[0, :, 1] = False
    return (*_heads(n), mask)


def _sequences(n: int) -> Any:
    return normal(n, n + 3, 8)


def _encoder(**options: Any) -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


_attend = F.scaled_dot_product_attention
MEMBERS: list[Member] = [
    Member("self-attention with weights", SelfAttention, _sequences, quick=True),
    Member("self-attention with extra keys", lambda: SelfAttention(add_bias_kv=True, add_zero_attn=True), _sequences),
    Member("cross-attention with absent keys", CrossAttention, _crossed),
    Member("causal attention, sequence first", CausalAttention, lambda n: normal(n + 3, n, 8)),
    Member("grouped queries", Grouped, _sequences),
    Member("rotary positions", Rotary, _sequences),
    Member("linear biases", Alibi, _heads),
    Member("linear attention", Linearized, _heads),
    Member("shifted windows", Windowed, lambda n: normal(n, 8, 8, 4)),
    function("attention, plain", lambda q, k, v: _attend(q, k, v, scale=0.3), _heads),
    function("attention, causal", lambda q, k, v: _attend(q, k, v, is_causal=True), _heads, quick=True),
    function(
        "attention, rows without a key", lambda q, k, v, mask: _attend(q, k, v, attn_mask=mask), _some_rows_without
    ),
    function(
        "attention, additive mask",
        lambda q, k, v, mask: _attend(q, k, v, attn_mask=mask),
        lambda n: (*_heads(n), normal(n + 3, n + 3, seed=4)),
    ),
    layers("encoder, norm last", _encoder, inputs=_sequences),
    layers("encoder, norm first, GELU", lambda: _encoder(norm_first=True, activation="gelu"), inputs=_sequences),
    Member("decoder", Decoder, lambda n: (normal(n, n + 2, 8), normal(n, n + 4, 8, seed=1))),
    Member("nn.Transformer", Whole, lambda n: (normal(n, n + 4, 8), normal(n, n + 2, 8, seed=1))),
]
