"""The exporter's errors in our words: the line of the user's code, the reason, the rewrite to make."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from trueport.errors import ConversionError
from trueport.frontends.torch.dims import OpenDim, refined

__all__ = ["explain", "place_of"]

_INNER = re.compile(r"[/\\](torch|onnxscript|sympy|trueport|typing_extensions|contextlib|functools)[/\\.]")
_QUOTED = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<code>.*)')


def explain(failures: Sequence[Exception], dims: Sequence[OpenDim]) -> ConversionError:
    """One error for all the ways that were tried; the first one that has a rule is told."""
    told = next((failure for failure in failures if isinstance(failure, ConversionError)), None)
    if told is not None and not any(_data_dependent(failure) for failure in failures):
        return told
    for failure in failures:
        for applies, tell in _RULES:
            if applies(failure):
                why, remedy = tell(failure, dims)
                return ConversionError(why, where=place_of(failure), remedy=remedy)
    first = failures[0]
    return ConversionError(
        f"PyTorch can't capture it: {type(first).__name__}: {_short(first)}",
        where=place_of(first),
        remedy="-v shows PyTorch's own message; torch.export.draft_export(module, inputs) lists all it does not take",
    )


def place_of(failure: BaseException | None) -> str:
    """The last line of the user's own code: from the traceback, or from what PyTorch quotes in its message."""
    if failure is None:
        return "the module"
    frames = [frame for frame in traceback.extract_tb(failure.__traceback__) if not _INNER.search(frame.filename)]
    quoted = [m for m in _QUOTED.finditer(_whole(failure)) if not _INNER.search(m["file"])]
    if quoted:
        last = quoted[-1]
        return f"{Path(last['file']).name}:{last['line']} in {last['function']}: {last['code'].strip().rstrip(':')}"
    users = [frame for frame in frames if frame.name == "forward" or frame.line]
    inside = [frame for frame in users if frame.name == "forward"] or users
    if not inside:
        return "the module"
    last_frame = inside[-1]
    return f"{Path(last_frame.filename).name}:{last_frame.lineno} in {last_frame.name}: {last_frame.line}"


def _whole(failure: BaseException) -> str:
    """The message, and those of what caused it."""
    parts = []
    seen: BaseException | None = failure
    while seen is not None:
        parts.append(str(seen))
        seen = seen.__cause__ or seen.__context__
    return "\n".join(parts)


def _short(failure: Exception) -> str:
    return " ".join(str(failure).split("\n\n")[0].split())[:300]


def _data_dependent(failure: Exception) -> bool:
    text = f"{type(failure).__name__} {failure}"
    return any(word in text for word in ("GuardOnDataDependentSymNode", "Data-dependent", "data-dependent"))


def _tell_data_dependent(failure: Exception, dims: Sequence[OpenDim]) -> tuple[str, str]:
    return (
        "what happens here hangs on the data: capturing it would bake in one case",
        "write a branch as torch.cond(condition, then, otherwise, (x,)), a loop as "
        "torch._higher_order_ops.while_loop(condition, body, (x,)), a choice of elements as torch.where",
    )


def _fixes_dim(failure: Exception) -> bool:
    return "Constraints violated" in str(failure)


def _tell_fixed(failure: Exception, dims: Sequence[OpenDim]) -> tuple[str, str]:
    frozen = refined(dims, str(failure))[1]
    return (
        f"a dim that should stay open gets fixed here: {'; '.join(frozen) or _short(failure)}",
        "use the size as it is, without int(), len() or a comparison (x.size(0), x.flatten(1), -1 in reshape), "
        "or leave the dim out of the dynamic ones",
    )


_Rule = tuple[Callable[[Exception], bool], Callable[[Exception, Sequence[OpenDim]], tuple[str, str]]]
_RULES: tuple[_Rule, ...] = (
    (_data_dependent, _tell_data_dependent),
    (_fixes_dim, _tell_fixed),
)
