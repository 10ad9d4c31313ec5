"""Where in the user's code a size that should stay open gets fixed: PyTorch says so in its log and nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from trueport.frontends.torch.source.user_lines import running_line

__all__ = ["heard_guards"]

_LOGGER = "torch.fx.experimental.symbolic_shapes"


@contextmanager
def heard_guards() -> Iterator[list[str]]:
    """Collects the places in the user's code where PyTorch decides a size while it captures."""
    heard: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "[guard added]" in record.getMessage() and (place := running_line()):
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
