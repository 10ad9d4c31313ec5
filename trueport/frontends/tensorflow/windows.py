"""Paddings of sliding windows."""

from __future__ import annotations

from typing import Any

from trueport.frontends.tensorflow.spatial import spatial

__all__ = ["padding_attributes"]

_AUTO = {"SAME": "SAME_UPPER", "VALID": "VALID"}


def padding_attributes(padding: str, explicit: list[int], data_format: str) -> dict[str, Any]:
    """ONNX's attributes: the automatic paddings are the same in both, explicit ones come in pairs per axis."""
    if padding != "EXPLICIT":
        return {"auto_pad": _AUTO[padding]}
    before, after = spatial(explicit[0::2], data_format), spatial(explicit[1::2], data_format)
    return {"pads": [*before, *after]}
