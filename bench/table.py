"""Plain tables, readable in a terminal and as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

__all__ = ["median", "ratio", "render"]


def render(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """A Markdown table under a heading, with lines of notes behind it."""
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (columns, ["-" * width for width in widths], *rows)
    ]
    return "\n".join([f"## {title}", "", *lines, *([""] if notes else []), *(f"* {note}" for note in notes), ""])


def ratio(ours: float | None, other: float | None) -> str:
    """Ours as a multiple of the other; below 1 is better."""
    return "–" if not ours or not other else f"{ours / other:.2f}"


def median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f}" if values else "–"
