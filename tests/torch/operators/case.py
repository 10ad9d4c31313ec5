"""One public function of PyTorch, how to call it, and on what."""

from __future__ import annotations

import importlib
import operator
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

__all__ = ["TARGETS", "AnyCase", "Cannot", "Case", "NoGraph", "Untried", "all_cases", "function_of"]

TARGETS = ("onnx", "tensorflow")
SIZES = (3, 5)
"""What the open dim is in the two calls."""
_COARSENESS = ["torch.float64", "torch.float32", "torch.float16", "torch.bfloat16"]
Inputs = Callable[[int], Sequence[Any]]


@dataclass(frozen=True)
class Case:
    """Converts to both targets and agrees at both sizes.

    ``inputs`` gives the tensors for a size; dims that differ between the two sizes stay open.
    """

    name: str
    """the public name, like ``torch.special.entr``, or an operator, like ``aten.add.Tensor``"""
    inputs: Inputs
    options: Mapping[str, Any] = field(default_factory=dict)
    """arguments that are no tensors"""
    call: Callable[..., Any] | None = None
    """what is converted, where it is not the function itself"""
    label: str = ""
    """tells several cases of one name apart"""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """targets that can't hold it, and why: conversion must be refused"""
    fixed: str = ""
    """why no dim can stay open"""
    random: bool = False
    """only shapes and types are compared"""

    @property
    def id(self) -> str:
        return f"{self.name}-{self.label}" if self.label else self.name

    def samples(self) -> list[Sequence[Any]]:
        return [self.inputs(size) for size in (SIZES[:1] if self.fixed else SIZES)]

    @property
    def kind(self) -> str:
        """Cases of one kind may be judged in one module: rounding counts by the coarsest type in it."""
        types = [str(tensor.dtype).replace("complex64", "float32") for tensor in self.inputs(SIZES[0])]
        return max((word for word in types if word in _COARSENESS), key=_COARSENESS.index, default="whole")

    def function(self) -> Callable[..., Any]:
        """What is called with the tensors alone."""
        found = self.call or function_of(self.name)
        options = dict(self.options)
        return (lambda *tensors: found(*tensors, **options)) if options else found


def Cannot(name: str, inputs: Inputs, why: str, **more: Any) -> Case:
    """A case that no target can hold: conversion must be refused."""
    return Case(name, inputs, cannot=dict.fromkeys(TARGETS, why), **more)


@dataclass(frozen=True)
class NoGraph:
    """A public name that emits nothing in inference: a helper, a step of training."""

    name: str
    why: str


@dataclass(frozen=True)
class Untried:
    """A public name that the tests can't call."""

    name: str
    why: str


AnyCase = Case | NoGraph | Untried


def function_of(name: str) -> Callable[..., Any]:
    """The function behind a public name."""
    root, _, rest = name.partition(".")
    found: Callable[..., Any] = operator.attrgetter(rest)({"torch": torch, "aten": torch.ops.aten}[root])
    return found


def all_cases() -> list[AnyCase]:
    """The CASES of every ``cases_*`` module in this folder."""
    package = importlib.import_module("tests.torch.operators")
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name.startswith("cases_"))
    modules = [importlib.import_module(f"tests.torch.operators.{name}") for name in names]
    return [case for module in modules for case in module.CASES]
