"""No operator without a grid test."""

from __future__ import annotations

import re
from pathlib import Path

from trueport.backends.tensorflow.registry import registry

WORD = re.compile(r"\w+")
RUNTIME = "com.microsoft"
"""A domain with many names of ONNX's own: its tests stand in modules of their own."""


def _named(pattern: str) -> set[str]:
    return {word for module in Path(__file__).parent.glob(pattern) for word in WORD.findall(module.read_text("utf-8"))}


def test_every_operator_is_named_in_a_grid_test() -> None:
    anywhere, in_contrib = _named("test_*.py"), _named("test_contrib*.py")
    missing = [
        f"{mapping.domain}::{mapping.op}"
        for mapping in registry()
        if mapping.op not in (in_contrib if mapping.domain == RUNTIME else anywhere)
    ]
    assert not missing
