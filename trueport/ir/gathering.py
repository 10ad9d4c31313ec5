"""GatherElements in NumPy: ONNX's reference takes neither longer data nor more than 32 elements along the axis."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["gather_elements"]

Array = np.ndarray[Any, Any]


def gather_elements(data: Array, indices: Array, axis: int) -> Array:
    """Return the element of ``data`` that each index selects along ``axis``; an index outside raises IndexError.

    The other axes of ``data`` may be longer than those of ``indices``: what is beyond is not read. They may not be
    shorter, which raises ValueError: NumPy alone would broadcast them.
    """
    axis %= data.ndim
    pairs = list(zip(data.shape, indices.shape, strict=True))
    if any(wanted > size for place, (size, wanted) in enumerate(pairs) if place != axis):
        raise ValueError(f"indices of shape {indices.shape} reach beyond data of shape {data.shape} off axis {axis}")
    seen = tuple(slice(None) if place == axis else slice(wanted) for place, (_, wanted) in enumerate(pairs))
    return np.take_along_axis(data[seen], np.where(indices < 0, indices + data.shape[axis], indices), axis)
