"""Which lines of a stack are the user's own: what PyTorch, Python and this package put around them is left out."""

from __future__ import annotations

import functools
import logging
import re
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trueport
from trueport.frontends.torch._torch import torch

__all__ = ["heard_guards", "is_users", "line_of", "quoted_lines", "running_line"]

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)(\n\s*(?P<code>.*))?')
_LOGGER = "torch.fx.experimental.symbolic_shapes"


def is_users(file: str) -> bool:
    """Whether a file is neither PyTorch's, nor Python's, nor ours, nor made up while tracing."""
    return not file.startswith(("<", *_others()))


@functools.cache
def _others() -> tuple[str, ...]:
    ours = Path(trueport.__file__).parent
    site = Path(torch.__file__).parents[1]
    traced = [site / name for name in ("torch", "onnxscript", "sympy", "typing_extensions.py")]
    return (*(str(folder) for folder in (ours, *traced)), sysconfig.get_paths()["stdlib"] + "/")


def running_line() -> str:
    """``net.py:12 in forward: code``: the user's line that runs just now inside of a module that this package calls."""
    frames = traceback.extract_stack()
    ours = [index for index, frame in enumerate(frames) if frame.filename in _callers()]
    inside = [frame for frame in frames[(ours or [-1])[-1] + 1 :] if is_users(frame.filename)]
    return (
        f"{Path(inside[-1].filename).name}:{inside[-1].lineno} in {inside[-1].name}: {inside[-1].line}"
        if inside
        else ""
    )


@functools.cache
def _callers() -> tuple[str, ...]:
    """Files of this package that call modules; what they call may call this package's control flow in turn."""
    here = Path(__file__).parent
    return tuple(str(here / name) for name in ("call.py", "capture.py"))


@contextmanager
def heard_guards() -> Iterator[list[str]]:
    """Collect the lines of the user's code where PyTorch fixes a size while it captures; it says so in its log only."""
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


def line_of(stack: str) -> str:
    """``net.py:12 in forward``: the innermost line of the user's own code in a stack trace."""
    found = quoted_lines(stack)
    return found[-1].partition(": ")[0] if found else ""


def quoted_lines(text: str) -> list[str]:
    """``net.py:12 in forward: code`` for each line of the user's that a message or a trace quotes."""
    frames = [frame for frame in _FRAME.finditer(text or "") if is_users(frame["file"])]
    return [
        f"{Path(f['file']).name}:{f['line']} in {f['function']}: {(f['code'] or '').strip().rstrip(':')}"
        for f in frames
    ]
