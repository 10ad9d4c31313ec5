"""PyTorch's exporter talks while it works; what matters of it reaches the user in our errors."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from trueport.quiet import framework_prints_hidden, framework_warnings_hidden

__all__ = ["quiet", "torch_warnings_hidden"]

_LOGGERS = ("torch.onnx", "onnxscript", "torch.export", "torch._guards", "torch._dynamo", "torch.fx")
_PACKAGES = ("torch", "onnxscript", "onnx_ir")


def torch_warnings_hidden() -> contextlib.AbstractContextManager[None]:
    """Hide warnings that PyTorch and its exporter raise; those of the user's own code are shown."""
    return framework_warnings_hidden(*_PACKAGES, "onnx", "trueport")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide warnings of deprecated parts, log lines about missing packages, and graphs of what is tried first.

    One thread at a time: torch_warnings_hidden holds a lock, and what is set within is put back before it lets go.
    """
    with torch_warnings_hidden(), framework_prints_hidden(*_PACKAGES):
        loggers = [logging.getLogger(name) for name in _LOGGERS]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
