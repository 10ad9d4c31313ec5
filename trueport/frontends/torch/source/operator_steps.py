"""Operators that do several things at once, taken in their steps, so that each step errs on its own.

The error of a sum of products, of a softmax, of a difference from the mean is not relative to what comes out at the
end: a result near zero carries the rounding of the larger numbers that it was made of. What an operator with many
steps may be off follows from its steps, as the errors of a network follow from its operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.quantized_operators import QUANTIZED_STEPS

__all__ = ["steps_of"]


def steps_of(operator: Any) -> Callable[..., Any] | None:
    """A function that calls simpler operators; it gives NotImplemented for what only the operator itself can do."""
    return _STEPS.get(operator.name()) or QUANTIZED_STEPS.get(operator.name())


def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float
) -> Any:
    if training and mean is not None:
        return NotImplemented  # it writes into the statistics
    axes = [0, *range(2, x.dim())]
    mean, variance = _moments(x, axes) if training else (_channels(mean, x), _channels(variance, x))
    made = _folded(x, mean, variance, _channels(weight, x), _channels(bias, x), eps)
    return made, mean.flatten(), torch.rsqrt(variance + eps).flatten()


def _batch_norm_of_itself(x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Any:
    return _batch_norm(x, weight, bias, None, None, True, momentum, eps)


def _batch_norm_as_trained(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> Any:
    made = _batch_norm(x, weight, bias, mean, variance, False, momentum, eps)[0]
    return made, x.new_empty(0), x.new_empty(0)


def _group_norm(x: Any, weight: Any, bias: Any, batch: int, channels: int, size: int, groups: int, eps: float) -> Any:
    grouped = x.reshape(batch, groups, channels // groups, size)
    mean, variance = _moments(grouped, [2, 3])
    weight, bias = (None if part is None else part.view(1, groups, -1, 1) for part in (weight, bias))
    made = _folded(grouped, mean, variance, weight, bias, eps).view_as(x)
    return made, mean.view(batch, groups), torch.rsqrt(variance + eps).view(batch, groups)


def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    mean, variance = _moments(x, list(range(-len(shape), 0)))
    inverse = torch.rsqrt(variance + eps)
    made = (x - mean) * inverse
    made = made if weight is None else made * weight
    return (made if bias is None else made + bias), mean, inverse


def _moments(x: Any, axes: list[int]) -> tuple[Any, Any]:
    mean = x.mean(axes, keepdim=True)
    return mean, (x - mean).square().mean(axes, keepdim=True)


def _folded(x: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Mean and scale as one product and one sum: so do PyTorch's kernels, and each of the two products is rounded."""
    factor = torch.rsqrt(variance + eps)
    factor = factor if weight is None else factor * weight
    rest = mean * factor
    return x * factor + (-rest if bias is None else bias - rest)


def _channels(parameter: Any, x: Any) -> Any:
    return None if parameter is None else parameter.view([1, -1, *[1] * (x.dim() - 2)])


def _attention(
    query: Any,
    key: Any,
    value: Any,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    made, weights = torch.ops.aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout, is_causal, scale=scale, enable_gqa=query.size(1) != key.size(1)
    )
    # As the operator lays it out: what follows may look at it as rows.
    return made.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3), weights


def _attention_of_heads(
    query: Any,
    key: Any,
    value: Any,
    width: int,
    heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    out_weight: Any,
    out_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average: bool = True,
    mask_type: int | None = None,
) -> Any:
    if query.is_nested:
        return NotImplemented
    q, k, v = (
        torch.nn.functional.linear(x, weight, bias).unflatten(-1, (heads, -1)).transpose(1, 2)
        for x, weight, bias in zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
    )
    scores = (q / math.sqrt(width // heads)) @ k.transpose(-1, -2)
    if mask is not None:
        # As PyTorch has it: every number but zero in a mask leaves the key out, and a fully masked row is NaN.
        scores = scores.masked_fill(_per_key(mask.bool(), mask_type), -math.inf)
    shares = torch.softmax(scores, -1)
    made = torch.nn.functional.linear((shares @ v).transpose(1, 2).flatten(2), out_weight, out_bias)
    if not need_weights:
        return made, query.new_empty(0)
    return made, shares.mean(1) if average else shares


def _per_key(mask: Any, mask_type: int | None) -> Any:
    """Broadcast a mask to [batch, heads, queries, keys]; type 0: [queries, keys], 1: [batch, keys], 2: all four."""
    return mask[:, None, None, :] if mask_type == 1 else mask


def _encoder_layer(
    x: Any,
    width: int,
    heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    out_weight: Any,
    out_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight: Any,
    norm_bias: Any,
    last_norm_weight: Any,
    last_norm_bias: Any,
    wide_weight: Any,
    wide_bias: Any,
    narrow_weight: Any,
    narrow_bias: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    functional = torch.nn.functional

    def attended(y: Any) -> Any:
        weights = (qkv_weight, qkv_bias, out_weight, out_bias)
        return torch._native_multi_head_attention(y, y, y, width, heads, *weights, mask, False, True, mask_type)[0]

    def mixed(y: Any) -> Any:
        y = functional.linear(y, wide_weight, wide_bias)
        return functional.linear(functional.gelu(y) if use_gelu else y.relu(), narrow_weight, narrow_bias)

    if x.is_nested:
        return NotImplemented
    norms = [(norm_weight, norm_bias), (last_norm_weight, last_norm_bias)]
    for part, (weight, bias) in zip((attended, mixed), norms, strict=True):
        if norm_first:
            x = x + part(functional.layer_norm(x, [width], weight, bias, eps))
        else:
            x = functional.layer_norm(x + part(x), [width], weight, bias, eps)
    return x


def _var_mean(x: Any, axes: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    every = list(range(x.dim())) if axes is None else axes
    return torch.var(x, axes, correction=correction, keepdim=keepdim), x.mean(every, keepdim=keepdim)


_STEPS: dict[str, Callable[..., Any]] = {
    "aten::native_batch_norm": _batch_norm,
    "aten::_native_batch_norm_legit": _batch_norm,
    "aten::_native_batch_norm_legit.no_stats": _batch_norm_of_itself,
    "aten::_native_batch_norm_legit_no_training": _batch_norm_as_trained,
    "aten::native_group_norm": _group_norm,
    "aten::native_layer_norm": _layer_norm,
    "aten::var_mean.correction": _var_mean,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten::_native_multi_head_attention": _attention_of_heads,
    "aten::_transformer_encoder_layer_fwd": _encoder_layer,
}
