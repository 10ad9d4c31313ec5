"""The declarations that make up this backend, by family."""

from __future__ import annotations

import functools

from trueport.backends.tensorflow import ops
from trueport.mapping.registry import Registry, build_from_package

__all__ = ["registry"]


@functools.cache
def registry() -> Registry:
    """All built-in mappings to TensorFlow; reading them does not load TensorFlow."""
    return build_from_package("tensorflow", ops)
