"""Where in the user's own program an operation was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trueport

__all__ = ["location_of"]

_OURS = str(Path(trueport.__file__).parent)
_INSTALLED = ("site-packages", "dist-packages")


def location_of(operation: Any, name: str) -> str:
    """The innermost line of the user's code that was traced, else the layer by the scope in the operation's name."""
    inner: list[str] = []
    for frame in operation.traceback or ():
        if frame.filename.startswith(_OURS):
            # What stands before our own call is whoever asked for the conversion.
            inner.clear()
        elif frame.filename.startswith("/") and not any(part in frame.filename for part in _INSTALLED):
            inner.append(f"{frame.filename}:{frame.lineno}")
    scope = name.rpartition("/")[0]
    return inner[-1] if inner else f"layer {scope}" if scope else ""
