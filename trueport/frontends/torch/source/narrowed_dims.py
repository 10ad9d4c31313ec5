"""A dim that PyTorch narrowed while it captured: does the network need that, or was a branch on the size baked in?

The module is run at sizes that the narrowed range leaves out. Where it refuses them the range is the network's own.
Where it takes them the captured graph has to give the same; if it does not, it holds only one case of several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueport.errors import ConversionError
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call, inference
from trueport.frontends.torch.source.dims import OpenDim, resized
from trueport.frontends.torch.source.divergence import first_divergence
from trueport.frontends.torch.source.run import replay

__all__ = ["settled_bounds"]


def settled_bounds(
    module: Any, call: Call, program: Any, asked: Sequence[OpenDim], narrowed: Sequence[OpenDim]
) -> tuple[OpenDim, ...]:
    """The bounds that hold: as asked where the captured graph serves all of them, else the network's own."""
    kept: dict[str, OpenDim] = {}
    for old, new in zip(asked, narrowed, strict=True):
        if old == new or new.name in kept:
            kept.setdefault(new.name, new)
            continue
        taken = [size for size in _left_out(old, new) if _serves(module, call, program, narrowed, {new.name: size})]
        low = min([new.low, *taken])
        high = None if new.high is None else max([new.high, *taken])
        kept[new.name] = OpenDim(new.input, new.axis, new.name, low, high)
    return tuple(OpenDim(dim.input, dim.axis, dim.name, kept[dim.name].low, kept[dim.name].high) for dim in narrowed)


def _left_out(old: OpenDim, new: OpenDim) -> list[int]:
    """Sizes that were asked for, next to the narrowed range."""
    below = range(max(old.low, 1), new.low)
    above = [] if new.high is None else [new.high + 1, 2 * new.high + 1]
    return [*list(below)[-3:], *(size for size in above if old.high is None or size <= old.high)]


def _serves(module: Any, call: Call, program: Any, dims: Sequence[OpenDim], sizes: Mapping[str, int]) -> bool:
    """Whether both take these sizes and agree; False where the module does not, an error where only it does."""
    tensors = resized(call, dims, sizes)
    try:
        with inference(module):
            want = call.run(module, [tensor.clone() for tensor in tensors])
    except Exception:  # whatever the module's own code raises: it does not take this size
        return False
    try:
        got = replay(program, tensors)
    except Exception as error:  # PyTorch's, for shapes that do not fit
        raise _baked_in(sizes, first_divergence(module, call, call.tensors, tensors)) from error
    if len(got) != len(want) or not all(_close(a, b) for a, b in zip(got, want.values(), strict=True)):
        raise _baked_in(sizes, first_divergence(module, call, call.tensors, tensors))
    return True


def _close(got: Any, want: Any) -> bool:
    """Coarse on purpose: another case gives another result, not another rounding."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    return bool(torch.allclose(got, want, rtol=1e-2, atol=1e-3, equal_nan=True))


def _baked_in(sizes: Mapping[str, int], place: str) -> ConversionError:
    name, size = next(iter(sizes.items()))
    return ConversionError(
        f"what happens at {name} = {size} is not what was captured: the code branches on the size",
        where=place or f"dim {name!r}",
        remedy="write the branch as torch.cond(x.shape[0] > 3, then, otherwise, (x,)), or give the dim's range: "
        f"{name}(1..{max(size - 1, 1)})",
    )
