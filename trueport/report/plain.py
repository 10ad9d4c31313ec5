"""Frozen data as JSON's own types, and back: one pair of functions for everything that a report holds.

Enumerations go by name in small letters, numbers that JSON lacks as ``"inf"``, ``"-inf"`` and ``"nan"``.
"""

from __future__ import annotations

import enum
import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

__all__ = ["plain", "restored"]

T = TypeVar("T")


def plain(value: Any) -> Any:
    """``value`` in dicts, lists, strings, finite numbers, booleans and None."""
    if isinstance(value, enum.Enum):
        return value.name.lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def restored(kind: Any, data: Any) -> Any:
    """What :func:`plain` was given, by its type; keys that the type does not have are left out."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _of_union(arguments, data)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next((member for member in kind if member.value == data), None) or kind[data.upper()]
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass(kind, data)
    if kind is float and isinstance(data, str):
        return float(data)
    if origin is tuple:
        return _tuple(arguments, data)
    if origin in (Mapping, dict):
        return {restored(arguments[0], key): restored(arguments[1], item) for key, item in data.items()}
    if origin in (Sequence, list):
        return [restored(arguments[0], item) for item in data]
    return int(data) if kind is int else data


def _of_union(kinds: Sequence[Any], data: Any) -> Any:
    """None, the kind the data already has, or the first kind that is made of more than one value."""
    if data is None:
        return None
    for kind in kinds:
        if isinstance(kind, type) and isinstance(data, kind) and not issubclass(kind, enum.Enum):
            return data
    return restored(next(kind for kind in kinds if kind is not types.NoneType), data)


def _tuple(kinds: Sequence[Any], data: Sequence[Any]) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(restored(kinds[0], item) for item in data)
    return tuple(restored(kind, item) for kind, item in zip(kinds, data, strict=True))


def _dataclass(kind: type[T], data: Mapping[str, Any]) -> T:
    hints = typing.get_type_hints(kind)
    known = [field.name for field in fields(kind) if field.name in data]  # type: ignore[arg-type]
    return kind(**{name: restored(hints[name], data[name]) for name in known})
