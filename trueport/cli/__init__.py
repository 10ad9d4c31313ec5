"""The command line. ``main`` is what the ``trueport`` command runs."""

from trueport.cli.app import main

__all__ = ["main"]
