"""Pixels between pixels in NumPy, in the inputs' precision: ONNX's reference goes one by one and rounds places."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

__all__ = ["deform_conv", "grid_sample"]

_CUBIC = -0.75
"""The coefficient that the operator prescribes."""
_Tap = tuple[np.ndarray, np.ndarray]
"""Pixels along one axis, and their weights."""


def grid_sample(
    X: np.ndarray, grid: np.ndarray, *, align_corners: int, mode: str, padding_mode: str
) -> np.ndarray | None:
    """``X[N, C, ...]`` at the places of ``grid[N, ..., axes]``, which lists axes from the last to the first."""
    lengths = X.shape[2:]
    if not X.size or not grid.size or not np.all(np.isfinite(grid)):
        return None
    axes = []
    for axis, length in enumerate(lengths):
        low, high = (0.0, length - 1.0) if align_corners else (-0.5, length - 0.5)
        place = low + (grid[..., len(lengths) - 1 - axis] + 1) / 2 * (high - low)
        place = np.rint(place) if mode == "nearest" else place
        # Of cubic taps beyond a border each pixel is clamped, and not the coordinate: as in PyTorch and ONNX Runtime.
        if mode != "cubic" or padding_mode != "border":
            place = _brought_in(place, low, high, length, padding_mode)
        axes.append([*_taps(place, mode)])
    return _sampled(X, axes, align_corners, padding_mode)


def deform_conv(
    X: np.ndarray,
    W: np.ndarray,
    offset: np.ndarray,
    B: np.ndarray | None,
    mask: np.ndarray | None,
    *,
    dilations: Sequence[int] | None,
    group: int,
    offset_group: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
    **_: object,
) -> np.ndarray | None:
    """A convolution whose taps lie off the grid, each by an offset of its own."""
    axes, kernel, out = X.ndim - 2, W.shape[2:], offset.shape[2:]
    if axes != 2 or not X.size or not np.all(np.isfinite(offset)):
        return None
    steps, spread, before = strides or [1] * axes, dilations or [1] * axes, (pads or [0] * (2 * axes))[:axes]
    moved = offset.reshape(len(X), offset_group, *kernel, axes, *out)
    weights = None if mask is None else mask.reshape(len(X), offset_group, *kernel, *out)
    grid = np.indices(out)
    patches = np.empty((len(X), X.shape[1], *kernel, *out))
    for part, channels in enumerate(np.split(np.arange(X.shape[1]), offset_group)):
        for tap in np.ndindex(*kernel):
            starts = [grid[a] * steps[a] - before[a] + tap[a] * spread[a] for a in range(axes)]
            places = [starts[a] + moved[(slice(None), part, *tap, a)] for a in range(axes)]
            taken = _sampled(X[:, channels], [[*_taps(place, "linear")] for place in places], 1, "zeros")
            scale = 1.0 if weights is None else weights[(slice(None), part, *tap)][:, None]
            patches[(slice(None), channels, *tap)] = taken * scale
    halves = zip(np.split(patches, group, axis=1), np.split(W, group), strict=True)
    made = np.concatenate([np.einsum("ncijhw,ocij->nohw", p, w, optimize=True) for p, w in halves], axis=1)
    return made if B is None else made + B.reshape(1, -1, 1, 1)


def _sampled(X: np.ndarray, axes: Sequence[Sequence[_Tap]], align_corners: int, padding_mode: str) -> np.ndarray:
    """Sums over the taps of all axes; each tap's arrays are ``[N, ...]``."""
    pixels, lengths = np.moveaxis(X, 1, -1), X.shape[2:]
    shape = axes[0][0][0].shape
    batch = np.arange(len(X)).reshape(-1, *[1] * (len(shape) - 1))
    made = np.zeros((*shape, X.shape[1]))
    for taps in itertools.product(*axes):
        found = [_pixel(index, n, align_corners, padding_mode) for (index, _), n in zip(taps, lengths, strict=True)]
        there = functools.reduce(np.logical_and, (inside for _, inside in found))
        values = np.where(there[..., None], pixels[(batch, *(index for index, _ in found))], 0)
        made += functools.reduce(np.multiply, (weight for _, weight in taps))[..., None] * values
    return np.moveaxis(made, -1, 1)


def _taps(place: np.ndarray, mode: str) -> Iterator[_Tap]:
    if mode == "nearest":
        yield place.astype(np.int64), np.ones_like(place)
        return
    first = np.floor(place)
    for step in (0, 1) if mode == "linear" else (-1, 0, 1, 2):
        away = np.abs(place - first - step)
        yield (first + step).astype(np.int64), 1 - away if mode == "linear" else _cubic(away)


def _cubic(away: np.ndarray) -> np.ndarray:
    near = ((_CUBIC + 2) * away - (_CUBIC + 3)) * away**2 + 1
    far = ((away - 5) * away + 8) * away * _CUBIC - 4 * _CUBIC
    return np.asarray(np.where(away <= 1, near, far))


def _brought_in(place: np.ndarray, low: float, high: float, length: int, padding_mode: str) -> np.ndarray:
    """Places outside of the image: taken to its border, or thrown back by it."""
    outside = (place < low) | (place > high)
    if padding_mode == "border":
        return np.where(outside, np.clip(place, 0, length - 1), place)
    return _reflected(place, low, high) if padding_mode == "reflection" else place


def _reflected(place: np.ndarray, low: float, high: float) -> np.ndarray:
    if high == low:
        return np.full_like(place, low)
    beyond = np.where(place < low, low - place, place - high)
    turns, rest = np.divmod(beyond, high - low)
    from_low = (place < low) == (turns % 2 == 0)
    back = np.where(from_low, low + rest, high - rest)
    return np.where((place < low) | (place > high), back, place)


def _pixel(index: np.ndarray, length: int, align_corners: int, padding_mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Which pixel stands there, and whether one does."""
    if padding_mode == "reflection":
        low, high = (0.0, length - 1.0) if align_corners else (-0.5, length - 0.5)
        index = _reflected(index.astype(np.float64), low, high).astype(np.int64)
    inside = (index >= 0) & (index < length) if padding_mode == "zeros" else np.ones(index.shape, bool)
    return np.clip(index, 0, length - 1), inside
