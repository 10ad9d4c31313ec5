"""Which of PyTorch's operators round, and by how much: for the noise that a module makes of rounding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueport.fidelity import (
    AGAINST_DATA,
    AGAINST_INPUT,
    AGAINST_ONE,
    AGAINST_PLACES,
    AGAINST_TERMS,
    ErrorBound,
    ulps,
)
from trueport.reference.sums import Sums

__all__ = ["bound_of", "makes_numbers", "sums_of", "takes_samples"]

_MOVES = frozenset(
    """
    _reshape_alias _to_copy _unsafe_view alias amax amin argmax argmin as_strided bernoulli cat clamp clamp_max
    clamp_min clone constant_pad_nd copy copy_ detach embedding empty empty_like empty_strided expand fill fill_ flip
    full full_like gather index index_put index_select lift_fresh_copy masked_fill masked_scatter max max_pool1d
    max_pool2d max_pool2d_with_indices max_pool3d_with_indices maximum min minimum narrow neg new_empty new_full
    new_ones new_zeros nonzero ones ones_like permute reflection_pad1d reflection_pad2d reflection_pad3d relu repeat
    replication_pad1d replication_pad2d replication_pad3d roll scalar_tensor scatter select select_scatter sign slice
    slice_scatter sort split split_with_sizes squeeze stack t topk transpose tril triu unbind unfold unique
    unsqueeze view where zero_ zeros zeros_like abs round floor ceil trunc arange
    """.split()  # noqa: SIM905
)
"""Operators that give back numbers they were given, or small whole ones."""
_SAMPLES = frozenset(
    """
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d
    """.split()  # noqa: SIM905
)
"""Operators that give back samples which they choose by rounded coordinates."""
_SUMS = """
    _adaptive_avg_pool2d _adaptive_avg_pool3d _embedding_bag _embedding_bag_forward_only
    addbmm addmm addmv addr avg_pool1d avg_pool2d avg_pool3d baddbmm
    bmm col2im convolution cumsum dot index_add linear matmul mean mkldnn_rnn_layer mm mv scatter_add
    scatter_reduce segment_reduce sum
    """
_PRODUCTS = frozenset({"addbmm", "addmm", "baddbmm", "bmm", "linear", "matmul", "mm"})
_REDUCTIONS = frozenset({"_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "mean", "sum"})
_INTERPOLATIONS = """
    _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa grid_sampler_2d grid_sampler_3d
    upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_trilinear3d
    """
_CANCELLING = "_fft_c2c _fft_c2r _fft_r2c _linalg_det linalg_inv_ex linalg_solve_triangular _linalg_solve_ex lgamma"
_NEAR_ONE = "_log_softmax celu elu erf erfc expm1 log log1p log_sigmoid_forward logsumexp sigmoid softplus"
_GATED = "gelu hardswish mish silu"
_AGAINST: Mapping[str, ErrorBound] = {
    **dict.fromkeys(_SUMS.split(), ulps(1, AGAINST_TERMS)),
    **dict.fromkeys(_INTERPOLATIONS.split(), ulps(8, AGAINST_PLACES)),
    **dict.fromkeys(_CANCELLING.split(), ulps(4, AGAINST_DATA)),
    **dict.fromkeys(_NEAR_ONE.split(), ulps(4, AGAINST_ONE)),
    **dict.fromkeys(_GATED.split(), ulps(4, AGAINST_INPUT)),
}
"""How far results may be off, and relative to what, where that is not one unit of their own last place."""


def makes_numbers(operator: Any) -> bool:
    """Whether results are rounded, not only moved."""
    return not operator.is_view and _name(operator) not in _MOVES | _SAMPLES


def takes_samples(operator: Any) -> bool:
    """True if it returns some of its input's samples, which ones depending on coordinates that its kernel rounds."""
    return _name(operator) in _SAMPLES


def bound_of(operator: Any) -> ErrorBound:
    """How far its results may be off in whatever runtime, and relative to what."""
    return _AGAINST.get(_name(operator), ulps(1))


def sums_of(operator: Any) -> Sums | None:
    """Return where its sums have their terms; None if it makes none, or they are elsewhere."""
    name = _name(operator)
    if name in _PRODUCTS:
        return Sums.PRODUCT
    if name in _REDUCTIONS:
        return Sums.AXES
    return Sums.WINDOWS if name == "convolution" else None


def _name(operator: Any) -> str:
    return str(operator.overloadpacket.__name__)
