"""Sizes as a command line writes them: of open dims, and of memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trueport.errors import UsageError

__all__ = ["read_bytes", "read_dims"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def read_dims(words: Sequence[str] | None) -> dict[str, Sequence[int]] | None:
    """``batch=1,3,8`` or, for bounds, ``batch=1..64``; None where nothing was said."""
    return dict(_dim(word) for word in words) if words else None


def _dim(word: str) -> tuple[str, Sequence[int]]:
    name, equals, sizes = word.rpartition("=")
    bounds = re.fullmatch(r"\s*(\d+)\s*\.\.\s*(\d+)\s*", sizes)
    try:
        if not (equals and name):
            raise ValueError(word)
        if bounds:
            low, high = int(bounds[1]), int(bounds[2])
            if low > high:
                raise ValueError(word)
            return name, range(low, high + 1)
        return name, [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise UsageError(
            f"{word!r} is no dim with its sizes", where="--dims", remedy="write batch=1,3,8 or batch=1..64"
        ) from error


def read_bytes(word: str | None) -> int | None:
    """``500MB``, ``2GB``, ``2GiB`` or plain bytes."""
    if word is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", word.strip().lower())
    if not found:
        raise UsageError(f"{word!r} is no size", where="--memory", remedy="write 500MB, 2GB or a number of bytes")
    return int(float(found[1]) * _UNITS[found[2] or ""])
