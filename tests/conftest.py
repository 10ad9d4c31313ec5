"""Fixtures of the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.command_line import cli
from trueport.versions.torch import without_triton

__all__ = ["cli"]


@pytest.fixture(autouse=True)
def _no_triton_beside_tensorflow() -> Iterator[None]:
    """Tests that call PyTorch's exporter themselves would end the process where Triton is installed."""
    with without_triton():
        yield
