"""What all tests of PyTorch's side share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.torch.speed import one_registry


@pytest.fixture(autouse=True, scope="session")
def exporter_reads_its_library_once() -> Iterator[None]:
    """Most of an export's time goes into reading the exporter's own translations, each time anew."""
    with one_registry():
        yield
