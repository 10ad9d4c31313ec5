"""What a module gives back, as tensors with names.

A name is the path to the value: the keys of dicts, the fields of dataclasses and named tuples, the positions in lists
and tuples, joined by ``_``; a single value is ``output``, a path that begins with a position ``output_0``,
``output_1`` …. An output keeps its name whatever stands beside it. A number of Python's becomes a tensor without axes:
int64, float64 or bool. None is left out, and so is what ONNX and TensorFlow have no type for, which is reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from trueport.fidelity import LOSSY, Loss
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.kept_attributes import forward_replaced

__all__ = ["as_tensors_only", "is_exportable", "left_out", "name_of", "named_results", "unique"]


def named_results(result: Any, taken: Sequence[str] = ()) -> dict[str, Any]:
    """Every tensor and number of a result by name; a name that an input has gets ``_out``."""
    carried = [(path, _as_tensor(leaf)) for path, leaf in _leaves(result) if _is_carried(leaf)]
    names = [_result_name(path) for path, _ in carried]
    names = unique([f"{name}_out" if name in taken else name for name in names])
    return {name: leaf for name, (_, leaf) in zip(names, carried, strict=True)}


def left_out(result: Any) -> list[Loss]:
    """What a converted model can't give back, by its name; None is nothing to give back."""
    return [
        Loss(
            f"output {_result_name(path)!r}",
            f"is a {type(leaf).__name__}",
            "left out: a converted model gives back tensors and numbers",
            LOSSY,
        )
        for path, leaf in _leaves(result)
        if leaf is not None and not _is_carried(leaf)
    ]


def as_tensors_only(module: Any) -> AbstractContextManager[None]:
    """Within it the module gives back a tuple of what is carried: an export takes no other containers and numbers."""

    def run(forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return tuple(named_results(forward(*args, **kwargs)).values())

    return forward_replaced(module, run)


def is_exportable(result: Any) -> bool:
    """True if an export takes the result as it is: tensors and None in containers that PyTorch knows."""
    leaves = torch.utils._pytree.tree_leaves(result)
    return all(leaf is None or isinstance(leaf, torch.Tensor) for leaf in leaves)


def _leaves(result: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for below, leaf in torch.utils._pytree.tree_flatten_with_path(result)[0]:
        if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            fields = [(field.name, getattr(leaf, field.name)) for field in dataclasses.fields(leaf)]
        elif isinstance(leaf, (list, tuple)):  # torch.Size and other kinds that PyTorch has no entry for
            fields = [(str(index), item) for index, item in enumerate(leaf)]
        else:
            yield (*path, *below), leaf
            continue
        for name, item in fields:
            yield from _leaves(item, (*path, *below, name))


def _is_carried(leaf: Any) -> bool:
    return isinstance(leaf, (torch.Tensor, bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


_KINDS = {bool: "bool", int: "int64", float: "float64"}


def _as_tensor(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return leaf
    if type(leaf) in _KINDS:  # a constant of the graph: an operator's argument would be rounded to float32
        return torch.tensor(leaf, dtype=getattr(torch, _KINDS[type(leaf)]))
    if isinstance(leaf, (bool, torch.SymBool)):
        return torch.scalar_tensor(leaf, dtype=torch.bool)
    return torch.scalar_tensor(leaf, dtype=torch.float64 if isinstance(leaf, (float, torch.SymFloat)) else torch.int64)


def _result_name(path: Sequence[Any]) -> str:
    name = name_of(path)
    return f"output_{name}" if name and name[0].isdigit() else name or "output"


def name_of(path: Sequence[Any]) -> str:
    """The keys, fields and positions of a path, joined by ``_``."""
    return "_".join(_step(key) for key in path)


def _step(key: Any) -> str:
    for attribute in ("name", "key", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def unique(names: Sequence[str]) -> list[str]:
    """Names that are all different: a repeated one gets ``_1``, ``_2`` …"""
    found: list[str] = []
    for name in names:
        fresh, count = name, 1
        while fresh in found:
            fresh, count = f"{name}_{count}", count + 1
        found.append(fresh)
    return found
