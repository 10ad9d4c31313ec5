"""The declarations that make up this frontend, by family."""

from __future__ import annotations

import functools

from trueport.frontends.tensorflow import ops
from trueport.mapping.registry import Registry, build_from_package

__all__ = ["registry"]


@functools.cache
def registry() -> Registry:
    """All built-in mappings from TensorFlow to ONNX; reading them does not load TensorFlow."""
    return build_from_package("onnx", ops)
