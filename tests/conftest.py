"""Fixtures of the whole suite."""

from __future__ import annotations

from tests.command_line import cli

__all__ = ["cli"]
