"""Which dims of the inputs stay open, under which names and within which bounds.

Said in words, ``x.0=batch(1..64),x.2=height``, or in PyTorch's own ``dynamic_shapes``. A dim that the network
itself bounds (a kernel needs three rows) is narrowed to that and noted; one that it fixes is refused.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trueport.errors import UsageError
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call

__all__ = [
    "OpenDim",
    "fixed_dims",
    "open_dims",
    "parse_dynamic",
    "refined",
    "resized",
    "torch_shapes",
    "widened_example",
]

_WORD = re.compile(r"(?P<input>\w+)\.(?P<axis>\d+)=(?P<name>[A-Za-z_]\w*)(\((?P<low>\d*)\.\.(?P<high>\d*)\))?")


@dataclass(frozen=True)
class OpenDim:
    """One axis of one input."""

    input: str
    axis: int
    name: str
    low: int = 0
    high: int | None = None


def parse_dynamic(words: str) -> tuple[OpenDim, ...]:
    """``x.0=batch(1..64),x.2=height``."""
    found = []
    for word in filter(None, (part.strip() for part in words.split(","))):
        match = _WORD.fullmatch(word)
        if match is None:
            raise UsageError(
                f"{word!r} names no dim", where="--dynamic", remedy="write INPUT.AXIS=NAME or INPUT.AXIS=NAME(1..64)"
            )
        high = int(match["high"]) if match["high"] else None
        found.append(OpenDim(match["input"], int(match["axis"]), match["name"], int(match["low"] or 0), high))
    return tuple(found)


def open_dims(call: Call, dynamic: Any) -> tuple[OpenDim, ...]:
    """What is open, in our words, whichever way it was said."""
    if dynamic is None:
        return ()
    if isinstance(dynamic, str):
        dims = parse_dynamic(dynamic)
    elif isinstance(dynamic, Mapping) and all(isinstance(value, str) for value in dynamic.values()):
        dims = parse_dynamic(",".join(f"{place}={name}" for place, name in dynamic.items()))
    else:
        dims = tuple(_from_torch(call, dynamic))
    for dim in dims:
        if dim.input not in call.names:
            raise UsageError(
                f"there is no input {dim.input!r}", where="dynamic_shapes", remedy=f"inputs: {', '.join(call.names)}"
            )
        rank = call.tensors[call.names.index(dim.input)].dim()
        if dim.axis >= rank:
            raise UsageError(f"input {dim.input!r} has {rank} axes, none is {dim.axis}", where="dynamic_shapes")
    return dims


def _from_torch(call: Call, dynamic: Any) -> list[OpenDim]:
    """PyTorch's spec: a tree like the arguments, with {axis: Dim} at each tensor."""
    known = list(dynamic.values()) if isinstance(dynamic, Mapping) else list(dynamic)
    leaves = torch.utils._pytree.tree_flatten(known, is_leaf=_is_shape)[0]
    if len(leaves) != len(call.names):
        raise UsageError(
            f"names {len(leaves)} shapes, the call has {len(call.names)} tensors",
            where="dynamic_shapes",
            remedy='give one entry per tensor, None for one without open dims; or words: {"x.0": "batch"}',
        )
    found = []
    for name, shape in zip(call.names, leaves, strict=True):
        axes = shape.items() if isinstance(shape, Mapping) else enumerate(shape or ())
        found += [_from_dim(name, axis, dim) for axis, dim in axes if dim is not None and not isinstance(dim, int)]
    return found


def _is_shape(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, Mapping):
        return all(isinstance(key, int) for key in value)
    return isinstance(value, (tuple, list)) and all(
        item is None or isinstance(item, (int, str)) or hasattr(item, "__name__") or "Dim" in type(item).__name__
        for item in value
    )


def _from_dim(name: str, axis: int, dim: Any) -> OpenDim:
    if isinstance(dim, str):
        return OpenDim(name, axis, dim)
    known = getattr(dim, "__name__", None)
    if known is None:  # Dim.DYNAMIC and Dim.AUTO have no name: the place gives one
        return OpenDim(name, axis, f"{name}_{axis}")
    high = getattr(dim, "max", None)
    bounded = isinstance(high, int) and high < 2**31
    return OpenDim(name, axis, known, int(getattr(dim, "min", 0) or 0), high if bounded else None)


def torch_shapes(forward: Any, call: Call, dims: Sequence[OpenDim]) -> Any:
    """Our words as PyTorch's spec: a tree like forward's arguments by name, with one Dim per name."""
    made: dict[str, Any] = {}
    for dim in dims:
        bounds: dict[str, int] = {"min": dim.low} if dim.high is None else {"min": dim.low, "max": dim.high}
        made.setdefault(dim.name, torch.export.Dim(dim.name, **bounds))
    shapes = iter([{dim.axis: made[dim.name] for dim in dims if dim.input == name} or None for name in call.names])

    def shape(leaf: Any) -> Any:
        return next(shapes) if isinstance(leaf, torch.Tensor) else None

    bound = inspect.signature(forward).bind(*call.args, **call.kwargs).arguments
    return {name: torch.utils._pytree.tree_map(shape, value) for name, value in bound.items()}


def resized(call: Call, dims: Sequence[OpenDim], sizes: Mapping[str, int]) -> list[Any]:
    """The example's tensors with open dims of other sizes, filled by repeating what is there."""
    made = []
    for name, tensor in zip(call.names, call.tensors, strict=True):
        for dim in dims:
            if dim.input == name and dim.name in sizes:
                places = torch.arange(sizes[dim.name]) % max(tensor.shape[dim.axis], 1)
                tensor = tensor.index_select(dim.axis, places)
        made.append(tensor)
    return made


def widened_example(call: Call, dims: Sequence[OpenDim], *, larger: bool = False) -> list[Any]:
    """The example with two of whatever is open and has none or one: those sizes PyTorch takes for fixed.

    ``larger``: with so many that no size which a few steps make of it is one, either, and no two are the same.
    """
    held = dict(zip(call.names, call.tensors, strict=True))
    least = dict(zip(dict.fromkeys(dim.name for dim in dims), _LARGER if larger else itertools.repeat(2), strict=False))
    small = {
        dim.name: least[dim.name]
        for dim in dims
        if held[dim.input].shape[dim.axis] < least.get(dim.name, 0) <= (dim.high or least[dim.name])
    }
    return [tensor.clone() for tensor in resized(call, dims, small)]


_LARGER = (11, 13, 17, 19, 23, 29)


def fixed_dims(program: Any, call: Call, dims: Sequence[OpenDim]) -> dict[str, int]:
    """Return the dims that should be open and are not in a captured program, with their sizes."""
    nodes = {node.name: node.meta.get("val") for node in program.graph.nodes}
    given = [nodes.get(name) for name in program.graph_signature.user_inputs if isinstance(name, str)]
    tensors = [value for value in given if isinstance(value, torch.Tensor)]
    shapes = {name: tensor.shape for name, tensor in zip(call.names, tensors, strict=True)}
    sizes = {dim.name: shapes[dim.input][dim.axis] for dim in dims if dim.axis < len(shapes[dim.input])}
    return {name: int(size) for name, size in sizes.items() if isinstance(size, int) or size.node.expr.is_number}


def refined(dims: Sequence[OpenDim], message: str) -> tuple[tuple[OpenDim, ...], list[str]]:
    """The dims as PyTorch's message says they must be, and what it fixes or ties, which is no narrowing.

    The message ends with lines such as ``height = Dim('height', min=3)``, ``batch = 4`` or ``dy = dx + 1``.
    """
    suggested = dict(re.findall(r"^\s*(\w+) = (.+?)\s*$", message.partition("Suggested fixes:")[2], re.MULTILINE))
    frozen = [f"{name} = {what}" for name, what in suggested.items() if not what.startswith("Dim(")]
    bounds = {name: what for name, what in suggested.items() if what.startswith("Dim(")}
    made = tuple(replace(dim, **_bounds(bounds[dim.name])) if dim.name in bounds else dim for dim in dims)
    if made == tuple(dims) and not frozen:
        # A size of one is a case of its own to PyTorch, also where it comes about on the way: the next size is tried.
        singular = set(
            re.findall(r"Not all values of (\w+) = \S+ in the specified range.* satisfy .* != [01]\.", message)
        )
        made = tuple(replace(dim, low=dim.low + 1) if dim.name in singular else dim for dim in dims)
    if made == tuple(dims) and (found := _FRACTION.search(message)):
        least = -(-int(found["above"]) // int(found["below"]))
        made = tuple(
            replace(dim, low=max(dim.low, least)) if dim.name in found.group("name", "other") else dim for dim in dims
        )
    return made, frozen


_FRACTION = re.compile(r"got <=? for (?:(?P<name>\w+) < )?(?P<above>\d+)/(?P<below>\d+)(?: <= (?P<other>\w+))?")
"""PyTorch's solver fails on a lower bound that is a fraction; its message holds the bound."""


def _bounds(what: str) -> dict[str, Any]:
    low, high = re.search(r"min=(\d+)", what), re.search(r"max=(\d+)", what)
    return ({"low": int(low[1])} if low else {}) | ({"high": int(high[1])} if high else {})
