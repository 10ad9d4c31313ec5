"""A framework's own words, as they stand in our messages."""

from __future__ import annotations

import re

__all__ = ["one_line", "plain_text"]

_TERMINAL_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
"""ANSI escape sequences: colours and cursor moves (CSI), titles and links (OSC), and those of one letter."""


def plain_text(said: object) -> str:
    """Return an error's text, or any other, without terminal codes: Keras writes in bold and in colours."""
    return _TERMINAL_CODES.sub("", str(said))


def one_line(said: object, limit: int) -> str:
    """Return the plain text with all white space as single spaces, cut to ``limit`` characters."""
    return " ".join(plain_text(said).split())[:limit]
