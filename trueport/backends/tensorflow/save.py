"""A built module as a SavedModel that plain TensorFlow loads."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.module import Built
from trueport.ir.artifact import ARTIFACT_MAP

__all__ = ["write_saved_model"]


def write_saved_model(built: Built, folder: Path) -> None:
    """Write graph, variables and the map into a new folder; the caller renames it when all is well."""
    with _no_collection():
        tf.saved_model.save(built.module, str(folder), signatures=built.function)
    target = folder / ARTIFACT_MAP
    target.parent.mkdir(exist_ok=True)
    target.write_text(built.map.to_json(), encoding="utf-8")


@contextmanager
def _no_collection() -> Iterator[None]:
    """TensorFlow makes millions of small objects that live to the end; a search for garbage looks at all of them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
