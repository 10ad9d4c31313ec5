"""The public names that coverage is measured by, found by looking: a new release shows what is new.

Run it to see what has no case yet: ``python -m tests.coverage.names [PREFIX]``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

import keras
import tensorflow as tf

from tests.coverage.case import all_cases

__all__ = ["public_names"]

_TF = ("nn", "math", "image", "signal", "linalg", "strings", "ragged", "sparse", "lookup", "random", "quantization")


def public_names() -> list[str]:
    """Layers, keras.ops, model families, and the functions of TensorFlow's inference namespaces."""
    return sorted({*_layers(), *_keras_ops(), *_applications(), *_tensorflow()})


def _layers() -> Iterator[str]:
    for name, item in vars(keras.layers).items():
        if inspect.isclass(item) and not name.startswith("_"):
            yield f"keras.layers.{name}"


def _keras_ops() -> Iterator[str]:
    for name, item in vars(keras.ops).items():
        if callable(item) and not name.startswith("_"):
            yield f"keras.ops.{name}"
    for name, item in vars(keras.ops.image).items():
        if callable(item) and not name.startswith("_"):
            yield f"keras.ops.image.{name}"


def _applications() -> Iterator[str]:
    for name, item in vars(keras.applications).items():
        if inspect.isfunction(item) and not name.startswith("_"):
            yield f"keras.applications.{name}"


def _tensorflow() -> Iterator[str]:
    for space in _TF:
        for name, item in vars(getattr(tf, space)).items():
            if callable(item) and not name.startswith("_"):
                yield f"tf.{space}.{name}"


def main() -> None:
    """Print names without a case."""
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    known = {case.name for case in all_cases()}
    missing = [name for name in public_names() if name not in known and name.startswith(prefix)]
    print("\n".join(missing))
    print(f"{len(missing)} of {len(public_names())} names have no case", file=sys.stderr)


if __name__ == "__main__":
    main()
