"""What crosses the border of a branch or a loop: the ONNX values that things are made of."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from trueport.frontends.tensorflow.control.lists import as_rows, as_sequence
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Listing, Pair, Translated

__all__ = ["conformed", "parts", "rebuilt"]


def parts(value: Translated) -> tuple[ir.Value, ...]:
    """The ONNX values that something is made of; handles have none."""
    if isinstance(value, ir.Value):
        return (value,)
    if isinstance(value, Pair):
        return tuple(value)
    if isinstance(value, Listing):
        held = value.stacked if value.stacked is not None else value.sequence
        return () if held is None else (held,)
    return ()


def rebuilt(like: Translated, made: Sequence[ir.Value]) -> Translated:
    """The same kind of thing from other ONNX values."""
    if isinstance(like, ir.Value):
        return made[0]
    if isinstance(like, Pair):
        return Pair(*made)
    if isinstance(like, Listing):
        stacked = like.stacked is not None
        return Listing(
            like.dtype, like.shape, stacked=made[0] if stacked else None, sequence=None if stacked else made[0]
        )
    return like


def conformed(t: Translation, like: Translated, value: Translated) -> tuple[ir.Value, ...]:
    """The ONNX values of one thing in the form of another."""
    if isinstance(like, Listing) and isinstance(value, Listing):
        rows = like.stacked is not None
        return (as_rows(t, value, like.shape) if rows else as_sequence(t, value, like.shape),)
    found = parts(value)
    if not found or type(value) is not type(like):
        raise t.fail(
            "hands on a variable, a table or a message that is another one each time; ONNX chooses between values only",
            "read the variable or the table inside and hand on its value",
        )
    return found
