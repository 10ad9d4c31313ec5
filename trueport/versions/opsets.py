"""The opsets that Trueport is written for, whichever onnx is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx.defs

__all__ = ["WRITTEN_FOR", "canonical_opsets", "knows_all", "later_attributes", "within"]

WRITTEN_FOR: Mapping[str, int] = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
"""The newest opset per domain that handlers and adapters were compared with; a newer onnx does not change it."""

_LATER_ATTRIBUTES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("", "Attention"): {"left_window_size": -1, "right_window_size": -1},
    ("", "SpaceToDepth"): {"mode": "DCR"},
}
"""Attributes that handlers take and onnx 1.22 does not know, with the defaults that onnx 1.23 gives them."""


def canonical_opsets() -> Mapping[str, int]:
    """Return the opset per domain that handlers see: ours, or the newest of an installed onnx that is older."""
    return {**WRITTEN_FOR, "": min(WRITTEN_FOR[""], onnx.defs.onnx_opset_version())}


def knows_all() -> bool:
    """True if the installed onnx knows every operator version that Trueport is written for."""
    return onnx.defs.onnx_opset_version() >= WRITTEN_FOR[""]


def later_attributes(op: str, domain: str) -> Mapping[str, Any]:
    """Return the attributes of an operator that an older onnx does not know, with their defaults; empty if it does."""
    return {} if knows_all() else _LATER_ATTRIBUTES.get((domain, op), {})


def within(schema: Any) -> bool:
    """True if a schema belongs to the opsets that Trueport is written for, or to a domain that is not ONNX's."""
    return bool(schema.since_version <= WRITTEN_FOR.get(schema.domain, schema.since_version))
