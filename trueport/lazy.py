"""Frameworks, loaded at their first use: declarations and help must be readable where none is installed."""

from __future__ import annotations

import importlib
from typing import Any

from trueport.errors import MissingDependency

__all__ = ["LazyModule"]


class LazyModule:
    """Stands for a module until an attribute is asked for, then keeps what was found."""

    def __init__(self, module: str, product: str, extra: str) -> None:
        self._module = module
        self._product = product
        self._extra = extra

    def __getattr__(self, name: str) -> Any:
        try:
            module = importlib.import_module(self._module)
        except ModuleNotFoundError as error:
            if error.name != self._module:
                raise
            raise MissingDependency(self._product, self._extra) from None
        value = getattr(module, name)
        setattr(self, name, value)
        return value
