"""Lines of a terminal: paragraphs under a heading and tables, none wider than a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from trueport.verifying.wording import label

__all__ = ["WIDTH", "entry", "joined", "table"]

WIDTH = 100
"""Columns of a line."""
_HEAD = 14
_LEAST = 12
"""Characters that a cell keeps however narrow the screen is."""
_LONGEST = 400
_REASONS = "why"
"""The head of a column of sentences."""
_ROOM = 36
"""Characters of such a column, at least."""


def entry(head: str, *paragraphs: str, most: int = 4) -> list[str]:
    """Return paragraphs beside a word that says what they are, each from a new line and at most ``most`` lines long."""
    margin = " " * _HEAD
    lines: list[str] = []
    for paragraph in filter(None, paragraphs):
        begin = f"  {head}".ljust(_HEAD) if not lines else margin
        text = label(paragraph, _LONGEST)
        lines += textwrap.wrap(
            text, WIDTH, initial_indent=begin, subsequent_indent=margin, max_lines=most, break_on_hyphens=False
        )
    return lines


def joined(lines: Sequence[str]) -> str:
    """Return lines as text: one empty line between parts, and none at the end."""
    kept = [line for line, before in zip(lines, ["x", *lines], strict=False) if line or before]
    return "\n".join(kept).rstrip()


def table(rows: Sequence[tuple[str, ...]], *, marked: int | None = None) -> list[str]:
    """Return lines of columns, the first row their heads; ``marked`` is a row that an arrow points to.

    Columns that have no room lose the middle of their words, the widest first; one of reasons, at the end, is wrapped.
    """
    kept = [index for index in range(len(rows[0])) if any(row[index] for row in rows[1:])]
    reasons = [label(row[-1], _LONGEST) if rows[0][-1] == _REASONS and row[-1] else "" for row in rows]
    kept = kept[:-1] if any(reasons[1:]) else kept
    cells = [[label(row[index]) for index in kept] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(kept))]
    room = WIDTH - min(_ROOM, max(map(len, reasons))) if any(reasons[1:]) else WIDTH
    while sum(widths) + 2 * len(widths) + 2 > room and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    margin = sum(widths) + 2 * len(widths) + 4
    lines = []
    for at, row in enumerate(cells):
        words = "  ".join(label(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True))
        first, *more = textwrap.wrap(reasons[at], max(_ROOM, WIDTH - margin), max_lines=4) or [""]
        lines.append(f"  {'→ ' if at == marked else '  '}{words}  {first if any(reasons[1:]) else ''}".rstrip())
        lines += [" " * margin + line for line in more]
    return lines
