"""Samples that a kernel chooses by rounded coordinates, taken from wide data.

Given float64, a kernel rounds its coordinates to other digits and takes other samples at ties. The module as it is used
takes those of its own type: so the kernel is asked for positions in that type, and the wide samples are gathered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["taken"]


def taken(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], narrow: bool) -> Any:
    """The samples of ``args[0]``, ``[N, C, …]``, that ``operator`` takes; ``narrow``: of data of at most float32."""
    data, rest = args[0], args[1:]
    if not narrow or not data.is_floating_point() or not data.numel():
        return operator(*args, **kwargs)
    for axis in range(2, data.dim()):
        # Along one axis after the other: positions of whole images are more than float32 tells apart.
        line = torch.arange(data.shape[axis], dtype=torch.float32)
        shape = [1, 1, *(-1 if other == axis else 1 for other in range(2, data.dim()))]
        positions = line.reshape(shape).expand(1, 1, *args[0].shape[2:]).contiguous()
        chosen = operator(positions, *rest, **kwargs)
        first = [0, 0, *(slice(None) if other == axis else 0 for other in range(2, data.dim()))]
        data = data.index_select(axis, chosen[tuple(first)].long())
    return data
