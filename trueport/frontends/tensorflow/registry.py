"""The declarations that make up this frontend, by family."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from trueport.frontends.tensorflow import ops
from trueport.mapping.registry import Registry, build

__all__ = ["registry"]


@functools.cache
def registry() -> Registry:
    """All built-in mappings from TensorFlow to ONNX; reading them does not load TensorFlow."""
    families = sorted(module.name for module in pkgutil.iter_modules(ops.__path__))
    return build("onnx", *(importlib.import_module(f"{ops.__name__}.{name}") for name in families))
