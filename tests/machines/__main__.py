"""Run the numerical parts of the tests under the settings of other CPUs, and print a table setting × part.

    python -m tests.machines [--settings PATTERN] [--parts PATTERN] [--jobs 2] [--write]

Each cell runs in a process of its own. ``--write`` puts the table into docs/machines.md. Ends with 1 if a cell fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.machines import masked
from tests.machines.settings import ROOT, SETTINGS, Setting, environment_of

PAGE = ROOT / "docs" / "machines.md"
MARKS = ("<!-- table -->", "<!-- end of table -->")
PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow")
SUITE = "ONNX's suite"
PARTS: dict[str, tuple[str, ...]] = {
    SUITE: ("tests/conformance/run_suite.py",),
    "fused chains": ("-m", "tests.machines.chains", "^2-D|products"),
    "integers, convolutions": (
        *PYTEST,
        *(f"tests/grid/test_{name}.py" for name in ("conv", "quantize", "quantized_models", "contrib", "linear")),
        "tests/runtimes/test_exact_sums.py",
    ),
    "models": ("-m", "tests.machines.models"),
}
EXPECTED_FAILURES = {SUITE: 1}
"""JPEG 2000, which TensorFlow can't decode: see tests/conformance/known.py."""


@dataclass(frozen=True)
class Cell:
    """What one part gave under one setting."""

    setting: str
    part: str
    passed: int
    failed: int
    known: int
    """cases that fail for a reason that is written down, under this setting only"""
    expected: int
    """how many of them must fail: a list of what can't pass must stay true"""
    tail: str
    """the last lines that it printed, where something failed"""

    @property
    def good(self) -> bool:
        return self.passed > 0 and self.failed == self.expected

    def __str__(self) -> str:
        words = {"failed": self.failed, "known": self.known}
        return f"{self.passed:,}" + "".join(f" + {count} {word}" for word, count in words.items() if count)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.machines", description=__doc__)
    parser.add_argument("--settings", default="", metavar="PATTERN", help="only settings whose name has the pattern")
    parser.add_argument("--parts", default="", metavar="PATTERN", help="only parts whose name has the pattern")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cells that run at a time")
    parser.add_argument("--write", action="store_true", help="put the table into docs/machines.md")
    asked = parser.parse_args()
    settings = [setting for setting in SETTINGS if re.search(asked.settings, setting.name)]
    parts = [part for part in PARTS if re.search(asked.parts, part)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        waiting = [pool.submit(run, setting, part, Path(folder)) for setting in settings for part in parts]
        cells = [future.result() for future in waiting]
    text = table(cells, parts)
    print(text)
    if asked.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}", encoding="utf-8")
    return int(not all(cell.good for cell in cells))


def run(setting: Setting, part: str, folder: Path) -> Cell:
    """Run one part in a process with the setting's environment."""
    if setting.masked and masked.why_not():
        return _shown(Cell(setting.name, part, 0, 1, 0, 0, f"not run: {masked.why_not()}"))
    environment = environment_of(setting, folder)
    more = setting.suite if part == SUITE else ()
    done = subprocess.run(
        [sys.executable, *PARTS[part], *more], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error|known)", done.stdout)}
    failed = counts.get("failed", 0) + counts.get("error", 0) or int(done.returncode != 0 and not counts)
    expected = EXPECTED_FAILURES.get(part, 0)
    tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:]) if failed else ""
    return _shown(Cell(setting.name, part, counts.get("passed", 0), failed, counts.get("known", 0), expected, tail))


def _shown(cell: Cell) -> Cell:
    """Print progress: a whole table takes an hour or two."""
    print(f"{cell.setting}: {cell.part}: {cell}", file=sys.stderr, flush=True)
    if not cell.good:
        print(cell.tail, file=sys.stderr, flush=True)
    return cell


def table(cells: Sequence[Cell], parts: Sequence[str]) -> str:
    """Return the table in Markdown: how many passed, and how many failed where any did."""
    found = {(cell.setting, cell.part): cell for cell in cells}
    lines = [f"| setting | {' | '.join(parts)} |", f"| --- |{' --- |' * len(parts)}"]
    for setting in dict.fromkeys(cell.setting for cell in cells):
        lines.append(f"| {setting} | {' | '.join(str(found[setting, part]) for part in parts)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
