"""TensorFlow, loaded at its first use: declarations must be readable where it is not installed."""

from __future__ import annotations

import importlib
from typing import Any

from trueport.errors import MissingDependency

__all__ = ["tf"]


class _LazyTensorFlow:
    """Stands for the module until an attribute is asked for, then keeps what was found."""

    def __getattr__(self, name: str) -> Any:
        try:
            module = importlib.import_module("tensorflow")
        except ModuleNotFoundError as error:
            if error.name != "tensorflow":
                raise
            raise MissingDependency("TensorFlow", "tensorflow") from None
        value = getattr(module, name)
        setattr(self, name, value)
        return value


tf: Any = _LazyTensorFlow()
