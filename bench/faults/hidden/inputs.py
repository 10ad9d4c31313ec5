"""Arrays for witnesses and ordinary inputs."""

from __future__ import annotations

import numpy as np

__all__ = ["draw_normal", "fill", "make_weight"]


def draw_normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Return small normal numbers, always the same."""
    return (np.random.default_rng(3).normal(size=shape) * scale).astype(np.float32)


def fill(value: float, *shape: int) -> np.ndarray:
    """Return a float32 array of one value."""
    return np.full(shape, value, np.float32)


def make_weight(*shape: int, scale: float = 1.0, seed: int = 0) -> np.ndarray:
    """Return weights, always the same."""
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)
