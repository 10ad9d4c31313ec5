"""A built module as a SavedModel that plain TensorFlow loads."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.module import TracedModule
from trueport.errors import WriteFailed
from trueport.ir.artifact import ARTIFACT_MAP
from trueport.quoting import one_line

__all__ = ["write_saved_model"]


def write_saved_model(built: TracedModule, folder: Path) -> None:
    """Write graph, variables and the map into a new folder; the caller renames it when all is well."""
    with _no_collection():
        try:
            tf.saved_model.save(built.module, str(folder), signatures=built.function)
        except tf.errors.OpError as error:
            raise WriteFailed(
                f"cannot be written: {_reason(error)}",
                where=folder.name,
                remedy="free some space, or name an output in a folder that can be written to",
            ) from error
    target = folder / ARTIFACT_MAP
    target.parent.mkdir(exist_ok=True)
    target.write_text(built.map.to_json(), encoding="utf-8")


def _reason(error: Exception) -> str:
    """Return the system's own words from TensorFlow's ``{{node}} FILE; No space left on device [Op:SaveV2]``."""
    text = one_line(error, 1000)
    said = re.search(r"; ([^;\[]+?)(?: \[Op:\w+\])?$", text)
    return said[1] if said else text[:300]


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
