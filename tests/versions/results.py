"""What was seen in each cell of the table set × part, kept with the commit at which it was seen."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.versions.environments import ROOT, folder_of
from tests.versions.sets import Part, Set

__all__ = ["Cell", "Row", "cell_path", "commit_of_tree", "counted", "keep", "keep_environment", "kept", "row_of"]

_NOT_SOURCE = ("README.md", "docs")
"""What a run writes itself, and what no test of the sample reads."""


@dataclass(frozen=True)
class Cell:
    """One part of the tests in one environment."""

    commit: str
    """with ``+`` at its end if files were changed since"""
    passed: int = 0
    failed: int = 0
    known: int = 0
    """tests that fail with an older version, as KNOWN of sets.py says"""
    skipped: int = 0
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    """names of the tests, or of the models, that failed"""

    def __str__(self) -> str:
        words = {"failed": self.failed, "known to fail": self.known, "skipped": self.skipped}
        return ", ".join([f"{self.passed} passed", *(f"{number} {word}" for word, number in words.items() if number)])


@dataclass(frozen=True)
class Row:
    """What was seen of one set."""

    set: Set
    versions: Mapping[str, str]
    cells: Mapping[str, Cell]
    """by part"""
    conflict: str
    """why there is no environment; empty if there is one"""

    @property
    def is_right(self) -> bool:
        """True if no test failed, and pip resolved the set or was expected to refuse it."""
        return bool(self.conflict) == self.set.is_refused and not any(cell.failed for cell in self.cells.values())


def commit_of_tree() -> str:
    """Return the commit of this folder, with ``+`` if files that matter were changed since."""
    head = _git("rev-parse", "--short", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", *(f":!{name}" for name in _NOT_SOURCE))
    return head + ("+" if changed else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def counted(lines: str, part: Part, commit: str) -> Cell:
    """Return a part's cell from one line of JSON per test; one that was drawn and did not end counts as failed."""
    items = [item for item in map(json.loads, lines.splitlines()) if part.has(item["test"])]
    seen = {item["test"]: item["outcome"] for item in items}
    failures = tuple(test for test, outcome in seen.items() if outcome in ("failed", "drawn"))
    count = {word: list(seen.values()).count(word) for word in ("passed", "known", "skipped")}
    seconds = sum(item["seconds"] for item in items)
    return Cell(commit, failed=len(failures) or int(not seen), seconds=seconds, failures=failures, **count)


def cell_path(chosen: Set, part: str, cache: Path) -> Path:
    """Return where a cell is kept."""
    return cache / f"{folder_of(chosen, cache).name}-{re.sub(r'[^a-z]+', '-', part.lower())}.json"


def keep(cell: Cell, path: Path) -> None:
    """Store a cell."""
    path.write_text(json.dumps(asdict(cell), indent=1), "utf-8")


def kept(path: Path) -> Cell | None:
    """Return a stored cell; None if there is none."""
    if not path.exists():
        return None
    found = json.loads(path.read_text("utf-8"))
    return Cell(**{**found, "failures": tuple(found["failures"])})


def keep_environment(chosen: Set, cache: Path, found: Mapping[str, str]) -> None:
    """Store the versions of a set's environment, or the conflict."""
    cache.joinpath(f"{folder_of(chosen, cache).name}.versions.json").write_text(json.dumps(found), "utf-8")


def row_of(chosen: Set, parts: tuple[str, ...], cache: Path) -> Row:
    """Return what is kept of a set; empty where it was never run."""
    path = cache / f"{folder_of(chosen, cache).name}.versions.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    cells = {part: cell for part in parts if (cell := kept(cell_path(chosen, part, cache))) is not None}
    return Row(chosen, found, cells, found.pop("conflict", ""))
