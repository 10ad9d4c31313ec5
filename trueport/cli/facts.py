"""What ``trueport info`` prints."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from typing import Any

__all__ = ["render"]


def render(facts: Mapping[str, Any], *, json: bool) -> str:
    """One fact a line, lists indented."""
    if json:
        return json_module.dumps(facts, indent=1)
    lines = []
    for key, value in facts.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  {item}" for item in value)]
        elif isinstance(value, dict) and value:
            lines += [f"{key}:", *(f"  {name}: {item}" for name, item in value.items() if item)]
        elif value not in ("", None, {}):
            lines.append(f"{key}: {value}")
    return "\n".join(lines)
