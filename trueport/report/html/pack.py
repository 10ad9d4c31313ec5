"""Graphs as the page holds them: every text once, nodes as rows of numbers. It halves a large page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["packed"]


def packed(graph: Mapping[str, Any]) -> dict[str, Any]:
    """A graph's plain data with ``texts`` and ``rows`` in the place of its nodes; the script undoes it."""
    places: dict[str, int] = {}

    def text(words: str) -> int:
        return places.setdefault(words, len(places))

    def value(found: Mapping[str, Any]) -> list[Any]:
        return [text(found["name"]), text(found["dtype"]), found["shape"]]

    def row(node: Mapping[str, Any]) -> list[Any]:
        return [
            text(node["name"]),
            text(node["op"]),
            text(node["scope"]),
            text(node["fidelity"] or ""),
            [text(name) for name in node["inputs"]],
            [value(found) for found in node["outputs"]],
            [text(word) for pair in node["attributes"].items() for word in pair],
            text(node["place"]),
            text(node["made_by"]),
            [text(reason) for reason in node["reasons"]],
        ]

    rows = [row(node) for node in graph["nodes"]]
    constants = [value(found) for found in graph["constants"]]
    kept = {name: graph[name] for name in ("framework", "inputs", "outputs", "output_names")}
    return {**kept, "rows": rows, "constants": constants, "texts": list(places)}
