"""Which of PyTorch's operators round, and which add up: for the noise that a module makes of rounding."""

from __future__ import annotations

from typing import Any

__all__ = ["interpolates", "is_sum", "is_transform", "makes_numbers"]

_MOVES = frozenset(
    """
    _reshape_alias _to_copy _unsafe_view alias amax amin argmax argmin as_strided bernoulli cat clamp clamp_max
    clamp_min clone constant_pad_nd copy copy_ detach embedding empty empty_like empty_strided expand fill fill_ flip
    full full_like gather index index_put index_select lift_fresh_copy masked_fill masked_scatter max max_pool1d
    max_pool2d max_pool2d_with_indices max_pool3d_with_indices maximum min minimum narrow neg new_empty new_full
    new_ones new_zeros nonzero ones ones_like permute reflection_pad1d reflection_pad2d reflection_pad3d relu repeat
    replication_pad1d replication_pad2d replication_pad3d roll scalar_tensor scatter select select_scatter sign slice
    slice_scatter sort split split_with_sizes squeeze stack t topk transpose tril triu unbind unfold unique
    unsqueeze upsample_nearest1d upsample_nearest2d upsample_nearest3d view where zero_ zeros zeros_like abs round
    floor ceil trunc arange
    """.split()  # noqa: SIM905
)
"""Operators that give back numbers they were given, or small whole ones."""
_SUMS = frozenset(
    """
    _adaptive_avg_pool2d _adaptive_avg_pool3d _embedding_bag _embedding_bag_forward_only
    addbmm addmm addmv addr avg_pool1d avg_pool2d avg_pool3d baddbmm
    bmm col2im convolution cumsum dot index_add linear matmul mean mkldnn_rnn_layer mm mv scatter_add
    scatter_reduce segment_reduce sum
    """.split()  # noqa: SIM905
)
"""Operators whose error is relative to the magnitudes that they add up, in whatever order."""


_INTERPOLATES = frozenset(
    """
    _upsample_bicubic2d_aa _upsample_bilinear2d_aa grid_sampler_2d grid_sampler_3d upsample_bicubic2d
    upsample_bilinear2d upsample_linear1d upsample_trilinear3d
    """.split()  # noqa: SIM905
)
"""Operators that mix neighbours by their nearness to a place, which is rounded, too: by so much more as it is far."""
_TRANSFORMS = frozenset({"_fft_c2c", "_fft_c2r", "_fft_r2c"})
"""Operators each of whose results is made of all numbers: the error of each is relative to the size of all."""


def makes_numbers(operator: Any) -> bool:
    """Whether results are rounded, not only moved."""
    return not operator.is_view and _name(operator) not in _MOVES


def is_sum(operator: Any) -> bool:
    """Whether the result may cancel."""
    return _name(operator) in _SUMS


def interpolates(operator: Any) -> bool:
    """Whether places in its first operand are computed on the way."""
    return _name(operator) in _INTERPOLATES


def is_transform(operator: Any) -> bool:
    """Whether each result is a sum of all that went in, with signs."""
    return _name(operator) in _TRANSFORMS


def _name(operator: Any) -> str:
    return str(operator.overloadpacket.__name__)
