"""One public function or layer of Keras or TensorFlow, how to call it, and on what."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

__all__ = ["AnyCase", "Cannot", "Case", "Elsewhere", "NoGraph", "all_cases"]


@dataclass(frozen=True)
class Case:
    """Converts and agrees on every sample; give two sizes of the first dim at least.

    ``make`` is called without arguments and gives the function over tensors, or a Keras model.
    """

    name: str
    """the public name, like ``keras.ops.relu``"""
    make: Callable[[], Any]
    samples: Sequence[Sequence[Any]]
    options: dict[str, Any] = field(default_factory=dict)
    """for ``agree``"""
    label: str = ""
    """tells several cases of one name apart"""
    make_referee: Callable[[], Any] = lambda: None
    """an equal function or model, for what TensorFlow runs on some CPUs only; None: it is its own"""

    @property
    def id(self) -> str:
        return f"{self.name}-{self.label}" if self.label else self.name


@dataclass(frozen=True)
class Cannot:
    """ONNX can't express it: conversion must be refused, and the error must hold these words."""

    name: str
    make: Callable[[], Any]
    samples: Sequence[Sequence[Any]]
    why: str
    says: str = ""


@dataclass(frozen=True)
class NoGraph:
    """A public name that emits nothing in inference: a training loss, a context manager, a type."""

    name: str
    why: str


@dataclass(frozen=True)
class Elsewhere:
    """Converts; too large for a case here, so another test shows it."""

    name: str
    where: str


AnyCase = Case | Cannot | NoGraph | Elsewhere


def all_cases() -> list[AnyCase]:
    """The CASES of every ``cases_*`` module in this folder."""
    package = importlib.import_module("tests.coverage")
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name.startswith("cases_"))
    modules: list[ModuleType] = [importlib.import_module(f"tests.coverage.{name}") for name in names]
    return [case for module in modules for case in module.CASES]
