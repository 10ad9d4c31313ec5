"""The exporter's errors in our words: the line of the user's code, the reason, the rewrite to make."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trueport.errors import ConversionError
from trueport.frontends.torch.source.dims import OpenDim, refined
from trueport.frontends.torch.source.user_lines import is_users, quoted_lines
from trueport.quoting import one_line, plain_text

__all__ = ["DECIDED", "DimFixed", "explain", "fixes_dim", "place_of"]

DECIDED = "decided at "
"""Begins a note on an exception: the line where PyTorch fixed a size."""


def explain(failures: Sequence[Exception], dims: Sequence[OpenDim]) -> ConversionError:
    """One error for all the ways that were tried: one of ours, which knows most, or the first one that has a rule."""
    told = next((failure for failure in failures if isinstance(failure, ConversionError)), None)
    if told is not None:
        return ConversionError(told.why, where=told.where or place_of(failures[0]), remedy=told.remedy)
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


def place_of(failure: BaseException) -> str:
    """The user's line at which it happened: where a size was decided, what PyTorch quotes, or from the traceback."""
    noted = [note.removeprefix(DECIDED) for note in getattr(failure, "__notes__", ()) if note.startswith(DECIDED)]
    frames = [frame for frame in traceback.extract_tb(failure.__traceback__) if is_users(frame.filename)]
    running = [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames]
    found = [*running, *quoted_lines(_whole(failure)), *noted]
    return found[-1].rstrip(":") if found else "the module"


def _whole(failure: BaseException) -> str:
    """The message, and those of what caused it."""
    parts = []
    seen: BaseException | None = failure
    while seen is not None:
        parts.append(plain_text(seen))
        seen = seen.__cause__ or seen.__context__
    return "\n".join(parts)


def _short(failure: Exception) -> str:
    return one_line(str(failure).split("\n\n")[0], 300)


def _data_dependent(failure: Exception) -> bool:
    text = f"{type(failure).__name__} {failure}"
    return any(word in text for word in ("GuardOnDataDependentSymNode", "Data-dependent", "data-dependent"))


def _tell_data_dependent(failure: Exception, dims: Sequence[OpenDim]) -> tuple[str, str]:
    return (
        "what happens here hangs on the data: capturing it would bake in one case",
        "write a branch as torch.cond(condition, then, otherwise, (x,)), a loop as "
        "torch._higher_order_ops.while_loop(condition, body, (x,)), a choice of elements as torch.where",
    )


class DimFixed(ConversionError):
    """PyTorch captured a program in which a dim that should stay open is a number, and did not say so."""

    def __init__(self, sizes: Mapping[str, int], where: str) -> None:
        frozen = "; ".join(f"{name} = {size}" for name, size in sizes.items())
        super().__init__(_FIXED + frozen, where=where, remedy=_LEAVE_OPEN)


_FIXED = "a dim that should stay open gets fixed here: "
_LEAVE_OPEN = (
    "use the size as it is, without int(), len() or a comparison (x.size(0), x.flatten(1), -1 in reshape), "
    "or leave the dim out of the dynamic ones"
)


def fixes_dim(failure: Exception) -> bool:
    """True where the example's sizes are to blame: at others the program may be captured."""
    told = str(failure)
    return isinstance(failure, DimFixed) or "Constraints violated" in told or " not in range [" in told


def _tell_fixed(failure: Exception, dims: Sequence[OpenDim]) -> tuple[str, str]:
    frozen = refined(dims, str(failure))[1]
    return _FIXED + ("; ".join(frozen) or _short(failure)), _LEAVE_OPEN


_Rule = tuple[Callable[[Exception], bool], Callable[[Exception, Sequence[OpenDim]], tuple[str, str]]]
_RULES: tuple[_Rule, ...] = (
    (_data_dependent, _tell_data_dependent),
    (fixes_dim, _tell_fixed),
)
