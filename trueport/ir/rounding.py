"""What the modules that make noise of rounding share."""

from __future__ import annotations

import numpy as np

__all__ = ["LEAST_BLUR", "place_sizes"]

LEAST_BLUR = 4.0
"""Units of the last place that data are off, at least, where that stands for sums: many small errors add up."""
_PLACE_ULPS = 8.0
"""What operators that compute places declare for their sums; a place itself is off by one unit of its last."""


def place_sizes(image: np.ndarray) -> np.ndarray:
    """What an error is relative to where neighbours are mixed by a computed place.

    A place as far away as the image is long, off by its last place, takes so much more of a neighbour.
    """
    largest = np.abs(image)
    for axis in range(1, largest.ndim):
        rows = np.moveaxis(largest, axis, 0)
        padded = np.concatenate([rows[:1], rows, rows[-1:]])
        largest = np.moveaxis(np.maximum(np.maximum(padded[:-2], rows), padded[2:]), 0, axis)
    return np.asarray(largest * max(1.0, max(image.shape[1:], default=1) / _PLACE_ULPS))
