"""A pytest plugin: run a sample of the tests, drawn by a seed and spread over their files, and keep what came of each.

TRUEPORT_PARTS names the parts, one per line; TRUEPORT_RESULTS the file that gets one line of JSON per test when it is
drawn and one when it ends, at once: a process that ends early leaves what it saw, and what it did not run.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.versions.sets import KNOWN, PARTS, SEED

__all__ = ["NAMES", "RESULTS", "drawn"]

NAMES, RESULTS = "TRUEPORT_PARTS", "TRUEPORT_RESULTS"


def installed(package: str) -> tuple[int, ...]:
    """Return the version of an installed package as numbers."""
    return tuple(int(number) for number in re.findall(r"\d+", version(package))[:2])


def drawn(names: Iterable[str], count: int, seed: int = SEED) -> list[str]:
    """Return ``count`` tests: one of each file, then a second one, and so on, in an order that the seed gives."""

    def rank(text: str) -> bytes:
        return hashlib.sha256(f"{seed}:{text}".encode()).digest()

    files: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=rank):
        files[name.partition("::")[0]].append(name)
    rounds = itertools.zip_longest(*(files[file] for file in sorted(files, key=rank)))
    in_order = (name for names in rounds for name in names if name is not None)
    return list(itertools.islice(in_order, count))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is not in the sample. Runs last, after `-m` has deselected the slow tests."""
    names = [item.nodeid for item in items]
    chosen: dict[str, str] = {}
    for part in PARTS:
        if part.name in os.environ[NAMES].splitlines():
            chosen |= dict.fromkeys(drawn(filter(part.has, names), part.tests), part.name)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]
    for item in items:
        _write(item.nodeid, "drawn")
        for known in KNOWN:
            if re.search(known.tests, item.nodeid) and known.since <= installed(known.package) < known.before:
                item.add_marker(pytest.mark.xfail(reason=known.because, strict=True))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the outcome of a test, and of a fixture that failed or skipped it."""
    if report.when == "call" or not report.passed:
        known = hasattr(report, "wasxfail") and report.skipped
        _write(report.nodeid, "known" if known else report.outcome, report.duration)


def _write(test: str, outcome: str, seconds: float = 0.0) -> None:
    with Path(os.environ[RESULTS]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"test": test, "outcome": outcome, "seconds": round(seconds, 2)}) + "\n")
