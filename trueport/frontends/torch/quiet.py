"""PyTorch's exporter talks while it works; what matters of it reaches the user in our errors."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator

__all__ = ["quiet"]

_LOGGERS = ("torch.onnx", "onnxscript", "torch.export", "torch._guards", "torch._dynamo", "torch.fx")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings of deprecated parts, no word of packages that are missing, no tracebacks of what is tried first."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
