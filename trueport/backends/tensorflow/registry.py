"""The declarations that make up this backend, by family."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from trueport.backends.tensorflow import ops
from trueport.mapping.registry import Registry, build

__all__ = ["registry"]


@functools.cache
def registry() -> Registry:
    """All built-in mappings to TensorFlow; reading them does not load TensorFlow."""
    families = sorted(module.name for module in pkgutil.iter_modules(ops.__path__))
    return build("tensorflow", *(importlib.import_module(f"{ops.__name__}.{name}") for name in families))
