"""Where in the user's code a size that should stay open gets fixed: PyTorch says so in its log and nowhere else."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trueport.frontends.torch.places import is_users

__all__ = ["heard_guards"]

_LOGGER = "torch.fx.experimental.symbolic_shapes"


@contextmanager
def heard_guards() -> Iterator[list[str]]:
    """Collects the places in the user's code where PyTorch decides a size while it captures."""
    heard: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "[guard added]" in record.getMessage() and (place := _running_line()):
                heard.append(place)

    logger = logging.getLogger(_LOGGER)
    handler = Listening(logging.INFO)
    level, passes_on = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    others = [known for known in logger.handlers if known is not handler]
    for known in others:
        logger.removeHandler(known)
    try:
        yield heard
    finally:
        logger.removeHandler(handler)
        for known in others:
            logger.addHandler(known)
        logger.setLevel(level)
        logger.propagate = passes_on


def _running_line() -> str:
    """The line of the user's that runs just now: PyTorch logs while it is in the middle of it."""
    frames = [frame for frame in traceback.extract_stack() if is_users(frame.filename)]
    inside = [frame for frame in frames if frame.name not in ("<module>", "main")]
    last = (inside or frames)[-1] if frames else None
    return "" if last is None else f"{Path(last.filename).name}:{last.lineno} in {last.name}: {last.line}"
