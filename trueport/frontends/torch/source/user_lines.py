"""Which lines of a stack are the user's own: what PyTorch, Python and this package put around them is left out."""

from __future__ import annotations

import functools
import re
import sysconfig
import traceback
from pathlib import Path

from trueport.frontends.torch._torch import torch

__all__ = ["is_users", "line_of", "quoted_lines", "running_line"]

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)(\n\s*(?P<code>.*))?')


def is_users(file: str) -> bool:
    """Whether a file is neither PyTorch's, nor Python's, nor ours, nor made up while tracing."""
    return not file.startswith(("<", *_others()))


@functools.cache
def _others() -> tuple[str, ...]:
    ours = Path(__file__).parents[2]
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
