"""An artifact appears whole under its name, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trueport.errors import OutputExists

__all__ = ["check_free", "written_aside"]


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse early what could not be written later."""
    if path.exists() and not overwrite:
        raise OutputExists("exists already", where=str(path), remedy="name another place, or pass --overwrite")
    if not path.absolute().parent.is_dir():
        raise OutputExists("its folder does not exist", where=str(path), remedy=f"mkdir -p {path.parent}")


@contextmanager
def written_aside(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A place beside ``path`` to write to; renamed to it when the block ends well, removed when it does not.

    What stood there before stays untouched until the new one is complete. Files that were written beside it
    (an ONNX model's weights) move with it.
    """
    check_free(path, overwrite=overwrite)
    holder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    try:
        fresh = holder / path.name
        yield fresh
        for companion in [item for item in holder.iterdir() if item != fresh]:
            os.replace(companion, path.parent / companion.name)
        if path.exists():
            os.rename(path, holder / "replaced")
        os.rename(fresh, path)
    finally:
        shutil.rmtree(holder, ignore_errors=True)
