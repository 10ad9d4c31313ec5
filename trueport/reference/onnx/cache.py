"""Widened constants, as many as fit: evaluations that walk side by side use the same ones."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

__all__ = ["BoundedCache"]

_BYTES = 1 << 28


class BoundedCache:
    """What was computed last, up to so many bytes."""

    def __init__(self, limit: int = _BYTES) -> None:
        self._limit = limit
        self._held: OrderedDict[Any, Any] = OrderedDict()
        self._bytes = 0

    def get(self, key: Any) -> Any | None:
        """None where it is not, or no longer, held."""
        found = self._held.get(key)
        return None if found is None else found[0]

    def put(self, key: Any, value: Any, size: int) -> None:
        """Hold a value of so many bytes; the oldest go for it."""
        if size > self._limit or key in self._held:
            return
        self._held[key] = value, size
        self._bytes += size
        while self._bytes > self._limit:
            _, (_, dropped) = self._held.popitem(last=False)
            self._bytes -= dropped
