"""Numbers of one kind for one input: floats by strategy, integers and truth values as the graph needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import ml_dtypes
import numpy as np
import onnx_ir as ir

from trueport.ir.dtypes import INTEGERS, NARROW_INTEGERS, numpy_dtype
from trueport.verifying.inputs.hints import Hints

__all__ = ["SPECIAL", "STRATEGIES", "draw", "is_float"]

Rng = np.random.Generator
Shape = Sequence[int]
Draw = Callable[[Rng, Shape], np.ndarray]

_IMAGE_CHANNELS = (1, 3, 4)
_SPECIAL_SHARE = 0.1
_WORDS = ("a", "b", "true port", "", "Ünïcode")


def _signal(rng: Rng, shape: Shape) -> np.ndarray:
    """Smooth along its long axes, as pictures and sounds are: images within 0 … 1, all else within -1 … 1."""
    if not shape:
        return rng.normal(size=shape)
    image = len(shape) == 4 and (shape[1] in _IMAGE_CHANNELS or shape[3] in _IMAGE_CHANNELS)
    total = np.zeros(shape)
    for axis, size in enumerate(shape[1:], 1):
        place = np.arange(size).reshape([-1 if other == axis else 1 for other in range(len(shape))])
        waves, phase = rng.uniform(0.5, 4.0), rng.uniform(0, 2 * np.pi)
        total = total + np.sin(2 * np.pi * waves * place / max(size, 1) + phase)
    total = total / max(len(shape) - 1, 1) + 0.05 * rng.normal(size=shape)
    return np.clip((total + 1) / 2, 0, 1) if image else np.clip(total, -1, 1)


def _by_row(rng: Rng, shape: Shape, low: float, high: float) -> np.ndarray:
    """One number per row, spread over the row."""
    return rng.uniform(low, high, size=[*shape[:1], *[1] * len(shape[1:])])


STRATEGIES: Mapping[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "boundaries": lambda rng, shape: rng.normal(size=shape),
    "signal": _signal,
    "uniform": lambda rng, shape: rng.uniform(0, 1, size=shape),
    "heavy-tailed": lambda rng, shape: np.clip(rng.standard_t(2, size=shape), -50, 50),
    "integers": lambda rng, shape: rng.integers(-4, 5, size=shape).astype(np.float64),
    "negative": lambda rng, shape: -np.abs(rng.normal(size=shape)),
    "powers of two": lambda rng, shape: rng.choice([-1.0, 1.0], size=shape) * 2.0 ** rng.integers(-6, 4, size=shape),
    "zeros": lambda rng, shape: np.zeros(shape),
    "ones": lambda rng, shape: np.ones(shape),
    "large": lambda rng, shape: rng.normal(size=shape) * 10.0 ** _by_row(rng, shape, 1, 3.5),
}
"""How floats are drawn, by name; `boundaries` are mixed in where the graph has some."""

SPECIAL: Mapping[str, Callable[[np.dtype], Sequence[float]]] = {
    "NaN": lambda dtype: [float("nan")],
    "infinity": lambda dtype: [float("inf"), float("-inf")],
    "denormal": lambda dtype: [float(ml_dtypes.finfo(dtype).smallest_subnormal) * step for step in (-3, -1, 1, 2)],
}
"""Numbers on which runtimes legitimately differ: strewn over normal ones, judged apart."""

_ROLES: Mapping[str, Draw] = {
    "ones": lambda rng, shape: np.ones(shape),
    "extent": lambda rng, shape: rng.integers(1, 4, size=shape),
    "start": lambda rng, shape: rng.integers(0, 2, size=shape),
    "end": lambda rng, shape: rng.integers(3, 8, size=shape),
    "step": lambda rng, shape: rng.integers(1, 3, size=shape),
    "axes": lambda rng, shape: np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape),
    "scales": lambda rng, shape: np.where(np.arange(int(np.prod(shape))) < 2, 1, 2).reshape(shape),
    "share": lambda rng, shape: rng.uniform(0, 0.9, size=shape),
    "off": lambda rng, shape: np.zeros(shape),
    "branch": lambda rng, shape: rng.integers(0, 2, size=shape),
}

_INTEGERS: Mapping[str, tuple[int, int]] = {"integers": (-4, 5), "negative": (-4, 0), "zeros": (0, 1), "ones": (1, 2)}
"""Unless the graph says more, integers are small and not negative: most are indices, lengths or token ids."""


def is_float(dtype: ir.DataType) -> bool:
    """Whether an element can be NaN, infinite or denormal, so that drawing such makes sense."""
    kind = numpy_dtype(dtype)
    return kind.kind == "f" or kind == ml_dtypes.bfloat16


def draw(
    dtype: ir.DataType, rng: Rng, strategy: str, shape: Shape, hints: Hints, sizes: Mapping[str, int]
) -> np.ndarray:
    """An array for one input; ``sizes`` are those of the open dims that hints name."""
    target = numpy_dtype(dtype)
    if dtype == ir.DataType.STRING:
        return np.array(rng.choice(list(dict.fromkeys([*_WORDS, *hints.texts])), size=shape), dtype=object)
    if hints.role == "shape":
        return _reshaping(rng, shape).astype(target)
    if hints.role in _ROLES:
        return np.asarray(_ROLES[hints.role](rng, shape)).astype(target)
    if dtype == ir.DataType.BOOL:
        return _mask(rng, strategy, shape)
    if hints.sizes and list(shape) == [len(hints.sizes)]:
        return np.array([dim if isinstance(dim, int) else sizes.get(dim, 1) for dim in hints.sizes]).astype(target)
    if dtype in INTEGERS | NARROW_INTEGERS:
        return _integers(dtype, rng, strategy, shape, hints, sizes).astype(target)
    if strategy in SPECIAL:
        values = SPECIAL[strategy](target) if is_float(dtype) else [0.0]
        strewn = rng.uniform(size=shape) < _SPECIAL_SHARE
        return np.where(strewn, rng.choice(values, size=shape), rng.normal(size=shape)).astype(target)
    drawn = STRATEGIES[strategy](rng, shape)
    if strategy == "boundaries" and hints.boundaries:
        return _near_boundaries(rng, drawn, hints.boundaries, target)
    return np.asarray(drawn).astype(target)


def _near_boundaries(rng: Rng, drawn: np.ndarray, boundaries: Sequence[float], target: np.dtype) -> np.ndarray:
    """Half of the elements at a boundary, a part of those off by one place to either side."""
    at = rng.choice(boundaries, size=drawn.shape).astype(target)
    if target in (np.float32, np.float64, np.float16):
        sides = rng.choice([-1, 1], size=drawn.shape).astype(target)
        beside = np.nextafter(at, (sides * np.inf).astype(target))
        # Beside zero there are denormals, which are judged apart.
        beside = np.where(at == 0, sides * np.finfo(target).eps, beside).astype(target)
        at = np.where(rng.uniform(size=drawn.shape) < 0.3, beside, at)
    return np.where(rng.uniform(size=drawn.shape) < 0.5, at, drawn.astype(target))


def _reshaping(rng: Rng, shape: Shape) -> np.ndarray:
    """Dims that any tensor can be reshaped to: one of them is open."""
    dims = np.ones(shape, np.int64)
    if dims.size:
        dims.flat[int(rng.integers(dims.size))] = -1
    return dims


def _mask(rng: Rng, strategy: str, shape: Shape) -> np.ndarray:
    """All true, all false, at random, or, as for padded rows, true up to some place in each."""
    if strategy in ("zeros", "ones"):
        return np.full(shape, strategy == "ones")
    if strategy == "signal" and shape:
        lengths = rng.integers(1, shape[-1] + 1 if shape[-1] else 2, size=[*shape[:-1], 1])
        return np.asarray(np.arange(shape[-1]) < lengths)
    return np.asarray(rng.integers(0, 2, size=shape)).astype(bool)


def _integers(
    dtype: ir.DataType, rng: Rng, strategy: str, shape: Shape, hints: Hints, sizes: Mapping[str, int]
) -> np.ndarray:
    info = ml_dtypes.iinfo(numpy_dtype(dtype))
    below = _smallest(hints.indices_below, sizes)
    longest = _smallest(hints.lengths_to, sizes)
    if longest is not None:
        return rng.integers(1, max(longest, 1) + 1, size=shape)
    if below is not None:
        top = max(min(below, int(info.max) + 1), 1)
        return rng.choice([0, top - 1], size=shape) if strategy == "boundaries" else rng.integers(0, top, size=shape)
    if dtype in (ir.DataType.INT8, ir.DataType.UINT8) and strategy not in _INTEGERS and not hints.divides:
        return rng.integers(int(info.min), int(info.max) + 1, size=shape)  # quantized numbers, pixels
    if strategy == "large" and not hints.bounded:
        return _large_integers(rng, shape, int(info.min), int(info.max))
    low, high = (1, 5) if hints.divides else _INTEGERS.get(strategy, (0, 2))
    low = max(low, int(info.min))
    small = rng.integers(low, max(min(high, int(info.max) + 1), low + 1), size=shape)
    if strategy != "boundaries" or not hints.boundaries or hints.divides:
        return small
    points = [number for number in hints.boundaries if number == int(number) and info.min < number < info.max]
    near = rng.choice(points or [0], size=shape).astype(np.int64) + rng.integers(-1, 2, size=shape)
    return np.where(rng.uniform(size=shape) < 0.75, np.clip(near, int(info.min), int(info.max)), small)


_LARGEST_POWER = 31
"""Products of two such integers still fit into 64 bits."""


def _large_integers(rng: Rng, shape: Shape, low: int, high: int) -> np.ndarray:
    """All magnitudes alike, of both signs where the type has both; half of the range of narrower types at most."""
    power = min(_LARGEST_POWER, high.bit_length() - 1)
    sizes = np.asarray(2.0 ** rng.uniform(2, power, size=shape))
    top = 2.0 ** rng.uniform(power - 0.5, power, size=shape)
    sizes = np.asarray(np.floor(np.where(rng.uniform(size=shape) < 0.5, top, sizes)))
    signs = np.asarray(rng.choice([-1, 1] if low < 0 else [1], size=shape))
    if shape:  # sums of the first row do not cancel, and exceed a type of half the width
        signs[:1], sizes[:1] = 1, np.floor(top[:1])
    return np.asarray(sizes * signs).astype(np.int64)


def _smallest(dims: Sequence[int | str], sizes: Mapping[str, int]) -> int | None:
    return min(
        (size for dim in dims if (size := dim if isinstance(dim, int) else sizes.get(dim)) is not None), default=None
    )
