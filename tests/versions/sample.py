"""A pytest plugin: run each n-th test of a file, n from TRUEPORT_EVERY, and skip what an older version cannot pass."""

from __future__ import annotations

import os
import re
from collections import Counter
from importlib.metadata import version

import pytest

from tests.versions.sets import KNOWN

__all__ = ["EVERY"]

EVERY = "TRUEPORT_EVERY"


def installed(package: str) -> tuple[int, ...]:
    """Return the version of an installed package as numbers."""
    return tuple(int(number) for number in re.findall(r"\d+", version(package))[:2])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is not in the sample."""
    every = int(os.environ.get(EVERY, "1"))
    seen: Counter[str] = Counter()
    kept, dropped = [], []
    for item in items:
        (dropped if seen[str(item.path)] % every else kept).append(item)
        seen[str(item.path)] += 1
    config.hook.pytest_deselected(items=dropped)
    for item in kept:
        for known in KNOWN:
            if re.search(known.tests, item.nodeid) and installed(known.package) < known.before:
                item.add_marker(pytest.mark.skip(reason=known.because))
    items[:] = kept
