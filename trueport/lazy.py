"""Frameworks, loaded at their first use: declarations and help must be readable where none is installed."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from trueport.errors import MissingDependency
from trueport.quiet import start_up_hidden
from trueport.versions.torch import without_triton

__all__ = ["LazyModule", "defer", "load"]

_LOADS_TENSORFLOW = ("tensorflow", "keras", "tf_keras")


def load(module: str) -> ModuleType:
    """Import a framework's module, without the lines TensorFlow writes to stderr the first time."""
    if module.partition(".")[0] not in _LOADS_TENSORFLOW:
        with without_triton():
            return importlib.import_module(module)
    with start_up_hidden():
        return importlib.import_module(module)


def defer(*modules: str) -> None:
    """Have modules that libraries import in passing executed when they are first used; none that is loaded already."""
    if not any(isinstance(finder, _Deferring) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Deferring(frozenset(modules)))


class _Deferring(importlib.abc.MetaPathFinder):
    """Finds what the usual finder finds, to be executed later."""

    def __init__(self, modules: frozenset[str]) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path) if name in self._modules else None
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


class LazyModule:
    """Stands for a module until an attribute is asked for, then keeps what was found."""

    def __init__(self, module: str, product: str, extra: str) -> None:
        self._module = module
        self._product = product
        self._extra = extra

    def __getattr__(self, name: str) -> Any:
        try:
            module = load(self._module)
        except ModuleNotFoundError as error:
            if error.name != self._module:
                raise
            raise MissingDependency("this step", [self._product], [self._extra]) from None
        value = getattr(module, name)
        setattr(self, name, value)
        return value
